import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { JobStateRepositoryPort, Reopening } from '../../src/export-jobs/application/job-state-repository.port.js';
import type { BatchCount, ExportJobEntity } from '../../src/export-jobs/domain/export-job.entity.js';
import { anOutcome, aPlan, START_ISO, TOKEN } from '../support/builders.js';
import { startEmbeddedDynamoDb } from '../support/embedded-dynamodb.js';
import { describeJobRepositories, jobTable, JobInRepository, writtenJob } from '../support/job-in-repository.js';

const REFUSED = { kind: 'refused' };
const NEW = 'token-of-the-second-attempt';
const ERROR = { code: 'JobCompletedWithFailures', message: '1 of 10 tasks failed' } as const;
const WITH_FAILURE: BatchCount = { completed: 2, failed: 1, bytes: 20 };
const PARTLY: BatchCount = { ...WITH_FAILURE, failed: 0 };
/** Batch 0 wholly done, 2 of 5 tasks of batch 1. */
const COUNTS: Reopening = { completed: 7, bytes: 70, endedBatches: new Set([0]), batchProgress: new Map([[1, PARTLY]]) };
const NOTHING: Reopening = { completed: 0, bytes: 0, endedBatches: new Set(), batchProgress: new Map() };

describeJobRepositories((create) => {
  let jobs: JobStateRepositoryPort;
  let job: JobInRepository;
  let jobId: string;
  beforeEach(() => {
    ({ jobs, job, jobId } = create());
  });

  /** A job that was beaten, counted, and ended with failures. */
  async function failed(): Promise<ExportJobEntity> {
    await job.downloading();
    await jobs.recordHeartbeat(jobId, TOKEN, 'then');
    await job.count(5, { ended: true });
    await job.count(2, { batchNo: 1, next: WITH_FAILURE, delta: WITH_FAILURE });
    const outcome = anOutcome({ status: 'FAILED', error: ERROR });
    await jobs.beginFinalizing(await job.found(), outcome);
    return writtenJob(await jobs.end(jobId, 1, outcome, { resultKey: 'key', callback: 'failure' }));
  }

  describe('reopening', () => {
    it('Reopen forgets failures: the next run begins with token, attempt and counters, and keeps nothing of the former end', async () => {
      const ended = await failed();
      const row = writtenJob(await jobs.reopen(ended, { ...COUNTS, taskToken: NEW }));
      const { completedAt: _at, outcome: _outcome, resultKey: _key, callback: _callback, error: _error, ...kept } = ended;
      const { lastHeartbeatAt: _beat, ...rest } = kept;
      expect(row).toEqual({
        ...rest,
        status: 'PROCESSING',
        sentBatches: 0,
        run: 2,
        attempt: 2,
        taskToken: NEW,
        completedTasks: 7,
        failedTasks: 0,
        bytesProcessed: 70,
        endedBatches: new Set([0]),
        batchProgress: new Map([[1, PARTLY]]),
        updatedAt: START_ISO,
        lastProgressAt: START_ISO,
        reopened: { at: START_ISO, completed: 7, bytes: 70 },
      });
      expect(await job.found()).toEqual(row);
    });

    it('is found among the active jobs again', async () => {
      await jobs.reopen(await failed(), COUNTS);
      const listed: string[] = [];
      for await (const { jobIds } of jobs.listActive(['PROCESSING'])) listed.push(...jobIds);
      expect(listed).toContain(jobId);
    });

    it('without a token is no further attempt, and carries none', async () => {
      const row = writtenJob(await jobs.reopen(await failed(), COUNTS));
      expect(row).toMatchObject({ run: 2, attempt: 1 });
      expect(row).not.toHaveProperty('taskToken');
    });

    it('forgets the ended batches when none is wholly done', async () => {
      const row = writtenJob(await jobs.reopen(await failed(), NOTHING));
      expect(row).toMatchObject({ completedTasks: 0, bytesProcessed: 0, endedBatches: new Set(), batchProgress: new Map() });
      expect(writtenJob(await job.count(5, { run: 2, ended: true })).endedBatches).toEqual(new Set([0]));
    });

    it('Reopen begins with no batch due: the next expansion sends what is left', async () => {
      expect(writtenJob(await jobs.reopen(await failed(), COUNTS)).sentBatches).toBe(0);
    });

    it('happens once, whoever else has seen the same end', async () => {
      const ended = await failed();
      const row = writtenJob(await jobs.reopen(ended, { ...COUNTS, taskToken: NEW }));
      await expect(jobs.reopen(ended, { ...COUNTS, taskToken: NEW })).resolves.toEqual(REFUSED);
      await expect(jobs.reopen(ended, { ...NOTHING, taskToken: 'third' })).resolves.toEqual(REFUSED);
      expect(await job.found()).toEqual(row);
    });

    it('Reopen IF status and run are as observed: is refused when one is not', async () => {
      const ended = await failed();
      await expect(jobs.reopen({ ...ended, status: 'CANCELLED' }, COUNTS)).resolves.toEqual(REFUSED);
      await expect(jobs.reopen({ ...ended, run: 2 }, COUNTS)).resolves.toEqual(REFUSED);
      await expect(jobs.reopen({ ...ended, jobId: 'nobody' }, COUNTS)).resolves.toEqual(REFUSED);
      expect(await job.found()).toEqual(ended);
    });

    it.each([
      ['PROCESSING', () => job.created()],
      ['DOWNLOADING', () => job.downloading()],
      ['FINALIZING', () => job.finalizing()],
    ])(
      'FINALIZING: never replace, nor an active job: none is taken out of %s, even if that is what was observed',
      async (_status, reach) => {
        const active = await reach();
        await expect(jobs.reopen(active, COUNTS)).resolves.toEqual(REFUSED);
        expect(await job.found()).toEqual(active);
      },
    );

    it.each([
      ['COMPLETED', () => job.ended()],
      [
        'CANCELLED',
        async () => {
          await job.downloading();
          return writtenJob(await jobs.cancelDead(jobId, 1, TOKEN));
        },
      ],
    ])('takes a job out of %s', async (_status, reach) => {
      expect(writtenJob(await jobs.reopen(await reach(), COUNTS))).toMatchObject({ status: 'PROCESSING', run: 2 });
    });
  });

  describe('a reopened job', () => {
    it('Reopen leaves partly done batches in batchProgress: their next count adds only what is new', async () => {
      await jobs.reopen(await failed(), COUNTS);
      const next: BatchCount = { completed: 3, failed: 0, bytes: 30 };
      await expect(job.count(3, { run: 2, batchNo: 1 })).resolves.toEqual(REFUSED);
      const more = { run: 2, batchNo: 1, old: PARTLY, next, delta: { completed: 1, failed: 0, bytes: 10 } };
      expect(writtenJob(await job.count(3, more))).toMatchObject({ completedTasks: 8, bytesProcessed: 80 });
    });

    it('Reopen sets endedBatches to the wholly done ones: they are not counted again', async () => {
      await jobs.reopen(await failed(), COUNTS);
      await expect(job.count(5, { run: 2, ended: true })).resolves.toEqual(REFUSED);
    });

    it('Only into its own run: nothing of the former run counts, ends, finishes or cancels', async () => {
      await jobs.reopen(await failed(), { ...COUNTS, taskToken: NEW });
      const row = await job.found();
      await expect(job.count(3, { batchNo: 1, old: PARTLY })).resolves.toEqual(REFUSED);
      await expect(jobs.startDownloading(jobId, 1, 2)).resolves.toEqual(REFUSED);
      await expect(jobs.touchProgress(jobId, 1)).resolves.toEqual(REFUSED);
      await expect(jobs.recordSent({ ...row, run: 1 }, 1)).resolves.toEqual(REFUSED);
      await expect(jobs.recordPlan(jobId, 1, aPlan())).resolves.toEqual(REFUSED);
      await expect(jobs.beginFinalizing({ ...row, run: 1 }, anOutcome())).resolves.toEqual(REFUSED);
      await expect(jobs.cancelDead(jobId, 1, NEW)).resolves.toEqual(REFUSED);
      await expect(jobs.recordHeartbeat(jobId, TOKEN, 'now')).resolves.toEqual(REFUSED);
      await jobs.startDownloading(jobId, 2, 2);
      await jobs.beginFinalizing(await job.found(), anOutcome());
      await expect(jobs.end(jobId, 1, anOutcome(), { callback: 'failure' })).resolves.toEqual(REFUSED);
    });

    it('gets its first plan when it had ended before it was expanded', async () => {
      await job.created();
      const outcome = anOutcome({ status: 'FAILED', error: ERROR });
      await jobs.beginFinalizing(await job.found(), outcome);
      await jobs.reopen(writtenJob(await jobs.end(jobId, 1, outcome, { callback: 'failure' })), NOTHING);
      expect(writtenJob(await jobs.recordPlan(jobId, 2, aPlan())).plan).toEqual(aPlan());
    });
  });
});

it('DynamoDB: a reopened row is not forgotten, and stores no empty set', async () => {
  const dynamoDb = await startEmbeddedDynamoDb();
  const jobs = jobTable(dynamoDb);
  const attributes = async () => {
    const { Item } = await dynamoDb.documents.send(
      new GetCommand({ TableName: dynamoDb.jobsTable, Key: { jobId: 'job-1' }, ConsistentRead: true }),
    );
    return Item;
  };
  const job = new JobInRepository(jobs, 'job-1');
  await job.downloading();
  await job.count(5, { ended: true });
  await jobs.cancelDead('job-1', 1, TOKEN);
  expect(await attributes()).toMatchObject({ ttl: expect.any(Number) as unknown, endedBatches: new Set([0]) });
  await jobs.reopen(await job.found(), NOTHING);
  const reopened = await attributes();
  expect(reopened).not.toHaveProperty('ttl');
  expect(reopened).not.toHaveProperty('endedBatches');
  expect(reopened).toMatchObject({ statusShard: expect.stringMatching(/^PROCESSING#/) as unknown });
  await dynamoDb.close();
});
