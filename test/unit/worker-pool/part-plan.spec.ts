import { describe, expect, it } from '@jest/globals';
import {
  growingPartBytes,
  MAX_PART_BYTES,
  MAX_PARTS,
  MIN_PART_BYTES,
  plannedPartBytes,
} from '../../../src/worker-pool/domain/part-plan.js';

const MIB = 1024 ** 2;
const TIB = 1024 ** 4;

describe('part sizes', () => {
  it.each([
    { total: 0, part: 8 * MIB },
    { total: 8 * MIB + 1, part: 8 * MIB },
    { total: 80_000 * MIB, part: 8 * MIB },
    { total: 80_000 * MIB + 1, part: 8 * MIB + 1 },
    { total: 5 * TIB, part: Math.ceil((5 * TIB) / 10_000) },
  ])('are $part bytes for $total', ({ total, part }) => {
    expect(plannedPartBytes(total)).toBe(part);
    expect(Math.ceil(total / part)).toBeLessThanOrEqual(MAX_PARTS);
  });

  it('grow so that 10,000 parts hold 5 TiB of an unknown length, in parts S3 allows', () => {
    let stored = 0;
    let former = MIN_PART_BYTES;
    for (let part = 1; part <= MAX_PARTS; part++) {
      const bytes = growingPartBytes(stored);
      expect(bytes).toBeGreaterThanOrEqual(former);
      expect(bytes).toBeLessThanOrEqual(stored < 5 * TIB ? MAX_PART_BYTES : Infinity);
      stored += bytes;
      former = bytes;
    }
    expect(stored).toBeGreaterThan(5 * TIB);
  });

  it('stay at 8 MiB for the first 10 GiB of an unknown length', () => {
    expect(growingPartBytes(10_000 * MIB)).toBe(8 * MIB);
  });
});
