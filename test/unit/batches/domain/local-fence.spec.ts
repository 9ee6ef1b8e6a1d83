import { describe, expect, it } from '@jest/globals';
import { remainingLeaseMs } from '../../../../src/batches/domain/local-fence.js';

describe('remainingLeaseMs', () => {
  it.each([
    [0, 0, 60_000],
    [0, 59_999, 1],
    [0, 60_000, 0],
    [0, 61_000, -1_000],
    [30_000, 61_000, 29_000],
  ])('renewed since %i ms and asked at %i ms, a TTL of 90 s leaves %i ms: two thirds of it', (since, now, left) => {
    expect(remainingLeaseMs(since, now, 90_000)).toBeCloseTo(left, 6);
  });
});
