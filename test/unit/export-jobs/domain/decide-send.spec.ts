import { describe, expect, it } from '@jest/globals';
import { decideFirstSend, decideSend, isDue, together, windowSize } from '../../../../src/export-jobs/domain/decide-send.js';
import { aJob, aJobWithoutPlan, aPlan } from '../../../support/builders.js';

const LIMITS = { maxInHand: 8, maxInHandTotal: 64 };

/** A job of ten batches. */
const job = (sentBatches: number, ended: number[] = [], over: Parameters<typeof aJob>[0] = {}) =>
  aJob({ plan: aPlan({ totalTasks: 50, batchCount: 10 }), sentBatches, endedBatches: new Set(ended), ...over });

describe('the window of a job', () => {
  it.each([
    ['is what one coordinator takes in of it', 1, 1, 8],
    ['is what the fleet takes in of it', 3, 1, 24],
    ['is not smaller while the jobs leave room for each other', 1, 8, 8],
    ['is its share of what the fleet takes in where more jobs are active', 1, 9, 7],
    ['grows with the fleet where many jobs are active', 3, 40, 4],
    ['is never under one batch', 1, 1_000, 1],
    ['is that of one coordinator when none is known', 0, 0, 8],
  ])('%s', (_name, coordinators, downloadingJobs, size) => {
    expect(windowSize(LIMITS, coordinators, downloadingJobs)).toBe(size);
  });
});

describe('the messages that fill the window', () => {
  it.each([
    ['are the first of a job of which nothing is due', job(0), 3, [0, 1, 2], 3],
    ['are none while as many batches are out', job(3), 3, [], 3],
    ['One for each that ended: follow on the last that is due', job(3, [0, 2]), 3, [3, 4], 5],
    ['pass over batches that have ended without having been sent', job(2, [0, 2, 3]), 3, [4, 5], 6],
    ['are the rest of a job that is nearly through', job(8, [0, 1, 2, 3, 4, 5, 6, 7]), 3, [8, 9], 10],
    ['are none of a job all of which is due', job(10, [0, 1]), 3, [], 10],
    ['are more when the fleet has grown', job(2), 6, [2, 3, 4, 5], 6],
    ['are none when there are more jobs now than when these were sent', job(6, [0]), 3, [], 6],
    ['are none of a job all of whose other batches have ended', job(2, [2, 3, 4, 5, 6, 7, 8, 9]), 3, [], 2],
    ['Only its expander sends while it is PROCESSING: are none', job(0, [], { status: 'PROCESSING' }), 3, [], 0],
    ['are none of a job that is being answered', job(3, [0], { status: 'FINALIZING' }), 3, [], 3],
    ['are none of a job that was not expanded', aJobWithoutPlan({ status: 'DOWNLOADING' }), 3, [], 0],
  ])('%s', (_name, of, window, batchNos, sentBatches) => {
    expect(decideSend(of, window)).toEqual({ batchNos, sentBatches });
  });

  it.each([
    ['begin anew with each expansion, whatever the row says', job(7, [], { status: 'PROCESSING' }), [0, 1, 2], 3],
    ['pass over what a reopened job has ended', job(0, [0, 1, 3], { status: 'PROCESSING' }), [2, 4, 5], 6],
    ['are none of a job that is wholly done', job(0, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), [], 0],
  ])('of an expander %s', (_name, of, batchNos, sentBatches) => {
    expect(decideFirstSend(of, 3)).toEqual({ batchNos, sentBatches });
  });
});

it('a batch is due when its number is below those that were sent', () => {
  expect([0, 2, 3, 9].map((batchNo) => isDue(job(3), batchNo))).toEqual([true, true, false, false]);
});

describe('two readings of one row', () => {
  it.each([
    ['show together what each has seen', job(5, [0]), job(4, [0, 1]), { sentBatches: 5, endedBatches: new Set([0, 1]) }],
    ['show the same in the other order', job(4, [0, 1]), job(5, [0]), { sentBatches: 5, endedBatches: new Set([0, 1]) }],
    ['of two runs show the newer run', job(1, [], { run: 2 }), job(9, [0, 1]), { run: 2, sentBatches: 1, endedBatches: new Set() }],
    ['of two runs show the newer run in the other order', job(9, [0, 1]), job(1, [], { run: 2 }), { run: 2, sentBatches: 1 }],
    ['show what is known when there is only one', job(3, [0]), undefined, { sentBatches: 3 }],
  ])('%s', (_name, one, other, seen) => {
    expect(together(one, other)).toMatchObject(seen);
  });
});
