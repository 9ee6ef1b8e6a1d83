import { beforeEach, describe, expect, it } from '@jest/globals';
import type { GiveUpBatchUseCase } from '../../../../src/batches/application/give-up-batch.use-case.js';
import type { BatchEntity } from '../../../../src/batches/domain/batch.entity.js';
import { AppError } from '../../../../src/shared/index.js';
import { aBatch, aJob, aPlan, aState, START_ISO } from '../../../support/builders.js';
import { settled } from '../../../support/fake-clock.js';
import { aReclaimWorld } from '../../../support/reclaimer.js';

/** Task 0 and 2 are done, 1 failed, 3 and 4 were never brought to an end. */
const POISON: BatchEntity = aBatch({
  status: 'running',
  lockToken: 11,
  lockedBy: 'the dead',
  claimId: 'claim-11',
  lockedAt: START_ISO,
  heartbeatAt: START_ISO,
  attempts: 10,
  reclaimMark: 3,
  ...aState([0, 2], [1]),
});
const LAST_ERROR = 'RECLAIMED_TTL: Max attempts reached';

let w: ReturnType<typeof aReclaimWorld>;
let giveUpBatch: GiveUpBatchUseCase;

beforeEach(() => {
  w = aReclaimWorld();
  w.batches.put(POISON);
  giveUpBatch = w.reclaimer().giveUpBatch;
});

const giveUp = async (useCase = giveUpBatch, observed = POISON, reclaimId = 'reclaim-1') => {
  const dead = await useCase.giveUp(observed, reclaimId, LAST_ERROR);
  if (dead !== undefined) await useCase.count(dead);
  await settled();
  return dead;
};
const writes = () => w.gate.calls.filter((call) => ['writeResults', 'giveUp', 'count', 'writeManifest'].includes(call));
const lines = () => w.files.results.get('0_reclaim-1');

describe('GiveUpBatchUseCase', () => {
  it('Dead: results first, then the row, then counters; then the job ends', async () => {
    await expect(giveUp()).resolves.toMatchObject({ status: 'dead', reclaimId: 'reclaim-1' });
    expect(writes()).toEqual(['writeResults', 'giveUp', 'count', 'writeManifest']);
    expect(w.jobs.get('job-1')).toMatchObject({ status: 'FAILED', completedTasks: 2, failedTasks: 3, bytesProcessed: 20 });
    expect(w.stepFunctions.answers).toHaveLength(1);
  });

  it('fails what was left, and leaves what is done and what failed before as it was', async () => {
    await giveUp();
    const failures = new Map([
      [1, 'HTTP_404'],
      [3, 'RECLAIMED_TTL'],
      [4, 'RECLAIMED_TTL'],
    ]);
    const { done, completed, bytes, attempts, lockToken, heartbeatAt } = POISON;
    expect(w.batches.get(0)).toMatchObject({ status: 'dead', failures, failed: 3, done, completed, bytes, lastError: LAST_ERROR });
    expect(w.batches.get(0)).toMatchObject({ attempts, lockToken, heartbeatAt });
  });

  it('Result keys carry lockToken (reclaimId for dead): a line for every task, in order', async () => {
    await giveUp();
    expect(lines()).toMatchObject([
      { position: 0, success: true, size: 10 },
      { position: 1, success: false, code: 'HTTP_404' },
      { position: 2, success: true, size: 10 },
      { position: 3, success: false, code: 'RECLAIMED_TTL' },
      { position: 4, success: false, code: 'RECLAIMED_TTL' },
    ]);
    expect(w.files.described).toEqual([0, 2]);
    const resultKeys = { succeeded: { key: 'SUCCEEDED_0_reclaim-1' }, failed: { key: 'FAILED_0_reclaim-1' } };
    expect(w.batches.get(0)).toMatchObject({ resultKeys });
    expect(w.results.objects.get('run-1/manifest.json')).toContain('FAILED_0_reclaim-1');
  });

  it('leaves a job with other work going on', async () => {
    w.jobs.put(aJob({ plan: aPlan({ totalTasks: 10, batchCount: 2 }) }));
    await expect(giveUp()).resolves.toMatchObject({ status: 'dead', reclaimId: 'reclaim-1' });
    expect(w.jobs.get('job-1')).toMatchObject({ status: 'DOWNLOADING', completedTasks: 2, failedTasks: 3, endedBatches: new Set([0]) });
    expect(w.stepFunctions.answers).toEqual([]);
  });

  it.each<[string, Partial<BatchEntity>]>([
    ['beaten', { heartbeatAt: '2026-01-01T00:05:00.000Z', ...aState([0, 2, 3], [1]) }],
    ['taken by another reclaimer', { status: 'queued', attempts: 1, reclaimId: 'another' }],
    ['given up by another reclaimer', { status: 'dead', reclaimId: 'another' }],
    ['ended', { status: 'succeeded' }],
  ])(
    'Everything observed is in the condition: leaves a batch as it is that was %s since the look, and counts nothing',
    async (_case, change) => {
      w.gate.next('giveUp', () => void w.batches.put({ ...POISON, ...change }));
      await expect(giveUp()).resolves.toBeUndefined();
      expect(w.batches.get(0)).toEqual({ ...POISON, ...change });
      expect(w.jobs.get('job-1')).toMatchObject({ status: 'DOWNLOADING', completedTasks: 0, failedTasks: 0 });
    },
  );

  it.each(['lost-reply', 'retried'] as const)('reclaimId recognises a retried or unknown write: its fate is %s', async (fault) => {
    w.gate.next('giveUp', fault);
    await expect(giveUp()).resolves.toMatchObject({ status: 'dead', reclaimId: 'reclaim-1' });
    expect(w.jobs.get('job-1')).toMatchObject({ status: 'FAILED', completedTasks: 2, failedTasks: 3 });
  });

  it('does not take a write that did not get through for a batch that moved', async () => {
    w.gate.next('giveUp', 'unavailable');
    await expect(giveUp()).rejects.toThrow('unavailable');
    expect(w.batches.get(0)).toEqual(POISON);
  });

  it.each(['loadSegment', 'describeDone', 'writeResults'])('leaves the row alone while %s fails', async (call) => {
    w.gate.next(call, 'unavailable');
    await expect(giveUp()).rejects.toThrow('unavailable');
    expect(w.batches.get(0)).toEqual(POISON);
    expect(w.gate.calls).not.toContain('giveUp');
  });

  it('Dead: results first: after a crash before the row the next reclaimer gives the batch up, with results of its own', async () => {
    w.gate.next('writeResults', () => w.gate.crashAfter(1));
    await expect(giveUp()).rejects.toThrow('reply');
    w.gate.restart();
    expect(w.batches.get(0)).toEqual(POISON);
    await giveUp(w.reclaimer().giveUpBatch, w.batches.get(0), 'reclaim-2');
    expect(w.batches.get(0).resultKeys?.failed.key).toBe('FAILED_0_reclaim-2');
    expect(w.jobs.get('job-1').status).toBe('FAILED');
  });

  it('Dead: then the row, then counters: a crash between these leaves the numbers in the row, with results that are there', async () => {
    w.gate.next('count', 'unavailable');
    await expect(giveUp()).rejects.toThrow('unavailable');
    expect(w.batches.get(0)).toMatchObject({
      status: 'dead',
      completed: 2,
      failed: 3,
      resultKeys: { failed: { key: 'FAILED_0_reclaim-1' } },
    });
    expect(lines()).toHaveLength(5);
  });

  describe('whose segment is broken for good', () => {
    const broken = () =>
      Promise.reject(new AppError('EXPORT_FILE_BROKEN', 's3://exports/0.jsonl is not there any more', { disposition: 'reject' }));

    it('ends the job with that reason, not as one without progress', async () => {
      w.gate.next('loadSegment', broken);
      await expect(giveUp()).resolves.toBeUndefined();
      expect(w.jobs.get('job-1')).toMatchObject({ status: 'FAILED', error: { code: 'JobStalled' } });
      expect(w.jobs.get('job-1').error?.message).toContain('Batch 0 can never run: s3://exports/0.jsonl is not there any more');
      expect(w.batches.get(0).status).toBe('cancelled');
      expect(w.stepFunctions.answers).toMatchObject([{ kind: 'failure', error: 'JobStalled' }]);
    });

    it.each([{ status: 'CANCELLED' as const }, { run: 2 }])('is cancelled when the job is %p, which stays as it is', async (over) => {
      w.jobs.put(aJob(over));
      w.gate.next('loadSegment', broken);
      await expect(giveUp()).resolves.toBeUndefined();
      expect(w.batches.get(0).status).toBe('cancelled');
      expect(w.jobs.get('job-1')).toEqual(aJob(over));
    });
  });

  it('leaves a batch without a job to people', async () => {
    w.jobs.rows.clear();
    await expect(giveUp()).rejects.toMatchObject({ code: 'JOB_ROW_MISSING' });
    expect(w.batches.get(0)).toEqual(POISON);
  });

  it.each([{ status: 'CANCELLED' as const }, { run: 2 }])('ends the row, not the job, when the job is %p', async (over) => {
    w.jobs.put(aJob(over));
    await expect(giveUp()).resolves.toMatchObject({ status: 'dead', reclaimId: 'reclaim-1' });
    expect(w.batches.get(0).status).toBe('dead');
    expect(w.jobs.get('job-1')).toEqual(aJob(over));
  });
});
