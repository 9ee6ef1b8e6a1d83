import { describe, expect, it } from '@jest/globals';
import { decideRepair, type BatchSign, type RepairSurroundings } from '../../../../src/export-jobs/domain/decide-repair.js';
import { aJob } from '../../../support/builders.js';

const LIMITS = { repairAfterMs: 120_000, stallTimeoutMs: 600_000 };
const AROUND: RepairSurroundings = { someoneWorks: true, queueIsEmpty: true, sinceSentMs: Infinity };

const sign = (over: Partial<BatchSign> = {}): BatchSign => ({
  batchNo: 0,
  status: 'running',
  completed: 0,
  failed: 0,
  bytes: 0,
  moved: false,
  waitsForHost: false,
  queuedMs: 0,
  waitedMs: 0,
  ...over,
});
const queued = (batchNo: number, queuedMs = 0, waitedMs = queuedMs) => sign({ batchNo, status: 'queued', queuedMs, waitedMs });
const decide = (batches: BatchSign[], around: Partial<RepairSurroundings> = {}, job = aJob({ sentBatches: 4 })) =>
  decideRepair(job, batches, { ...AROUND, ...around }, LIMITS);

describe('signs of life', () => {
  it.each([
    ['a running batch that moved', [sign({ moved: true })], {}, true],
    ['a running batch that waits out a Retry-After', [sign({ waitsForHost: true })], {}, true],
    ['a running batch of which nothing moves', [sign()], {}, false],
    ['one of several batches that moves', [sign(), sign({ batchNo: 1, moved: true })], {}, true],
    ['a queued batch while someone runs batches', [queued(0)], {}, true],
    ['a queued batch while nobody does', [queued(0)], { someoneWorks: false }, false],
    ['Queued and not due is no sign of life: a batch that waits for others to end', [queued(4)], {}, false],
    ['Queued and not due is no sign of life: many of them behind one of which nothing moves', [sign(), queued(4), queued(5)], {}, false],
    ['many of them behind one that moves', [sign({ moved: true }), queued(4), queued(5)], {}, true],
    ['batches that have ended and are counted', [sign({ status: 'cancelled' })], {}, false],
    ['no batches at all', [], {}, false],
    ['a checkpoint that the counters lag behind', [sign({ completed: 1 })], {}, true],
  ])('%s', (_name, batches, around, alive) => {
    expect(decide(batches, around).alive).toBe(alive);
  });
});

it('Nothing is due in PROCESSING: rows whose expansion was lost are no sign of life, and no message is owed to them', () => {
  const job = aJob({ status: 'PROCESSING', sentBatches: 9 });
  expect(decide([queued(0), queued(1)], {}, job)).toMatchObject({ alive: false, sendAgain: [] });
});

describe('Send queued batches again: messages', () => {
  it.each([
    ['are sent again when the queue is empty', [queued(0), queued(1)], {}, [0, 1]],
    ['are left alone while the queue holds some', [queued(0, 599_999)], { queueIsEmpty: false }, []],
    [
      'In spite of visible messages once enqueuedAt stood still for the stall timeout',
      [queued(0, 600_000), queued(1, 10)],
      { queueIsEmpty: false },
      [0],
    ],
    [
      'In spite of visible messages once enqueuedAt stood still for the stall timeout: a further time only after as long a wait as all before it',
      [queued(0, 599_999, 1_199_999), queued(1, 600_000, 1_200_000), queued(2, 600_000, 1_800_001), queued(3, 1_200_000, 2_400_000)],
      { queueIsEmpty: false },
      [1, 3],
    ],
    ['are sent again when the queue is empty, however long they have waited', [queued(0, 10, 9_000_000)], {}, [0]],
    ['are not sent again within JOB_REPAIR_AFTER_MS', [queued(0)], { sinceSentMs: 119_999 }, []],
    ['are sent again after it', [queued(0)], { sinceSentMs: 120_000 }, [0]],
    ['Lost only if due: are owed to no batch that was not sent yet', [queued(3), queued(4, 900_000)], {}, [3]],
    ['are owed to no batch that runs or has ended', [sign(), sign({ batchNo: 1, status: 'succeeded' })], {}, []],
  ])('%s', (_name, batches, around, sendAgain) => {
    expect(decide(batches, around).sendAgain).toEqual(sendAgain);
  });
});

describe('Count up lagging checkpoints, ended ones too', () => {
  const job = aJob({
    completedTasks: 7,
    batchProgress: new Map([[0, { completed: 2, failed: 0, bytes: 20 }]]),
    endedBatches: new Set([1]),
  });
  it.each([
    ['a running batch ahead of its count', sign({ completed: 3, bytes: 30 }), [{ batchNo: 0, ended: false }]],
    ['a queued batch ahead of its count', { ...queued(0), completed: 3, bytes: 30 }, [{ batchNo: 0, ended: false }]],
    [
      'a batch that ended and was not counted to its end',
      sign({ status: 'succeeded', completed: 2, bytes: 20 }),
      [{ batchNo: 0, ended: true }],
    ],
    ['a dead batch', sign({ batchNo: 2, status: 'dead', failed: 5 }), [{ batchNo: 2, ended: true }]],
    ['a batch whose end is counted', sign({ batchNo: 1, status: 'succeeded', completed: 5 }), []],
    ['a row that was read before the last count', sign({ completed: 1, bytes: 10 }), []],
  ])('%s', (_name, batch, countUp) => {
    expect(decide([batch], {}, job).countUp).toEqual(countUp);
  });
});
