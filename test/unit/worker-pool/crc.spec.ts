import { describe, expect, it } from '@jest/globals';
import { crc32 } from 'node:zlib';
import { combinedCrc32 } from '../../../src/worker-pool/threads/crc.js';

const MIB = 1024 * 1024;
const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 31) & 0xff));

describe('combinedCrc32', () => {
  it.each([0, 1, 2, 255, 256, 65_537, 69_999, 70_000])('is the CRC-32 of the whole, whose first piece ends at %d', (end) => {
    const [first, second] = [bytes.subarray(0, end), bytes.subarray(end)];
    expect(combinedCrc32(crc32(first), crc32(second), second.length)).toBe(crc32(bytes));
  });

  it('counts lengths beyond 32 bits', () => {
    const a = crc32(Buffer.from('a'));
    let [half, zeros] = [crc32(Buffer.alloc(6 * MIB)), 6 * MIB];
    for (; zeros < 3 * 1024 * MIB; zeros *= 2) half = combinedCrc32(half, half, zeros);
    const inTwoSteps = combinedCrc32(combinedCrc32(a, half, zeros), half, zeros);
    expect(combinedCrc32(a, combinedCrc32(half, half, zeros), 2 * zeros)).toBe(inTwoSteps);
  });
});
