import { describe, expect, it } from '@jest/globals';
import { decideCount } from '../../../../src/export-jobs/domain/counting.js';
import { countsOnReopening, isWhollyDone, type FormerBatch } from '../../../../src/export-jobs/domain/reopening.js';
import { aJob } from '../../../support/builders.js';

const aBatch = (over: Partial<FormerBatch> = {}): FormerBatch => ({
  batchNo: 0,
  status: 'succeeded',
  totalTasks: 5,
  completed: 5,
  failed: 0,
  bytes: 50,
  ...over,
});
const WITH_FAILURE = aBatch({ batchNo: 1, completed: 4, failed: 1, bytes: 40 });

describe('a batch is wholly done', () => {
  it.each<[string, Partial<FormerBatch>, boolean]>([
    ['when it succeeded with every task', {}, true],
    ['not when a task failed', { completed: 4, failed: 1 }, false],
    ['not while it has no results', { status: 'running' }, false],
    ['not when it was given up', { status: 'dead' }, false],
    ['not when it was cancelled before its first task', { status: 'cancelled', completed: 0 }, false],
  ])('%s', (_name, over, expected) => expect(isWhollyDone(aBatch(over))).toBe(expected));
});

describe('the counts of a reopened job', () => {
  it('are nothing without batches', () => {
    expect(countsOnReopening([])).toEqual({ completed: 0, bytes: 0, endedBatches: new Set(), batchProgress: new Map() });
  });

  it('Reopen sets endedBatches to the wholly done ones', () => {
    const { endedBatches } = countsOnReopening([aBatch(), WITH_FAILURE, aBatch({ batchNo: 2 })]);
    expect(endedBatches).toEqual(new Set([0, 2]));
  });

  it('Reopen leaves partly done batches in batchProgress, and those without anything done out of it', () => {
    const cancelled = aBatch({ batchNo: 2, status: 'cancelled', completed: 0, bytes: 0 });
    const onlyFailures = aBatch({ batchNo: 3, completed: 0, failed: 5, bytes: 0 });
    const running = aBatch({ batchNo: 4, status: 'running', completed: 2, failed: 1, bytes: 20 });
    expect(countsOnReopening([aBatch(), WITH_FAILURE, cancelled, onlyFailures, running])).toEqual({
      completed: 11,
      bytes: 110,
      endedBatches: new Set([0]),
      batchProgress: new Map([
        [1, { completed: 4, failed: 0, bytes: 40 }],
        [4, { completed: 2, failed: 0, bytes: 20 }],
      ]),
    });
  });

  it('Reopen forgets failures: what is recorded for a batch has none', () => {
    const { batchProgress } = countsOnReopening([WITH_FAILURE]);
    expect(batchProgress.get(1)?.failed).toBe(0);
  });

  it('let the next count of a partly done batch add only what is new', () => {
    const { completed, endedBatches, batchProgress } = countsOnReopening([aBatch(), WITH_FAILURE]);
    const job = aJob({ run: 2, completedTasks: completed, endedBatches, batchProgress });
    expect(decideCount(job, { batchNo: 1, run: 2 }, { completed: 5, failed: 0, bytes: 50 }, true)).toMatchObject({
      kind: 'count',
      delta: { completed: 1, failed: 0, bytes: 10 },
    });
    expect(decideCount(job, { batchNo: 0, run: 2 }, { completed: 5, failed: 0, bytes: 50 }, true)).toEqual({ kind: 'already-counted' });
  });
});
