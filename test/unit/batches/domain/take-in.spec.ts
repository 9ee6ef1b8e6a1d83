import { describe, expect, it } from '@jest/globals';
import { capacityOf, hasEnough, isForOthers } from '../../../../src/batches/domain/take-in.js';

const LIMITS = { maxInHand: 8, maxInHandTotal: 64 };
const inHand = (batches: number, waiting = 0) => ({ batches, waiting });

describe('a coordinator', () => {
  it.each([
    ['has not enough to do with a batch less than its share of one job', inHand(7), false],
    ['has enough to do with its share of one job', inHand(8), true],
    ['has not enough to do while many batches only wait', inHand(40, 33), false],
    ['has enough to do beside those that only wait', inHand(40, 32), true],
  ])('%s', (_name, held, enough) => {
    expect(hasEnough(LIMITS, held)).toBe(enough);
  });

  it.each([
    ['that is idle takes no more at once than its share of one job', inHand(0), 8],
    ['that has not enough takes in what it lacks', inHand(5), 8],
    ['that has enough has room for other jobs', inHand(8), 64],
    ['A larger cap over all: that is full takes in nothing', inHand(64), 64],
    ['What only waits does not count: has room beside it', inHand(64, 60), 68],
    ['What only waits does not count: has enough and has room for other jobs', inHand(70, 60), 124],
    ['takes in no more than four times its cap of those that only wait', inHand(256, 256), 256],
  ])('%s', (_name, held, capacity) => {
    expect(capacityOf(LIMITS, held)).toBe(capacity);
  });

  it.each([
    ['takes in somewhat more of one job than its share', 8, inHand(11), false],
    ['Passed on over its share: leaves the rest of it to others', 8, inHand(12), true],
    ['counts no batches of a job that only waits', 8, inHand(40, 40), false],
    ['rounds what it takes in up', 1, inHand(1), false],
    ['rounds what it takes in up, and no further', 1, inHand(2), true],
    ['rounds up for three batches, too', 3, inHand(4), false],
  ])('%s', (_name, maxInHand, ofJob, others) => {
    expect(isForOthers({ ...LIMITS, maxInHand }, ofJob)).toBe(others);
  });
});
