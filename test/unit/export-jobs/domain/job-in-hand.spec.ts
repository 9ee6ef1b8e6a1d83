import { expect, it } from '@jest/globals';
import { jobInHand } from '../../../../src/export-jobs/domain/job-in-hand.js';
import { aJob } from '../../../support/builders.js';
import { aSummary } from '../../../support/finisher.js';

const NOW = Date.parse('2026-01-01T00:01:00.000Z');
const counted = (bytes: number) => ({ completed: 1, failed: 0, bytes });
const job = aJob({ status: 'DOWNLOADING', run: 2, batchProgress: new Map([[0, counted(50)]]), endedBatches: new Set([9]) });
const batch = (over: Parameters<typeof aSummary>[1]) => aSummary(0, { run: 2, status: 'running', bytes: 50, bytesInHand: 7, ...over });
const bytes = (...rows: ReturnType<typeof aSummary>[]) => jobInHand(job, rows, NOW).bytesInHand;

it.each([
  ['what has arrived of files in hand', 7, batch({})],
  ['what a checkpoint has and the job has not counted yet', 27, batch({ bytes: 70 })],
  ['a file once whose count was read before its batch', 0, batch({ bytes: 0, bytesInHand: 50 })],
  ['nothing twice when the batch was read before the job', 0, batch({ bytes: 0, bytesInHand: 45 })],
  ['what a batch without a recorded count has', 57, batch({ batchNo: 1 })],
  ['nothing that a lost holder had in hand', 0, batch({ status: 'queued' })],
  ['nothing that a given-up batch had in hand', 0, batch({ status: 'dead' })],
  ['the checkpoint of a batch that waits for another holder', 20, batch({ status: 'queued', bytes: 70 })],
  ['nothing of a batch that has ended', 0, batch({ batchNo: 9 })],
  ['nothing of a former run', 0, batch({ run: 1, bytes: 70 })],
])('The bytes in hand of a job hold %s', (_what, expected, row) => {
  expect(bytes(row)).toBe(expected);
});

it('The bytes in hand of a job are the sum of its batches', () => {
  expect(bytes(batch({}), batch({ batchNo: 1, bytes: 0 }), batch({ batchNo: 2, bytes: 0, bytesInHand: 100 }))).toBe(114);
});

const waiting = (batchNo: number, pausedHost: string, pausedMs: number, over = {}) =>
  batch({ batchNo, pausedHost, pausedMs, heartbeatAt: '2026-01-01T00:00:55.000Z', ...over });

it('A job waits for each host until its last batch waits no more, the longest wait first', () => {
  const rows = [waiting(0, 'a.test', 10_000), waiting(1, 'b.test', 300_000), waiting(2, 'a.test', 20_000), waiting(3, 'c.test', 5_000)];
  expect(jobInHand(job, rows, NOW).waits).toEqual([
    { host: 'b.test', until: '2026-01-01T00:05:55.000Z' },
    { host: 'a.test', until: '2026-01-01T00:01:15.000Z' },
  ]);
});

it.each([
  ['that is not held any more', { status: 'queued' as const }],
  ['of a former run', { run: 1 }],
  ['that has ended', { batchNo: 9 }],
])('A job does not wait for the host of a batch %s', (_which, over) => {
  expect(jobInHand(job, [waiting(0, 'a.test', 300_000, over)], NOW).waits).toEqual([]);
});

it.each(['FINALIZING', 'CANCELLED'] as const)('A job that is %s has nothing in hand', (status) => {
  expect(jobInHand({ ...job, status }, [waiting(0, 'a.test', 300_000)], NOW)).toEqual({ bytesInHand: 0, waits: [] });
});
