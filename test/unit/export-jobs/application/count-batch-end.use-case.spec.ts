import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CountBatchEndUseCase } from '../../../../src/export-jobs/application/count-batch-end.use-case.js';
import { aJob, aPlan } from '../../../support/builders.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';
import { aJobWindow } from '../../../support/job-window.js';

const LAST = { completed: 5, failed: 0, bytes: 50 };

let f: ReturnType<typeof aFinisher>;
let countBatchEnd: CountBatchEndUseCase;

beforeEach(() => {
  f = aFinisher();
  f.jobs.put(aJob({ plan: aPlan({ totalTasks: 50, batchCount: 10 }), sentBatches: 8 }));
  countBatchEnd = aJobWindow({ jobs: f.jobs, jobBatches: f.batches, logger: f.logger }).endsCounted(f.completeJob);
});

const job = () => f.jobs.get('job-1');
const count = (batchNo = 0) => countBatchEnd.count('job-1', { batchNo, run: 1 }, LAST);

describe('CountBatchEndUseCase', () => {
  it('One for each that ended: counts the batch to its end and sends the next message', async () => {
    await count();
    expect(job()).toMatchObject({ completedTasks: 5, endedBatches: new Set([0]), sentBatches: 9 });
    expect(f.batches.sent).toEqual([{ batchNo: 8, run: 1 }]);
  });

  it('sends what a former holder had counted and died before it sent', async () => {
    f.jobs.put({ ...job(), completedTasks: 5, endedBatches: new Set([0]) });
    await count();
    expect(f.batches.sent).toEqual([{ batchNo: 8, run: 1 }]);
  });

  it('Only its expander sends while it is PROCESSING: an end then sends nothing', async () => {
    f.jobs.put({ ...job(), status: 'PROCESSING', sentBatches: 0 });
    await count();
    expect(job()).toMatchObject({ completedTasks: 5, sentBatches: 0 });
    expect(f.batches.sent).toEqual([]);
  });

  it('begins the end of a job that adds up', async () => {
    f.batches.rows = Array.from({ length: 10 }, (_, batchNo) => aSummary(batchNo));
    const endedBatches = new Set(Array.from({ length: 9 }, (_, batchNo) => batchNo));
    f.jobs.put({ ...job(), completedTasks: 45, endedBatches, sentBatches: 10 });
    await count(9);
    await f.completeJob.idle();
    expect(job().status).toBe('COMPLETED');
  });

  it('does not fail when the messages cannot be sent: the batch is counted', async () => {
    f.gate.next('sendBatches', 'unavailable');
    await expect(count()).resolves.toMatchObject({ kind: 'counted' });
    expect(job()).toMatchObject({ completedTasks: 5, sentBatches: 8 });
  });

  it('sends nothing for a job that counts no more', async () => {
    f.jobs.put({ ...job(), status: 'FINALIZING' });
    await expect(count()).resolves.toMatchObject({ kind: 'stop' });
    expect(f.batches.sent).toEqual([]);
  });
});
