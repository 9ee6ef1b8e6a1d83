import { beforeEach, describe, expect, it } from '@jest/globals';
import { aJob, aJobWithoutPlan, anOutcome, aPlan, TOKEN, withoutToken } from '../../../support/builders.js';
import { StoreError } from '../../../../src/shared/index.js';
import { settled } from '../../../support/fake-clock.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';

const WHOLE = { completedTasks: 10, bytesProcessed: 100, endedBatches: new Set([0, 1]) };
const UNAVAILABLE = { kind: 'unavailable', reason: 'ThrottlingException', maybeApplied: false } as const;

let f: ReturnType<typeof aFinisher>;
beforeEach(() => {
  f = aFinisher();
  f.jobs.put(aJob(WHOLE));
  f.batches.rows = [aSummary(0), aSummary(1)];
});

describe('CompleteJobUseCase.complete', () => {
  it('answers success once, with pointers and numbers, and ends the row without its token', async () => {
    await expect(f.completeJob.complete('job-1')).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toHaveLength(1);
    expect(JSON.parse(f.stepFunctions.answers[0]?.output ?? '')).toMatchObject({
      status: 'COMPLETED',
      completedTasks: 10,
      result: { bucket: 'exports', key: 'run-1/manifest.json' },
    });
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'COMPLETED', callback: 'success', resultKey: 'run-1/manifest.json' });
    expect(f.jobs.get('job-1')).not.toHaveProperty('taskToken');
    expect(f.metrics.increments).toContainEqual({ name: 'jobs_total', value: 1, labels: { status: 'COMPLETED' } });
  });

  it('An answer only out of FINALIZING: the outcome is written before the token is answered, whatever dies in between', async () => {
    f.gate.next('beginFinalizing', 'unavailable');
    await expect(f.completeJob.complete('job-1')).rejects.toThrow('unavailable');
    expect(f.stepFunctions.answers).toEqual([]);
    await f.completeJob.complete('job-1');
    expect(f.gate.calls.indexOf('beginFinalizing')).toBeLessThan(f.gate.calls.indexOf('answerToken'));
  });

  it('answers failure with the first failed tasks when more failed than tolerated', async () => {
    f.jobs.put(aJob({ completedTasks: 9, failedTasks: 1 }));
    f.results.firstFailures = [{ index: 4, url: 'https://origin.test/4?secret=1', key: 'file-4', code: 'HTTP_404', message: null }];
    await f.completeJob.complete('job-1');
    const [answer] = f.stepFunctions.answers;
    expect(answer).toMatchObject({ kind: 'failure', error: 'JobCompletedWithFailures' });
    expect(JSON.parse(answer?.cause ?? '')).toMatchObject({ status: 'FAILED', failures: [{ index: 4, url: 'https://origin.test/4' }] });
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'FAILED', callback: 'failure', error: { code: 'JobCompletedWithFailures' } });
  });

  it('answers success when the failures are tolerated', async () => {
    f.jobs.put(aJob({ completedTasks: 9, failedTasks: 1, tolerance: { count: 1 } }));
    await f.completeJob.complete('job-1');
    expect(f.stepFunctions.answers).toMatchObject([{ kind: 'success' }]);
  });

  it('ends a job without a token and answers nobody', async () => {
    f.jobs.put(withoutToken(aJob(WHOLE)));
    await f.completeJob.complete('job-1');
    expect(f.stepFunctions.answers).toEqual([]);
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'COMPLETED', callback: 'none' });
  });

  it('ends a job of no tasks', async () => {
    f.jobs.put(aJob({ plan: aPlan({ totalTasks: 0, batchCount: 0 }) }));
    f.batches.rows = [];
    await f.completeJob.complete('job-1');
    expect(f.jobs.get('job-1').status).toBe('COMPLETED');
  });

  it.each([
    ['its counts do not add up', aJob({ completedTasks: 9 })],
    ['it is still being expanded', aJob({ ...WHOLE, status: 'PROCESSING' })],
  ])('leaves a job alone while %s', async (_name, job) => {
    f.jobs.put(job);
    await expect(f.completeJob.complete('job-1')).resolves.toBe('not-yet');
    expect(f.jobs.get('job-1')).toEqual(job);
  });

  it('has nothing to do for a job that ended or never was', async () => {
    f.jobs.put(aJob({ status: 'FAILED' }));
    await expect(f.completeJob.complete('job-1')).resolves.toBe('ended');
    await expect(f.completeJob.complete('job-2')).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toEqual([]);
  });

  it.each([
    ['is still running', aSummary(1, { status: 'running' })],
    ['is still queued', aSummary(1, { status: 'queued' })],
    ['is of a newer run', aSummary(1, { run: 2 })],
    ['was not moved out of a former run', aSummary(1, { run: 0 })],
    ['is not there', undefined],
  ])('Finisher gives up unless all rows are final and of its run: when a batch %s', async (_name, row) => {
    f.batches.rows = [aSummary(0), ...(row === undefined ? [] : [row])];
    await expect(f.completeJob.complete('job-1')).resolves.toBe('not-yet');
    expect(f.results.objects.size).toBe(0);
    expect(f.stepFunctions.answers).toEqual([]);
    expect(f.jobs.get('job-1').status).toBe('FINALIZING');
  });

  it('counts a batch that was given up as final', async () => {
    f.jobs.put(aJob({ ...WHOLE, completedTasks: 9, failedTasks: 1 }));
    f.batches.rows = [aSummary(0), aSummary(1, { status: 'dead' })];
    await expect(f.completeJob.complete('job-1')).resolves.toBe('ended');
  });

  it('Manifest key per run: a finisher of run 2 writes beside what run 1 has written', async () => {
    f.jobs.put(aJob({ ...WHOLE, run: 2 }));
    f.batches.rows = [aSummary(0, { run: 2 }), aSummary(1, { run: 2 })];
    await f.completeJob.complete('job-1');
    expect([...f.results.objects.keys()]).toEqual(['run-2/manifest.json']);
  });

  it('does not decide on counters that moved since it read them', async () => {
    f.gate.next('beginFinalizing', () => void f.jobs.put(aJob({ completedTasks: 9, failedTasks: 1 })));
    await expect(f.completeJob.complete('job-1')).resolves.toBe('not-yet');
    expect(f.jobs.get('job-1').status).toBe('DOWNLOADING');
  });

  it('Finisher gives up unless all rows are final and of its run: when the job was reopened while the manifest was written', async () => {
    f.gate.next('writeManifest', () => void f.jobs.put(aJob({ run: 2, status: 'FINALIZING' })));
    await f.completeJob.complete('job-1');
    expect(f.stepFunctions.answers).toEqual([]);
  });

  it('is interrupted by a stop while Step Functions does not answer, and another finisher goes on', async () => {
    f.stepFunctions.answerNext(UNAVAILABLE);
    const interrupted = f.completeJob.complete('job-1');
    await settled();
    await f.completeJob.stop();
    await expect(interrupted).resolves.toBe('interrupted');
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'FINALIZING', taskToken: TOKEN });
    await expect(f.another().takeOver(f.jobs.get('job-1'))).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toHaveLength(1);
    expect(f.clock.sleepers).toBe(0);
  });
});

describe('options.failFast', () => {
  const early = (over: Parameters<typeof aJob>[0] = {}) => aJob({ failFast: true, completedTasks: 3, failedTasks: 1, ...over });
  beforeEach(() => {
    f.batches.rows = [aSummary(0, { completed: 4, failed: 1 }), aSummary(1, { status: 'running' })];
  });

  it.each(['DOWNLOADING', 'PROCESSING'] as const)(
    'ends a job there and then whose failures exceed its tolerance for good: in %s',
    async (status) => {
      f.jobs.put(early({ status }));
      await expect(f.completeJob.complete('job-1')).resolves.toBe('ended');
      expect(f.batches.rows[1]?.status).toBe('cancelled');
      expect(f.stepFunctions.answers).toMatchObject([{ error: 'JobCompletedWithFailures' }]);
      expect(JSON.parse(f.stepFunctions.answers[0]?.cause ?? '')).toMatchObject({
        message: expect.stringContaining('options.failFast') as unknown,
        totalTasks: 10,
        completedTasks: 3,
        failedTasks: 1,
        result: { key: 'run-1/manifest.json' },
      });
      expect(f.jobs.get('job-1')).toMatchObject({ status: 'FAILED', outcome: { partial: true } });
    },
  );

  it('has what failed in batches that did not end read from their checkpoints', async () => {
    f.jobs.put(early());
    const { resultKeys: _none, ...unfinished } = aSummary(1, { status: 'running', completed: 1, failed: 1 });
    f.batches.rows = [aSummary(0, { completed: 4, failed: 1 }), unfinished];
    await expect(f.completeJob.complete('job-1')).resolves.toBe('ended');
    expect(f.gate.calls.filter((call) => call === 'failuresOf')).toHaveLength(1);
  });

  it('begins with the count that shows it, whose batch waits for nothing', async () => {
    f.jobs.put(early());
    f.completeJob.helpAfter({ kind: 'counted', job: f.jobs.get('job-1') });
    await f.completeJob.idle();
    expect(f.jobs.get('job-1').status).toBe('FAILED');
  });

  it.each([
    ['without it', early({ failFast: false })],
    ['within its tolerance', early({ tolerance: { count: 1 } })],
  ])('lets a job go on %s', async (_case, job) => {
    f.jobs.put(job);
    await expect(f.completeJob.complete('job-1')).resolves.toBe('not-yet');
  });

  it('is answered by a successor as it was decided, although not every batch is final', async () => {
    f.jobs.put(early());
    f.gate.crashAfter(2);
    await expect(f.completeJob.complete('job-1')).rejects.toThrow();
    f.gate.restart();
    await expect(f.another().takeOver(f.jobs.get('job-1'))).resolves.toBe('ended');
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'FAILED', callback: 'failure' });
  });
});

describe('CompleteJobUseCase.fail', () => {
  const ERROR = { code: 'InvalidExportRequest', message: 'the manifest is broken' } as const;

  it('ends a job that was never expanded', async () => {
    f.jobs.put(aJobWithoutPlan());
    f.batches.rows = [];
    await expect(f.completeJob.fail('job-1', ERROR)).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toMatchObject([{ kind: 'failure', error: 'InvalidExportRequest' }]);
    expect(JSON.parse(f.stepFunctions.answers[0]?.cause ?? '')).toMatchObject({ totalTasks: 0, status: 'FAILED' });
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'FAILED', error: ERROR });
  });

  it('cancels what still runs, and answers although batches are not final', async () => {
    f.jobs.put(aJob({ completedTasks: 3 }));
    f.batches.rows = [aSummary(0), aSummary(1, { status: 'running' })];
    await expect(f.completeJob.fail('job-1', { code: 'JobStalled', message: 'no progress' })).resolves.toBe('ended');
    expect(f.batches.rows[1]?.status).toBe('cancelled');
    expect(f.stepFunctions.answers).toMatchObject([{ error: 'JobStalled' }]);
  });

  it('DestinationRefused ends a job whose batches still run, and whose manifest cannot be written either', async () => {
    f.jobs.put(aJob({ completedTasks: 3 }));
    f.batches.rows = [aSummary(0), aSummary(1, { status: 'running' })];
    const call = { bucket: 'exports', key: 'run-1/manifest.json', permission: 's3:PutObject' };
    f.results.failsWith = new StoreError(call, 'AccessDenied', { mayPass: false });
    const ended = f.completeJob.fail('job-1', { code: 'DestinationRefused', message: 'no s3:PutObject' });
    await f.clock.advance(5_000);
    await expect(ended).resolves.toBe('ended');
    expect(f.batches.rows[1]?.status).toBe('cancelled');
    expect(f.stepFunctions.answers).toMatchObject([{ kind: 'failure', error: 'DestinationRefused' }]);
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'FAILED', error: { code: 'DestinationRefused' } });
  });

  it('is cancelled rather than failed when it was asked to end', async () => {
    await f.completeJob.fail('job-1', { code: 'ExportCancelled', message: 'asked' });
    expect(f.jobs.get('job-1').status).toBe('CANCELLED');
  });

  it('looks again when a count came between', async () => {
    f.jobs.put(aJob({ completedTasks: 3 }));
    f.gate.next('beginFinalizing', () => void f.jobs.put(aJob({ completedTasks: 4 })));
    await expect(f.completeJob.fail('job-1', ERROR)).resolves.toBe('ended');
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'FAILED', completedTasks: 4 });
  });

  it('waits between its looks when counts come in all the time', async () => {
    let completedTasks = 3;
    f.jobs.put(aJob({ completedTasks }));
    f.gate.next('beginFinalizing', ...Array.from({ length: 4 }, () => () => void f.jobs.put(aJob({ completedTasks: ++completedTasks }))));
    const ended = f.completeJob.fail('job-1', ERROR);
    await f.clock.advance(0);
    expect(completedTasks).toBeLessThan(7);
    await f.clock.advance(2_000);
    await expect(ended).resolves.toBe('ended');
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'FAILED', completedTasks: 7 });
  });

  it('finds the job ended that another finisher has decided and answered meanwhile', async () => {
    f.gate.next('beginFinalizing', async () => void (await f.another().complete('job-1')));
    await expect(f.completeJob.fail('job-1', ERROR)).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toMatchObject([{ kind: 'success' }]);
  });

  it('leaves a job alone that another finisher answers', async () => {
    f.jobs.put(aJob({ ...WHOLE, status: 'FINALIZING', outcome: anOutcome() }));
    await expect(f.completeJob.fail('job-1', ERROR)).resolves.toBe('held');
    expect(f.stepFunctions.answers).toEqual([]);
  });

  it('writes nothing when the job is not any more what the failure is about', async () => {
    const job = f.jobs.get('job-1');
    await expect(f.completeJob.fail('job-1', ERROR, ({ run }) => run === 2)).resolves.toBe('not-yet');
    expect(f.jobs.get('job-1')).toEqual(job);
    expect(f.stepFunctions.answers).toEqual([]);
  });

  it('ends the job also when a finisher of this process was just finding that it does not add up', async () => {
    f.jobs.put(aJobWithoutPlan());
    f.batches.rows = [];
    await Promise.all([f.completeJob.complete('job-1'), f.completeJob.fail('job-1', ERROR)]);
    expect(f.jobs.get('job-1').status).toBe('FAILED');
  });
});
