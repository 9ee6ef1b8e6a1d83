import { describe, expect, it } from '@jest/globals';
import { aJob, TOKEN } from '../../../support/builders.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';

function setUp() {
  const finisher = aFinisher();
  finisher.jobs.put(aJob());
  finisher.batches.rows = [aSummary(0, { status: 'queued' }), aSummary(1, { status: 'running' })];
  return finisher;
}

describe('CancelJobUseCase, asked by an operator', () => {
  it('Operator’s cancel goes through FINALIZING, answers the token with ExportCancelled and cancels the batches', async () => {
    const { jobs, batches, stepFunctions, cancelJob } = setUp();
    await expect(cancelJob.cancel('job-1', 'asked by an operator')).resolves.toBe('ended');
    expect(stepFunctions.answers).toMatchObject([{ taskToken: TOKEN, kind: 'failure', error: 'ExportCancelled' }]);
    expect(jobs.get('job-1')).toMatchObject({ status: 'CANCELLED', callback: 'failure', outcome: { status: 'CANCELLED' } });
    expect(batches.rows.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    expect(jobs.gate.calls.indexOf('beginFinalizing')).toBeLessThan(jobs.gate.calls.indexOf('answerToken'));
  });

  it('leaves a job alone that has ended', async () => {
    const { jobs, stepFunctions, cancelJob } = setUp();
    jobs.put(aJob({ status: 'COMPLETED' }));
    await expect(cancelJob.cancel('job-1', 'too late')).resolves.toBe('ended');
    expect(jobs.get('job-1').status).toBe('COMPLETED');
    expect(stepFunctions.answers).toEqual([]);
  });
});

describe('CancelJobUseCase, for a dead token', () => {
  it('ends the job at once, answers nobody and cancels its batches', async () => {
    const { jobs, batches, stepFunctions, metrics, cancelJob } = setUp();
    await cancelJob.cancelDead('job-1', 1, TOKEN);
    expect(jobs.get('job-1')).toMatchObject({ status: 'CANCELLED', callback: 'gone', error: { code: 'ExportCancelled' } });
    expect(jobs.get('job-1')).not.toHaveProperty('taskToken');
    expect(batches.cancelled).toEqual([{ jobId: 'job-1', run: 1 }]);
    expect(stepFunctions.answers).toEqual([]);
    expect(metrics.total('jobs_total')).toBe(1);
  });

  it('does nothing when the job carries another token by now', async () => {
    const { jobs, batches, cancelJob } = setUp();
    await cancelJob.cancelDead('job-1', 1, 'an older token');
    expect(jobs.get('job-1').status).toBe('DOWNLOADING');
    expect(batches.cancelled).toEqual([]);
  });

  it('No cancel out of FINALIZING: a job that is being answered is left to its finisher', async () => {
    const { jobs, batches, cancelJob } = setUp();
    jobs.put(aJob({ status: 'FINALIZING' }));
    await cancelJob.cancelDead('job-1', 1, TOKEN);
    expect(jobs.get('job-1').status).toBe('FINALIZING');
    expect(batches.cancelled).toEqual([]);
  });

  it('goes on to the batches when its own write was met by the SDK’s retry', async () => {
    const { jobs, batches, metrics, cancelJob } = setUp();
    jobs.gate.next('cancelDead', 'retried');
    await cancelJob.cancelDead('job-1', 1, TOKEN);
    expect(batches.cancelled).toEqual([{ jobId: 'job-1', run: 1 }]);
    expect(metrics.total('jobs_total')).toBe(0);
  });

  it('does not touch the batches of a newer run', async () => {
    const { jobs, batches, cancelJob } = setUp();
    jobs.gate.next('cancelDead', () => void jobs.put(aJob({ status: 'CANCELLED', run: 2 })));
    await cancelJob.cancelDead('job-1', 1, TOKEN);
    expect(batches.cancelled).toEqual([]);
  });
});
