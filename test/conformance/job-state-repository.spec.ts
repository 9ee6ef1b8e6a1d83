import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JobStateRepositoryPort } from '../../src/export-jobs/application/job-state-repository.port.js';
import type { BatchCount } from '../../src/export-jobs/domain/export-job.entity.js';
import { aJob, aNewJob, anOutcome, aPlan, START_ISO, TOKEN } from '../support/builders.js';
import { describeJobRepositories, writtenJob, type JobInRepository } from '../support/job-in-repository.js';

const REFUSED = { kind: 'refused' };

describeJobRepositories((create) => {
  let jobs: JobStateRepositoryPort;
  let job: JobInRepository;
  let jobId: string;
  beforeEach(() => {
    ({ jobs, job, jobId } = create());
  });

  it('creates a job once: a second delivery finds the row of the first', async () => {
    await expect(jobs.createIfAbsent(aNewJob({ jobId, failFast: true, metadata: { team: 'a' } }))).resolves.toMatchObject({
      kind: 'created',
    });
    await expect(jobs.createIfAbsent(aNewJob({ jobId, requestHash: 'other' }))).resolves.toEqual({
      kind: 'exists',
      job: await job.found(),
    });
    expect(await job.found()).toEqual({
      ...aNewJob({ jobId, failFast: true, metadata: { team: 'a' } }),
      status: 'PROCESSING',
      run: 1,
      attempt: 1,
      sentBatches: 0,
      completedTasks: 0,
      failedTasks: 0,
      bytesProcessed: 0,
      batchProgress: new Map(),
      endedBatches: new Set(),
      updatedAt: START_ISO,
      lastProgressAt: START_ISO,
    });
  });

  it('creates a job without a token', async () => {
    const row = await job.createdWithoutToken();
    expect(row).not.toHaveProperty('taskToken');
    expect(row.attempt).toBe(0);
  });

  it('refuses every write to a job that is not there', async () => {
    await expect(jobs.recordPlan(jobId, 1, aPlan())).resolves.toEqual(REFUSED);
    await expect(job.count(1)).resolves.toEqual(REFUSED);
    await expect(jobs.recordSent(aJob({ jobId }), 5)).resolves.toEqual(REFUSED);
    await expect(jobs.recordHeartbeat(jobId, TOKEN, 'now')).resolves.toEqual(REFUSED);
    await expect(jobs.cancelDead(jobId, 1, TOKEN)).resolves.toEqual(REFUSED);
    await expect(jobs.find(jobId)).resolves.toBeUndefined();
  });

  describe('expanding', () => {
    it('Totals and prefix in one write with one winner', async () => {
      await job.created();
      expect(writtenJob(await jobs.recordPlan(jobId, 1, aPlan({ repeatedTasks: 3 }))).plan).toEqual(aPlan({ repeatedTasks: 3 }));
      await expect(jobs.recordPlan(jobId, 1, aPlan({ batchSize: 7, segmentPrefix: 'other/' }))).resolves.toEqual(REFUSED);
      expect((await job.found()).plan).toEqual(aPlan({ repeatedTasks: 3 }));
    });

    it('records no plan for another run, nor out of PROCESSING', async () => {
      await job.created();
      await expect(jobs.recordPlan(jobId, 2, aPlan())).resolves.toEqual(REFUSED);
      await jobs.startDownloading(jobId, 1, 2);
      await expect(jobs.recordPlan(jobId, 1, aPlan())).resolves.toEqual(REFUSED);
    });

    it('starts downloading once, and only its own run', async () => {
      await job.created();
      await expect(jobs.startDownloading(jobId, 2, 2)).resolves.toEqual(REFUSED);
      expect(writtenJob(await jobs.startDownloading(jobId, 1, 2)).status).toBe('DOWNLOADING');
      await expect(jobs.startDownloading(jobId, 1, 2)).resolves.toEqual(REFUSED);
      await expect(jobs.touchProgress(jobId, 1)).resolves.toEqual(REFUSED);
    });

    it('begins with no batch due, and has so many due once it is DOWNLOADING', async () => {
      await job.created();
      expect(writtenJob(await jobs.recordPlan(jobId, 1, aPlan({ batchCount: 9 }))).sentBatches).toBe(0);
      expect(writtenJob(await jobs.startDownloading(jobId, 1, 3)).sentBatches).toBe(3);
    });

    it('stamps progress while it is PROCESSING', async () => {
      await job.created();
      await expect(jobs.touchProgress(jobId, 1)).resolves.toMatchObject({ kind: 'written' });
      await expect(jobs.touchProgress(jobId, 2)).resolves.toEqual(REFUSED);
    });
  });

  describe('sending', () => {
    it('Due IF sentBatches as observed: the same write twice, or one on an older look, is refused', async () => {
      const observed = await job.downloading();
      expect(writtenJob(await jobs.recordSent(observed, 5))).toMatchObject({ sentBatches: 5, status: 'DOWNLOADING' });
      await expect(jobs.recordSent(observed, 5)).resolves.toEqual(REFUSED);
      await expect(jobs.recordSent(observed, 3)).resolves.toEqual(REFUSED);
      expect(writtenJob(await jobs.recordSent(await job.found(), 6)).sentBatches).toBe(6);
    });

    it('is no progress of the job: whoever finds it stalled may say so', async () => {
      const { lastProgressAt } = await job.downloading();
      expect(writtenJob(await jobs.recordSent(await job.found(), 5)).lastProgressAt).toBe(lastProgressAt);
    });

    it('Due only in its own run, and only while it is DOWNLOADING', async () => {
      await job.created();
      const planned = writtenJob(await jobs.recordPlan(jobId, 1, aPlan()));
      await expect(jobs.recordSent(planned, 5)).resolves.toEqual(REFUSED);
      const observed = writtenJob(await jobs.startDownloading(jobId, 1, 0));
      await expect(jobs.recordSent({ ...observed, run: 2 }, 5)).resolves.toEqual(REFUSED);
      await jobs.beginFinalizing(observed, anOutcome());
      await expect(jobs.recordSent(observed, 5)).resolves.toEqual(REFUSED);
    });
  });

  describe('counting', () => {
    const first: BatchCount = { completed: 2, failed: 0, bytes: 20 };

    it('Count on the old value: the same count twice is counted once', async () => {
      await job.downloading();
      expect(writtenJob(await job.count(2)).batchProgress).toEqual(new Map([[0, first]]));
      await expect(job.count(2)).resolves.toEqual(REFUSED);
      const more = { old: first, delta: { completed: 1, failed: 1, bytes: 5 }, next: { completed: 3, failed: 1, bytes: 25 } };
      expect(writtenJob(await job.count(3, more))).toMatchObject({ completedTasks: 3, failedTasks: 1, bytesProcessed: 25 });
      await expect(job.count(3, more)).resolves.toEqual(REFUSED);
      expect((await job.found()).completedTasks).toBe(3);
    });

    it('Not if the batch has ended: neither the end twice nor a first count after it', async () => {
      await job.downloading();
      await job.count(2);
      const row = writtenJob(await job.count(5, { old: first, delta: { completed: 3, failed: 0, bytes: 30 }, ended: true }));
      expect(row).toMatchObject({ completedTasks: 5, batchProgress: new Map(), endedBatches: new Set([0]) });
      await expect(job.count(5, { old: first, ended: true })).resolves.toEqual(REFUSED);
      await expect(job.count(5, { ended: true })).resolves.toEqual(REFUSED);
      await expect(job.count(5)).resolves.toEqual(REFUSED);
      expect((await job.found()).completedTasks).toBe(5);
    });

    it('ends a batch that never counted before, and keeps batches apart', async () => {
      await job.downloading();
      await job.count(5, { ended: true });
      expect(writtenJob(await job.count(5, { batchNo: 1, ended: true }))).toMatchObject({
        completedTasks: 10,
        endedBatches: new Set([0, 1]),
      });
    });

    it('Only into its own run', async () => {
      await job.downloading();
      await expect(job.count(1, { run: 2 })).resolves.toEqual(REFUSED);
    });

    it('counts while the job is still PROCESSING', async () => {
      await job.created();
      expect(writtenJob(await job.count(1)).completedTasks).toBe(1);
    });

    it('Only while PROCESSING or DOWNLOADING', async () => {
      await job.finalizing();
      await expect(job.count(1)).resolves.toEqual(REFUSED);
      await jobs.end(jobId, 1, anOutcome(), { callback: 'none' });
      await expect(job.count(1)).resolves.toEqual(REFUSED);
      expect((await job.found()).completedTasks).toBe(0);
    });
  });

  describe('ending', () => {
    it('An answer only out of FINALIZING: decides once, on the counters as read', async () => {
      const observed = await job.downloading();
      await job.count(1);
      const failed = { completed: 0, failed: 1, bytes: 0 };
      await job.count(0, { batchNo: 1, next: failed, delta: failed });
      for (const counters of [{}, { completedTasks: 1 }, { failedTasks: 1 }])
        await expect(jobs.beginFinalizing({ ...observed, ...counters }, anOutcome())).resolves.toEqual(REFUSED);
      expect(writtenJob(await jobs.beginFinalizing(await job.found(), anOutcome()))).toMatchObject({
        status: 'FINALIZING',
        outcome: anOutcome(),
      });
      await expect(
        jobs.beginFinalizing({ ...observed, completedTasks: 1, failedTasks: 1 }, anOutcome({ decidedBy: 'other' })),
      ).resolves.toEqual(REFUSED);
      expect((await job.found()).outcome).toEqual(anOutcome());
    });

    it('Stalled IF lastProgressAt as observed', async () => {
      const observed = await job.downloading();
      await expect(jobs.beginFinalizing({ ...observed, lastProgressAt: 'earlier' }, anOutcome())).resolves.toEqual(REFUSED);
      expect((await job.found()).status).toBe('DOWNLOADING');
    });

    it('decides for the run and the status it has observed only', async () => {
      const observed = await job.downloading();
      await expect(jobs.beginFinalizing({ ...observed, run: 2 }, anOutcome())).resolves.toEqual(REFUSED);
      await expect(jobs.beginFinalizing({ ...observed, status: 'PROCESSING' }, anOutcome())).resolves.toEqual(REFUSED);
    });

    it('never decides out of FINALIZING or an end, even if that is what was observed', async () => {
      await expect(jobs.beginFinalizing(await job.finalizing(), anOutcome({ decidedBy: 'other' }))).resolves.toEqual(REFUSED);
      await jobs.end(jobId, 1, anOutcome(), { callback: 'none' });
      await expect(jobs.beginFinalizing(await job.found(), anOutcome({ decidedBy: 'other' }))).resolves.toEqual(REFUSED);
    });

    it('ends once: token gone, outcome and answer recorded', async () => {
      const row = await job.ended();
      expect(row).toMatchObject({ status: 'COMPLETED', completedAt: anOutcome().decidedAt, resultKey: 'key', callback: 'success' });
      expect(row).not.toHaveProperty('taskToken');
      await expect(jobs.end(jobId, 1, anOutcome(), { callback: 'gone' })).resolves.toEqual(REFUSED);
      expect(await job.found()).toEqual(row);
    });

    it('ends neither another run nor a job that is not FINALIZING', async () => {
      await job.downloading();
      await expect(jobs.end(jobId, 1, anOutcome(), { callback: 'none' })).resolves.toEqual(REFUSED);
      await jobs.beginFinalizing(await job.found(), anOutcome());
      await expect(jobs.end(jobId, 2, anOutcome(), { callback: 'none' })).resolves.toEqual(REFUSED);
    });

    it('records who answered over a finisher that found the token gone, and over nothing else', async () => {
      await job.finalizing();
      await expect(jobs.recordAnswer(jobId, 1, 'success')).resolves.toEqual(REFUSED);
      const ended = writtenJob(await jobs.end(jobId, 1, anOutcome(), { callback: 'gone' }));
      await expect(jobs.recordAnswer(jobId, 2, 'success')).resolves.toEqual(REFUSED);
      expect(await job.found()).toEqual(ended);
      expect(writtenJob(await jobs.recordAnswer(jobId, 1, 'success'))).toMatchObject({ ...ended, callback: 'success' });
      await expect(jobs.recordAnswer(jobId, 1, 'failure')).resolves.toEqual(REFUSED);
    });

    it('One finisher: who decides has the lease', async () => {
      expect((await job.finalizing()).finisher).toEqual({ id: anOutcome().decidedBy, seq: 0 });
    });

    it('One finisher: taken over once, IF the lease is as observed', async () => {
      const observed = await job.finalizing();
      const other = { ...observed, finisher: { id: 'another', seq: 0 } };
      const older = { ...observed, finisher: { id: anOutcome().decidedBy, seq: 7 } };
      const { finisher: _none, ...former } = observed;
      for (const outdated of [other, older, former, { ...observed, run: 2 }])
        await expect(jobs.takeOverFinish(outdated, 'me')).resolves.toEqual(REFUSED);
      expect(writtenJob(await jobs.takeOverFinish(observed, 'me'))).toMatchObject({ status: 'FINALIZING', finisher: { id: 'me', seq: 0 } });
      await expect(jobs.takeOverFinish(observed, 'me too')).resolves.toEqual(REFUSED);
      await jobs.end(jobId, 1, anOutcome(), { callback: 'none' });
      await expect(jobs.takeOverFinish(observed, 'me')).resolves.toEqual(REFUSED);
    });

    it('One finisher: nothing is taken over of a job that is not being answered', async () => {
      await expect(jobs.takeOverFinish(await job.downloading(), 'me')).resolves.toEqual(REFUSED);
    });

    it('One finisher: renewed by its holder only, twice with the same number, never with an older one', async () => {
      const { finisher } = await job.finalizing();
      const id = finisher?.id ?? '';
      await expect(jobs.renewFinish(jobId, 1, { id: 'another', seq: 1 })).resolves.toEqual(REFUSED);
      await expect(jobs.renewFinish(jobId, 2, { id, seq: 1 })).resolves.toEqual(REFUSED);
      for (const _try of [1, 2]) expect(writtenJob(await jobs.renewFinish(jobId, 1, { id, seq: 2 })).finisher).toEqual({ id, seq: 2 });
      await expect(jobs.renewFinish(jobId, 1, { id, seq: 1 })).resolves.toEqual(REFUSED);
      await jobs.takeOverFinish(await job.found(), 'me');
      await expect(jobs.renewFinish(jobId, 1, { id, seq: 3 })).resolves.toEqual(REFUSED);
      const ended = writtenJob(await jobs.end(jobId, 1, anOutcome(), { callback: 'none' }));
      expect(ended).not.toHaveProperty('finisher');
      await expect(jobs.renewFinish(jobId, 1, { id: 'me', seq: 1 })).resolves.toEqual(REFUSED);
    });

    it('keeps what could not be written of an ended job, and forgets it when the job is reopened', async () => {
      await job.finalizing();
      const resultsNotWritten = { bucket: 'exports', key: 'run-1/manifest.json', code: 'NoSuchBucket' };
      const row = writtenJob(await jobs.end(jobId, 1, anOutcome(), { callback: 'success', resultsNotWritten }));
      expect(row).toMatchObject({ resultsNotWritten });
      const nothing = { completed: 0, bytes: 0, endedBatches: new Set<number>(), batchProgress: new Map() };
      expect(writtenJob(await jobs.reopen(row, nothing))).not.toHaveProperty('resultsNotWritten');
    });

    it('lets one coordinator count what a command has ended, and none what is counted', async () => {
      await job.finalizing();
      await expect(jobs.claimUncounted(jobId, 1)).resolves.toEqual(REFUSED);
      const row = writtenJob(await jobs.end(jobId, 1, anOutcome(), { callback: 'success', uncounted: true }));
      expect(row.uncounted).toBe(true);
      await expect(jobs.claimUncounted(jobId, 2)).resolves.toEqual(REFUSED);
      expect(writtenJob(await jobs.claimUncounted(jobId, 1))).not.toHaveProperty('uncounted');
      await expect(jobs.claimUncounted(jobId, 1)).resolves.toEqual(REFUSED);
    });

    it('forgets with a reopening that the former end was not counted', async () => {
      await job.finalizing();
      const row = writtenJob(await jobs.end(jobId, 1, anOutcome(), { callback: 'success', uncounted: true }));
      const nothing = { completed: 0, bytes: 0, endedBatches: new Set<number>(), batchProgress: new Map() };
      expect(writtenJob(await jobs.reopen(row, nothing))).not.toHaveProperty('uncounted');
    });

    it('keeps that an outcome is partial', async () => {
      const outcome = anOutcome({ partial: true });
      expect(writtenJob(await jobs.beginFinalizing(await job.downloading(), outcome)).outcome).toEqual(outcome);
    });

    it('keeps the error of a failed job', async () => {
      const error = { code: 'JobStalled', message: 'no progress' } as const;
      await jobs.beginFinalizing(await job.downloading(), anOutcome({ status: 'FAILED', error }));
      const row = writtenJob(await jobs.end(jobId, 1, anOutcome({ status: 'FAILED', error }), { callback: 'failure' }));
      expect(row).toMatchObject({ status: 'FAILED', error, outcome: { error } });
      expect(row).not.toHaveProperty('resultKey');
    });
  });

  describe('tokens', () => {
    it('cancels a job whose token is dead, once', async () => {
      await job.downloading();
      const row = writtenJob(await jobs.cancelDead(jobId, 1, TOKEN));
      expect(row).toMatchObject({ status: 'CANCELLED', callback: 'gone', error: { code: 'ExportCancelled' } });
      expect(row).not.toHaveProperty('taskToken');
      await expect(jobs.cancelDead(jobId, 1, TOKEN)).resolves.toEqual(REFUSED);
    });

    it('cancels neither with another token nor another run', async () => {
      await job.downloading();
      await expect(jobs.cancelDead(jobId, 1, 'another token')).resolves.toEqual(REFUSED);
      await expect(jobs.cancelDead(jobId, 2, TOKEN)).resolves.toEqual(REFUSED);
    });

    it('No cancel out of FINALIZING', async () => {
      await job.finalizing();
      await expect(jobs.cancelDead(jobId, 1, TOKEN)).resolves.toEqual(REFUSED);
      expect((await job.found()).status).toBe('FINALIZING');
    });

    it('Replace IF the token is as observed', async () => {
      const observed = await job.downloading();
      await jobs.recordHeartbeat(jobId, TOKEN, 'then');
      const row = writtenJob(await jobs.replaceToken(observed, 'second'));
      expect(row).toMatchObject({ taskToken: 'second', attempt: 2, run: 1 });
      expect(row).not.toHaveProperty('lastHeartbeatAt');
      await expect(jobs.replaceToken(observed, 'third')).resolves.toEqual(REFUSED);
      expect((await job.found()).taskToken).toBe('second');
    });

    it('gives a token to a job that had none, unless it has got one since', async () => {
      const row = await job.createdWithoutToken();
      expect(writtenJob(await jobs.replaceToken(row, 'first'))).toMatchObject({ taskToken: 'first', attempt: 1 });
      await expect(jobs.replaceToken(row, 'second')).resolves.toEqual(REFUSED);
    });

    it('replaces no token when status or run have moved', async () => {
      const observed = await job.downloading();
      await expect(jobs.replaceToken({ ...observed, run: 2 }, 'second')).resolves.toEqual(REFUSED);
      await expect(jobs.replaceToken({ ...observed, status: 'PROCESSING' }, 'second')).resolves.toEqual(REFUSED);
      await jobs.beginFinalizing(observed, anOutcome());
      await expect(jobs.replaceToken(observed, 'second')).resolves.toEqual(REFUSED);
    });

    it('FINALIZING: never replace, even if that is what was observed', async () => {
      await expect(jobs.replaceToken(await job.finalizing(), 'second')).resolves.toEqual(REFUSED);
    });

    it('records a heartbeat only for the token that the job carries', async () => {
      const { updatedAt } = await job.downloading();
      expect(writtenJob(await jobs.recordHeartbeat(jobId, TOKEN, 'then'))).toMatchObject({ lastHeartbeatAt: 'then', updatedAt });
      await expect(jobs.recordHeartbeat(jobId, 'another token', 'now')).resolves.toEqual(REFUSED);
      expect((await job.found()).lastHeartbeatAt).toBe('then');
    });
  });
});
