import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DynamoDbJobStateRepositoryAdapter } from '../../src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.js';
import type { ConditionalWrite, CountWrite, JobStateRepositoryPort } from '../../src/export-jobs/application/job-state-repository.port.js';
import { ACTIVE_STATUSES, type BatchCount, type ExportJobEntity } from '../../src/export-jobs/domain/export-job.entity.js';
import { newId } from '../../src/shared/index.js';
import { aNewJob, anOutcome, aPlan, TOKEN } from '../support/builders.js';
import { startEmbeddedDynamoDb, type EmbeddedDynamoDb } from '../support/embedded-dynamodb.js';
import { InMemoryJobStateRepository } from '../support/fakes/in-memory-job-state-repository.js';
import { FakeClock } from '../support/fake-clock.js';

let dynamoDb: EmbeddedDynamoDb;
beforeAll(async () => {
  dynamoDb = await startEmbeddedDynamoDb();
});
afterAll(() => dynamoDb.close());

const SETTINGS = { statusShards: 4, retentionDays: 30 };

describe.each<[string, () => JobStateRepositoryPort]>([
  ['the fake', () => new InMemoryJobStateRepository()],
  [
    'DynamoDB',
    () => new DynamoDbJobStateRepositoryAdapter(dynamoDb.documents, { ...SETTINGS, table: dynamoDb.jobsTable }, new FakeClock()),
  ],
])('JobStateRepositoryPort on %s', (_name, create) => {
  let jobs: JobStateRepositoryPort;
  let jobId: string;

  beforeEach(() => {
    jobs = create();
    jobId = newId();
  });

  const found = async (): Promise<ExportJobEntity> => {
    const job = await jobs.find(jobId);
    if (job === undefined) throw new Error('no row');
    return job;
  };
  const written = (write: ConditionalWrite): ExportJobEntity => {
    if (write.kind === 'refused') throw new Error('refused');
    return write.job;
  };
  const created = async () => (await jobs.createIfAbsent(aNewJob({ jobId }))).job;
  const downloading = async () => {
    await created();
    await jobs.recordPlan(jobId, 1, aPlan());
    return written(await jobs.startDownloading(jobId, 1));
  };
  const finalizing = async () => written(await jobs.beginFinalizing(await downloading(), anOutcome()));
  const ended = async () => {
    await finalizing();
    return written(await jobs.end(jobId, 1, anOutcome(), { resultKey: 'key', callback: 'success' }));
  };
  const count = (completed: number, over: Partial<CountWrite> = {}) => {
    const next: BatchCount = { completed, failed: 0, bytes: completed * 10 };
    return jobs.count({ jobId, run: 1, batchNo: 0, old: undefined, next, delta: next, ended: false, ...over });
  };
  const REFUSED = { kind: 'refused' };
  const activeIds = async () => {
    const ids: string[] = [];
    for await (const page of jobs.listActive(ACTIVE_STATUSES)) ids.push(...page);
    return ids;
  };

  it('creates a job once: a second delivery finds the row of the first', async () => {
    await expect(jobs.createIfAbsent(aNewJob({ jobId, metadata: { team: 'a' } }))).resolves.toMatchObject({ kind: 'created' });
    await expect(jobs.createIfAbsent(aNewJob({ jobId, requestHash: 'other' }))).resolves.toEqual({ kind: 'exists', job: await found() });
    expect(await found()).toEqual({
      ...aNewJob({ jobId, metadata: { team: 'a' } }),
      ...{ status: 'PROCESSING', run: 1, attempt: 1, completedTasks: 0, failedTasks: 0, bytesProcessed: 0 },
      ...{ batchProgress: new Map(), endedBatches: new Set(), updatedAt: aNewJob().createdAt, lastProgressAt: aNewJob().createdAt },
    });
  });

  it('creates a job without a token', async () => {
    const { taskToken: _token, ...withoutToken } = aNewJob({ jobId });
    const { job } = await jobs.createIfAbsent(withoutToken);
    expect(job).not.toHaveProperty('taskToken');
    expect(job.attempt).toBe(0);
  });

  it('refuses every write to a job that is not there', async () => {
    await expect(jobs.recordPlan(jobId, 1, aPlan())).resolves.toEqual(REFUSED);
    await expect(count(1)).resolves.toEqual(REFUSED);
    await expect(jobs.recordHeartbeat(jobId, TOKEN, 'now')).resolves.toEqual(REFUSED);
    await expect(jobs.cancelDead(jobId, 1, TOKEN)).resolves.toEqual(REFUSED);
    await expect(jobs.find(jobId)).resolves.toBeUndefined();
  });

  describe('expanding', () => {
    it('Totals and prefix in one write with one winner', async () => {
      await created();
      expect(written(await jobs.recordPlan(jobId, 1, aPlan())).plan).toEqual(aPlan());
      await expect(jobs.recordPlan(jobId, 1, aPlan({ batchSize: 7, segmentPrefix: 'other/' }))).resolves.toEqual(REFUSED);
      expect((await found()).plan).toEqual(aPlan());
    });

    it('records no plan for another run, nor out of PROCESSING', async () => {
      await created();
      await expect(jobs.recordPlan(jobId, 2, aPlan())).resolves.toEqual(REFUSED);
      await jobs.startDownloading(jobId, 1);
      await expect(jobs.recordPlan(jobId, 1, aPlan())).resolves.toEqual(REFUSED);
    });

    it('starts downloading once, and only its own run', async () => {
      await created();
      await expect(jobs.startDownloading(jobId, 2)).resolves.toEqual(REFUSED);
      expect(written(await jobs.startDownloading(jobId, 1)).status).toBe('DOWNLOADING');
      await expect(jobs.startDownloading(jobId, 1)).resolves.toEqual(REFUSED);
      await expect(jobs.touchProgress(jobId, 1)).resolves.toEqual(REFUSED);
    });

    it('stamps progress while it is PROCESSING', async () => {
      await created();
      await expect(jobs.touchProgress(jobId, 1)).resolves.toMatchObject({ kind: 'written' });
      await expect(jobs.touchProgress(jobId, 2)).resolves.toEqual(REFUSED);
    });
  });

  describe('counting', () => {
    const first: BatchCount = { completed: 2, failed: 0, bytes: 20 };

    it('Count on the old value: the same count twice is counted once', async () => {
      await downloading();
      expect(written(await count(2)).batchProgress).toEqual(new Map([[0, first]]));
      await expect(count(2)).resolves.toEqual(REFUSED);
      const more = { old: first, delta: { completed: 1, failed: 1, bytes: 5 }, next: { completed: 3, failed: 1, bytes: 25 } };
      expect(written(await count(3, more))).toMatchObject({ completedTasks: 3, failedTasks: 1, bytesProcessed: 25 });
      await expect(count(3, more)).resolves.toEqual(REFUSED);
      expect((await found()).completedTasks).toBe(3);
    });

    it('Not if the batch has ended: neither the end twice nor a first count after it', async () => {
      await downloading();
      await count(2);
      const job = written(await count(5, { old: first, delta: { completed: 3, failed: 0, bytes: 30 }, ended: true }));
      expect(job).toMatchObject({ completedTasks: 5, batchProgress: new Map(), endedBatches: new Set([0]) });
      await expect(count(5, { old: first, ended: true })).resolves.toEqual(REFUSED);
      await expect(count(5, { ended: true })).resolves.toEqual(REFUSED);
      await expect(count(5)).resolves.toEqual(REFUSED);
      expect((await found()).completedTasks).toBe(5);
    });

    it('ends a batch that never counted before, and keeps batches apart', async () => {
      await downloading();
      await count(5, { ended: true });
      expect(written(await count(5, { batchNo: 1, ended: true }))).toMatchObject({ completedTasks: 10, endedBatches: new Set([0, 1]) });
    });

    it('Only into its own run', async () => {
      await downloading();
      await expect(count(1, { run: 2 })).resolves.toEqual(REFUSED);
    });

    it('counts while the job is still PROCESSING', async () => {
      await created();
      expect(written(await count(1)).completedTasks).toBe(1);
    });

    it('Only while PROCESSING or DOWNLOADING', async () => {
      await finalizing();
      await expect(count(1)).resolves.toEqual(REFUSED);
      await jobs.end(jobId, 1, anOutcome(), { callback: 'none' });
      await expect(count(1)).resolves.toEqual(REFUSED);
      expect((await found()).completedTasks).toBe(0);
    });
  });

  describe('ending', () => {
    it('decides once, on the counters as read', async () => {
      const observed = await downloading();
      await count(1);
      await expect(jobs.beginFinalizing(observed, anOutcome())).resolves.toEqual(REFUSED);
      expect(written(await jobs.beginFinalizing(await found(), anOutcome()))).toMatchObject({ status: 'FINALIZING', outcome: anOutcome() });
      await expect(jobs.beginFinalizing({ ...observed, completedTasks: 1 }, anOutcome({ decidedBy: 'other' }))).resolves.toEqual(REFUSED);
      expect((await found()).outcome).toEqual(anOutcome());
    });

    it('decides for the run and the status it has observed only', async () => {
      const observed = await downloading();
      await expect(jobs.beginFinalizing({ ...observed, run: 2 }, anOutcome())).resolves.toEqual(REFUSED);
      await expect(jobs.beginFinalizing({ ...observed, status: 'PROCESSING' }, anOutcome())).resolves.toEqual(REFUSED);
    });

    it('never decides out of FINALIZING or an end, even if that is what was observed', async () => {
      await expect(jobs.beginFinalizing(await finalizing(), anOutcome({ decidedBy: 'other' }))).resolves.toEqual(REFUSED);
      await jobs.end(jobId, 1, anOutcome(), { callback: 'none' });
      await expect(jobs.beginFinalizing(await found(), anOutcome({ decidedBy: 'other' }))).resolves.toEqual(REFUSED);
    });

    it('ends once: token gone, outcome and answer recorded', async () => {
      const job = await ended();
      expect(job).toMatchObject({ status: 'COMPLETED', completedAt: anOutcome().decidedAt, resultKey: 'key', callback: 'success' });
      expect(job).not.toHaveProperty('taskToken');
      await expect(jobs.end(jobId, 1, anOutcome(), { callback: 'gone' })).resolves.toEqual(REFUSED);
      expect(await found()).toEqual(job);
    });

    it('ends neither another run nor a job that is not FINALIZING', async () => {
      await downloading();
      await expect(jobs.end(jobId, 1, anOutcome(), { callback: 'none' })).resolves.toEqual(REFUSED);
      await jobs.beginFinalizing(await found(), anOutcome());
      await expect(jobs.end(jobId, 2, anOutcome(), { callback: 'none' })).resolves.toEqual(REFUSED);
    });

    it('keeps the error of a failed job', async () => {
      const error = { code: 'JobStalled', message: 'no progress' } as const;
      await jobs.beginFinalizing(await downloading(), anOutcome({ status: 'FAILED', error }));
      const job = written(await jobs.end(jobId, 1, anOutcome({ status: 'FAILED', error }), { callback: 'failure' }));
      expect(job).toMatchObject({ status: 'FAILED', error, outcome: { error } });
      expect(job).not.toHaveProperty('resultKey');
    });
  });

  describe('tokens', () => {
    it('cancels a job whose token is dead, once', async () => {
      await downloading();
      const job = written(await jobs.cancelDead(jobId, 1, TOKEN));
      expect(job).toMatchObject({ status: 'CANCELLED', callback: 'gone', error: { code: 'ExportCancelled' } });
      expect(job).not.toHaveProperty('taskToken');
      await expect(jobs.cancelDead(jobId, 1, TOKEN)).resolves.toEqual(REFUSED);
    });

    it('cancels neither with another token nor another run', async () => {
      await downloading();
      await expect(jobs.cancelDead(jobId, 1, 'another token')).resolves.toEqual(REFUSED);
      await expect(jobs.cancelDead(jobId, 2, TOKEN)).resolves.toEqual(REFUSED);
    });

    it('No cancel out of FINALIZING', async () => {
      await finalizing();
      await expect(jobs.cancelDead(jobId, 1, TOKEN)).resolves.toEqual(REFUSED);
      expect((await found()).status).toBe('FINALIZING');
    });

    it('Replace IF the token is as observed', async () => {
      const observed = await downloading();
      await jobs.recordHeartbeat(jobId, TOKEN, 'then');
      const job = written(await jobs.replaceToken(observed, 'second'));
      expect(job).toMatchObject({ taskToken: 'second', attempt: 2, run: 1 });
      expect(job).not.toHaveProperty('lastHeartbeatAt');
      await expect(jobs.replaceToken(observed, 'third')).resolves.toEqual(REFUSED);
      expect((await found()).taskToken).toBe('second');
    });

    it('gives a token to a job that had none, unless it has got one since', async () => {
      const { taskToken: _token, ...withoutToken } = aNewJob({ jobId });
      const { job } = await jobs.createIfAbsent(withoutToken);
      expect(written(await jobs.replaceToken(job, 'first'))).toMatchObject({ taskToken: 'first', attempt: 1 });
      await expect(jobs.replaceToken(job, 'second')).resolves.toEqual(REFUSED);
    });

    it('replaces no token when status or run have moved', async () => {
      const observed = await downloading();
      await expect(jobs.replaceToken({ ...observed, run: 2 }, 'second')).resolves.toEqual(REFUSED);
      await jobs.beginFinalizing(observed, anOutcome());
      await expect(jobs.replaceToken(observed, 'second')).resolves.toEqual(REFUSED);
    });

    it('FINALIZING: never replace, even if that is what was observed', async () => {
      await expect(jobs.replaceToken(await finalizing(), 'second')).resolves.toEqual(REFUSED);
    });

    it('records a heartbeat only for the token that the job carries', async () => {
      const { updatedAt } = await downloading();
      expect(written(await jobs.recordHeartbeat(jobId, TOKEN, 'then'))).toMatchObject({ lastHeartbeatAt: 'then', updatedAt });
      await expect(jobs.recordHeartbeat(jobId, 'another token', 'now')).resolves.toEqual(REFUSED);
      expect((await found()).lastHeartbeatAt).toBe('then');
    });
  });

  describe('finding', () => {
    it('lists active jobs over all shards and pages, and forgets those that ended', async () => {
      const ids = Array.from({ length: 40 }, (_, index) => `${jobId}-${index}`);
      await Promise.all(ids.map((id) => jobs.createIfAbsent(aNewJob({ jobId: id }))));
      expect((await activeIds()).filter((id) => id.startsWith(jobId)).toSorted()).toEqual(ids.toSorted());
      await ended();
      await created();
      const [gone = '', moved = ''] = ids;
      await jobs.cancelDead(gone, 1, TOKEN);
      await jobs.startDownloading(moved, 1);
      const active = await activeIds();
      expect(active).not.toContain(gone);
      expect(active).not.toContain(jobId);
      expect(active.filter((id) => id === moved)).toHaveLength(1);
    });

    it('lists only the statuses asked for', async () => {
      await downloading();
      const ids: string[] = [];
      for await (const page of jobs.listActive(['PROCESSING', 'FINALIZING'])) ids.push(...page);
      expect(ids).not.toContain(jobId);
    });

    it('finds more than 100 jobs at a time, and leaves out those that are not there', async () => {
      const ids = Array.from({ length: 130 }, (_, index) => `${jobId}-${index}`);
      await Promise.all(ids.map((id) => jobs.createIfAbsent(aNewJob({ jobId: id }))));
      const all = await jobs.findMany([...ids, ids[0] ?? '', 'nobody']);
      expect(all.map((job) => job.jobId).toSorted()).toEqual(ids.toSorted());
      await expect(jobs.findMany([])).resolves.toEqual([]);
    });

    it('shows the newest active jobs first', async () => {
      const day = (number: number) => aNewJob({ jobId: `${jobId}-${number}`, createdAt: `2126-01-0${number}T00:00:00.000Z` });
      for (const number of [2, 3, 1]) await jobs.createIfAbsent(day(number));
      const newest = await jobs.list(ACTIVE_STATUSES, 2);
      expect(newest.map((job) => job.jobId)).toEqual([`${jobId}-3`, `${jobId}-2`]);
      for (const number of [1, 2, 3]) await jobs.cancelDead(`${jobId}-${number}`, 1, TOKEN);
    });
  });
});
