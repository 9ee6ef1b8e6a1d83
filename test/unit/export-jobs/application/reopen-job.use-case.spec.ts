import { beforeEach, describe, expect, it } from '@jest/globals';
import { ReopenJobUseCase } from '../../../../src/export-jobs/application/reopen-job.use-case.js';
import { aJob, anOutcome, withoutToken } from '../../../support/builders.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';

const NEW = 'token-of-the-second-attempt';
const ENDED = withoutToken(aJob({ status: 'FAILED', completedTasks: 9, failedTasks: 1, outcome: anOutcome({ status: 'FAILED' }) }));

let f: ReturnType<typeof aFinisher>;
let reopenJob: ReopenJobUseCase;
beforeEach(() => {
  f = aFinisher();
  f.jobs.put(ENDED);
  f.batches.rows = [aSummary(0), aSummary(1, { completed: 4, failed: 1, bytes: 40 })];
  reopenJob = new ReopenJobUseCase(f.jobs, f.batches, f.logger);
});
const job = () => f.jobs.get('job-1');

describe('ReopenJobUseCase', () => {
  it('begins the next run with what the batches have done', async () => {
    const reopened = await reopenJob.reopen(ENDED, NEW);
    expect(reopened).toEqual(job());
    expect(job()).toMatchObject({
      status: 'PROCESSING',
      run: 2,
      attempt: 2,
      taskToken: NEW,
      completedTasks: 9,
      failedTasks: 0,
      bytesProcessed: 90,
      endedBatches: new Set([0]),
      batchProgress: new Map([[1, { completed: 4, failed: 0, bytes: 40 }]]),
    });
  });

  it('begins it without callbacks when no token comes with it', async () => {
    await expect(reopenJob.reopen(ENDED)).resolves.toMatchObject({ run: 2, attempt: 1 });
    expect(job()).not.toHaveProperty('taskToken');
  });

  it.each(['lost-reply', 'retried'] as const)('recognises its own write: %s', async (fault) => {
    f.gate.next('reopen', fault);
    await expect(reopenJob.reopen(ENDED, NEW)).resolves.toMatchObject({ run: 2, taskToken: NEW });
  });

  it('says so when nothing was written', async () => {
    f.gate.next('reopen', 'unavailable');
    await expect(reopenJob.reopen(ENDED, NEW)).rejects.toThrow('unavailable');
    expect(job()).toEqual(ENDED);
  });

  it('takes nobody else’s reopening for its own', async () => {
    f.gate.next('reopen', () => void f.jobs.put(aJob({ status: 'PROCESSING', run: 2, taskToken: 'third' })));
    await expect(reopenJob.reopen(ENDED, NEW)).resolves.toBeUndefined();
    await expect(reopenJob.reopen(ENDED)).resolves.toBeUndefined();
    expect(job().taskToken).toBe('third');
  });

  it('never shows a token in a log', async () => {
    await reopenJob.reopen(ENDED, NEW);
    expect(JSON.stringify(f.logger.events)).not.toMatch(/token-of/);
  });
});
