import { describe, expect, it } from '@jest/globals';
import { decideCount, decodeBatchCount, encodeBatchCount, type CountDecision } from '../../../../src/export-jobs/domain/counting.js';
import type { BatchCount, ExportJobEntity } from '../../../../src/export-jobs/domain/export-job.entity.js';
import { aJob } from '../../../support/builders.js';

const BATCH = { batchNo: 3, run: 1 };
const count = (completed: number, failed = 0, bytes = completed * 10): BatchCount => ({ completed, failed, bytes });
const recorded = (value: BatchCount) => aJob({ batchProgress: new Map([[3, value]]) });

describe('decideCount', () => {
  const table: { name: string; job: ExportJobEntity; next: BatchCount; ended?: boolean; decision: CountDecision }[] = [
    {
      name: 'counts a first value against nothing recorded',
      job: aJob(),
      next: count(2, 1),
      decision: { kind: 'count', old: undefined, delta: count(2, 1) },
    },
    {
      name: 'Count on the old value: adds only the difference to what is recorded, and says against which value',
      job: recorded(count(2)),
      next: count(3, 1),
      decision: { kind: 'count', old: count(2), delta: count(1, 1) },
    },
    {
      name: 'counts bytes that moved alone',
      job: recorded(count(2)),
      next: count(2, 0, 25),
      decision: { kind: 'count', old: count(2), delta: count(0, 0, 5) },
    },
    {
      name: 'has nothing to add when its own value is recorded',
      job: recorded(count(2)),
      next: count(2),
      decision: { kind: 'already-counted' },
    },
    {
      name: 'writes the end of a batch although its numbers are recorded already',
      job: recorded(count(5)),
      next: count(5),
      ended: true,
      decision: { kind: 'count', old: count(5), delta: count(0) },
    },
    {
      name: 'writes the end of a batch that never counted before',
      job: aJob(),
      next: count(5),
      ended: true,
      decision: { kind: 'count', old: undefined, delta: count(5) },
    },
    {
      name: 'Not if the batch has ended: a retry does not take it for a first count',
      job: aJob({ endedBatches: new Set([3]) }),
      next: count(5),
      decision: { kind: 'already-counted' },
    },
    {
      name: 'Not if the batch has ended: neither does a repeated end',
      job: aJob({ endedBatches: new Set([3]) }),
      next: count(5),
      ended: true,
      decision: { kind: 'already-counted' },
    },
    {
      name: 'A count-up never lowers a number of completed tasks',
      job: recorded(count(2)),
      next: count(1),
      decision: { kind: 'already-counted' },
    },
    {
      name: 'A count-up never lowers a number of failed tasks',
      job: recorded(count(2, 1)),
      next: count(3, 0),
      decision: { kind: 'already-counted' },
    },
    {
      name: 'Only into its own run: a holder of a former run stops',
      job: aJob({ run: 2 }),
      next: count(1),
      decision: { kind: 'stop', reason: 'other-run' },
    },
    {
      name: 'A count-up only for a row of the job’s run: a batch not moved yet is not counted',
      job: aJob({ run: 2, endedBatches: new Set([3]) }),
      next: count(1),
      ended: true,
      decision: { kind: 'stop', reason: 'other-run' },
    },
    {
      name: 'counts while the job is still PROCESSING',
      job: aJob({ status: 'PROCESSING' }),
      next: count(1),
      decision: { kind: 'count', old: undefined, delta: count(1) },
    },
    ...(['FINALIZING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const).map((status) => ({
      name: `Only while PROCESSING or DOWNLOADING: stops when the job is ${status}`,
      job: aJob({ status }),
      next: count(1),
      decision: { kind: 'stop', reason: 'job-not-counting' } as const,
    })),
  ];

  it.each(table)('$name', ({ job, next, ended = false, decision }) => {
    expect(decideCount(job, BATCH, next, ended)).toEqual(decision);
  });

  it('keeps batches apart', () => {
    expect(decideCount(recorded(count(2)), { batchNo: 4, run: 1 }, count(1), false)).toMatchObject({ kind: 'count', old: undefined });
  });
});

describe('the recorded value of a batch', () => {
  it('is completed/failed/bytes', () => {
    expect(encodeBatchCount({ completed: 12, failed: 3, bytes: 4_096 })).toBe('12/3/4096');
  });

  it.each([count(0), count(10_000, 1, 2 ** 50)])('survives the row: %j', (value) => {
    expect(decodeBatchCount(encodeBatchCount(value))).toEqual(value);
  });
});
