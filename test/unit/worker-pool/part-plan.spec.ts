import { describe, expect, it } from '@jest/globals';
import { MAX_PARTS, MIN_PART_BYTES, partBytes, tooLargeText } from '../../../src/worker-pool/domain/part-plan.js';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const first = (size: number | undefined) => ({ number: 1, bytesBefore: 0, size });

/** The parts of an endless body until it is refused. */
function endless(memoryBytes: number): number[] {
  const parts: number[] = [];
  for (let stored = 0; ;) {
    const bytes = partBytes({ number: parts.length + 1, bytesBefore: stored, size: undefined }, memoryBytes);
    if (bytes === undefined) return parts;
    parts.push(bytes);
    stored += bytes;
  }
}

describe('part sizes', () => {
  it.each([
    { size: 0, part: 0 },
    { size: 8 * MIB - 1, part: 8 * MIB - 1 },
    { size: 8 * MIB + 1, part: 8 * MIB },
    { size: 80_000 * MIB, part: 8 * MIB },
    { size: 80_000 * MIB + 1, part: 8 * MIB + 1 },
    { size: 320_000 * MIB, part: 32 * MIB },
    { size: 320_000 * MIB + 1, part: undefined },
    { size: 20e12, part: undefined },
  ])('are $part bytes for $size, in 64 MiB of memory', ({ size, part }) => {
    expect(partBytes(first(size), 64 * MIB)).toBe(part);
  });

  it('are half of the memory at most, and 5 GiB, however large the file', () => {
    expect(partBytes(first(40 * 1024 * GIB), 9 * GIB)).toBe(Math.ceil((40 * 1024 * GIB) / MAX_PARTS));
    expect(partBytes(first(51_000 * GIB), 1_024 * GIB)).toBeUndefined();
  });

  it('grow with a body of unknown length, never beyond half of the memory and never to a part 10,001', () => {
    for (const memoryBytes of [16 * MIB, 64 * MIB, 1_024 * MIB]) {
      const parts = endless(memoryBytes);
      expect(parts).toHaveLength(MAX_PARTS);
      expect(parts.every((bytes, index) => bytes >= (parts[index - 1] ?? MIN_PART_BYTES))).toBe(true);
      expect(Math.max(...parts)).toBe(memoryBytes / 2);
    }
    const hold = endless(64 * MIB).reduce((sum, bytes) => sum + bytes, 0);
    expect(hold).toBeGreaterThan(250 * GIB);
  });

  it('stay at 8 MiB for the first 10 GiB of an unknown length', () => {
    expect(partBytes({ number: 1_280, bytesBefore: 10_000 * MIB, size: undefined }, 64 * MIB)).toBe(8 * MIB);
  });

  it('that are too large are told with the mend that helps', () => {
    const size = 1_024 * GIB;
    const [, megabytes] = /raise it to (\d+)$/.exec(tooLargeText(first(size), 64 * MIB)) ?? [];
    expect(partBytes(first(size), Number(megabytes) * MIB)).toBeDefined();
    expect(partBytes(first(size), (Number(megabytes) - 1) * MIB)).toBeUndefined();
    expect(tooLargeText({ number: 10_001, bytesBefore: 1_000, size: undefined }, 64 * MIB)).toBe(
      'the file has more than the 1,000 bytes that TRANSFER_MEMORY_MB=64 allows where no size is known: raise it, or give the size',
    );
  });
});
