import { beforeEach, describe, expect, it } from '@jest/globals';
import { StoreError } from '../../../../src/shared/index.js';
import { aJob, aJobWithoutPlan } from '../../../support/builders.js';
import { settled } from '../../../support/fake-clock.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';

const KEY = 'run-1/manifest.json';
const CALL = { bucket: 'exports', key: KEY, permission: 's3:PutObject' };
const NOT_WRITTEN = { bucket: 'exports', key: KEY };
const WHOLE = { completedTasks: 10, endedBatches: new Set([0, 1]) };
const MINUTE_MS = 60_000;

let f: ReturnType<typeof aFinisher>;
beforeEach(() => {
  f = aFinisher();
  f.jobs.put(aJob(WHOLE));
  f.batches.rows = [aSummary(0), aSummary(1)];
});

const job = () => f.jobs.get('job-1');
const answer = () => {
  const [{ output, cause } = {}] = f.stepFunctions.answers;
  return JSON.parse(output ?? cause ?? '{}') as Record<string, unknown>;
};
const tries = () => f.results.asked;
const refuse = (code: string, mayPass: boolean) => {
  f.results.failsWith = new StoreError(CALL, code, { mayPass });
};

describe('ResultsNotWritten: results that cannot be written keep no token from its answer', () => {
  it.each(['NoSuchBucket', 'AccessDenied'])('a refusal that will not pass, %s, is asked for a few times within seconds', async (code) => {
    refuse(code, false);
    const finish = f.completeJob.complete('job-1');
    await f.clock.advance(5_000);
    await expect(finish).resolves.toBe('ended');
    expect(tries()).toBe(3);
    expect(answer()).toMatchObject({ completedTasks: 10, result: { key: null }, resultsNotWritten: { ...NOT_WRITTEN, code } });
    expect(job()).toMatchObject({ status: 'COMPLETED', callback: 'success', resultsNotWritten: { ...NOT_WRITTEN, code } });
    expect(job()).not.toHaveProperty('resultKey');
    expect(f.logger.events.filter(({ level }) => level === 'error')).toMatchObject([
      { message: expect.stringContaining('ResultsNotWritten') as unknown, fields: { ...NOT_WRITTEN, code, permission: 's3:PutObject' } },
    ]);
    expect(f.clock.sleepers).toBe(0);
  });

  it('a failure says so in its cause', async () => {
    f.jobs.put(aJob({ completedTasks: 9, failedTasks: 1 }));
    refuse('AccessDenied', false);
    const finish = f.completeJob.complete('job-1');
    await f.clock.advance(5_000);
    await finish;
    expect(f.stepFunctions.answers).toMatchObject([{ error: 'JobCompletedWithFailures' }]);
    expect(answer()).toMatchObject({
      message: expect.stringContaining(
        `ResultsNotWritten: no list of files could be written (AccessDenied at s3://exports/${KEY})`,
      ) as unknown,
      resultsNotWritten: { ...NOT_WRITTEN, code: 'AccessDenied' },
    });
  });

  it('what may pass is waited for', async () => {
    refuse('ServiceUnavailable', true);
    const finish = f.completeJob.complete('job-1');
    await f.clock.advance(9 * MINUTE_MS);
    expect(f.stepFunctions.answers).toEqual([]);
    f.results.failsWith = undefined;
    await f.clock.advance(MINUTE_MS);
    await expect(finish).resolves.toBe('ended');
    expect(answer()).toMatchObject({ result: { key: KEY } });
    expect(answer()).not.toHaveProperty('resultsNotWritten');
  });

  it('what may pass and does not within ten minutes costs the results', async () => {
    refuse('ServiceUnavailable', true);
    const finish = f.completeJob.complete('job-1');
    await f.clock.advance(10 * MINUTE_MS + 1);
    await expect(finish).resolves.toBe('ended');
    expect(answer()).toMatchObject({ status: 'COMPLETED', resultsNotWritten: { code: 'ServiceUnavailable' } });
  });

  it('who cancels waits for them for half a minute', async () => {
    f.jobs.put(aJob({ completedTasks: 3 }));
    refuse('ServiceUnavailable', true);
    const cancelled = f.cancelJob.cancel('job-1', 'asked');
    await f.clock.advance(29_000);
    expect(f.stepFunctions.answers).toEqual([]);
    await f.clock.advance(1_001);
    await expect(cancelled).resolves.toBe('ended');
    expect(job()).toMatchObject({ status: 'CANCELLED', callback: 'failure', resultsNotWritten: { code: 'ServiceUnavailable' } });
  });

  it('a call that never comes back is waited for no longer', async () => {
    f.results.gate.next('writeManifest', () => new Promise(() => undefined));
    const cancelled = f.cancelJob.cancel('job-1', 'asked');
    await f.clock.advance(30_001);
    await expect(cancelled).resolves.toBe('ended');
    expect(job()).toMatchObject({ status: 'CANCELLED', resultsNotWritten: { code: 'TimeoutError' } });
  });

  it('a large job whose results take long is waited for while they move', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    f.results.gate.next('writeManifest', () => promise);
    const finish = f.completeJob.complete('job-1');
    await settled();
    for (let minute = 0; minute < 20; minute++) {
      await f.clock.advance(MINUTE_MS);
      f.results.progress();
    }
    expect(f.stepFunctions.answers).toEqual([]);
    resolve(undefined);
    await expect(finish).resolves.toBe('ended');
    expect(answer()).not.toHaveProperty('resultsNotWritten');
  });

  it('a job that waits behind others is not answered without its results while theirs move', async () => {
    const ids = Array.from({ length: 9 }, (_, index) => `job-${index}`);
    f.jobs.put(...ids.map((jobId) => aJob({ ...WHOLE, jobId, taskToken: jobId })));
    const { promise, resolve } = Promise.withResolvers<undefined>();
    f.results.gate.next('writeManifest', ...ids.slice(1).map(() => () => promise));
    const finishes = Promise.all(ids.map((jobId) => f.completeJob.complete(jobId)));
    await settled();
    for (let minute = 0; minute < 12; minute++) {
      await f.clock.advance(MINUTE_MS);
      f.results.progress();
    }
    resolve(undefined);
    await expect(finishes).resolves.toEqual(ids.map(() => 'ended'));
    expect(ids.filter((jobId) => f.jobs.get(jobId).resultsNotWritten !== undefined)).toEqual([]);
  });

  it('jobs that wait for the places of others whose calls hang are answered as soon as those', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `job-${index}`);
    f.jobs.put(...ids.map((jobId) => aJob({ ...WHOLE, jobId, taskToken: jobId })));
    f.results.gate.next('writeManifest', ...ids.map(() => () => new Promise<void>(() => undefined)));
    const finishes = Promise.all(ids.map((jobId) => f.completeJob.complete(jobId)));
    await f.clock.advance(10 * MINUTE_MS + 1);
    await expect(finishes).resolves.toEqual(ids.map(() => 'ended'));
  });

  it('a shutdown interrupts the wait, and leaves the job to the next finisher', async () => {
    refuse('ServiceUnavailable', true);
    const finish = f.completeJob.complete('job-1');
    await settled();
    await f.completeJob.stop();
    await expect(finish).resolves.toBe('interrupted');
    expect(job().status).toBe('FINALIZING');
  });
});

describe('Cancel ends a job in every state, also with its bucket missing', () => {
  it.each([
    ['PROCESSING, and its request cannot be read', aJobWithoutPlan()],
    ['PROCESSING, planned', aJob({ status: 'PROCESSING' })],
    ['DOWNLOADING', aJob({ completedTasks: 3 })],
  ])('%s', async (_state, found) => {
    f.jobs.put(found);
    refuse('NoSuchBucket', false);
    const cancelled = f.cancelJob.cancel('job-1', 'asked');
    await f.clock.advance(5_000);
    await expect(cancelled).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toMatchObject([{ error: 'ExportCancelled' }]);
    expect(job()).toMatchObject({ status: 'CANCELLED', callback: 'failure' });
  });
});
