import { beforeEach, describe, expect, it } from '@jest/globals';
import { JobBatchesAdapter } from '../../../../src/batches/adapters/job-batches.adapter.js';
import { EnqueueBatchesUseCase } from '../../../../src/batches/application/enqueue-batches.use-case.js';
import { JobCounterService } from '../../../../src/export-jobs/application/job-counter.service.js';
import { aBatch, aJob, aJobWithoutPlan, aPlan, aState } from '../../../support/builders.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { FakeBatchQueue } from '../../../support/fakes/fake-batch-ports.js';
import { InMemoryJobStateRepository } from '../../../support/fakes/in-memory-job-state-repository.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';

let rows: InMemoryBatchRepository;
let queue: FakeBatchQueue;
let jobs: InMemoryJobStateRepository;
let enqueueBatches: EnqueueBatchesUseCase;

beforeEach(() => {
  rows = new InMemoryBatchRepository();
  queue = new FakeBatchQueue(rows.gate);
  jobs = new InMemoryJobStateRepository(rows.gate);
  enqueueBatches = new EnqueueBatchesUseCase(rows, queue, new JobBatchesAdapter(rows, queue, new FakeClock()), new JobCounterService(jobs));
});

const JOB = aJob({ plan: aPlan({ totalTasks: 12, batchCount: 3, batchSize: 5 }) });
const sentNumbers = () => queue.sent.map(({ batchNo }) => batchNo);

describe('EnqueueBatchesUseCase', () => {
  it('creates a row and sends a message for each batch; the last one holds what is left', async () => {
    await enqueueBatches.enqueue(JOB);
    const all = await rows.list('job-1');
    expect(all.map(({ totalTasks }) => totalTasks)).toEqual([5, 5, 2]);
    expect(all.map(({ segmentKey }) => segmentKey.slice(-12))).toEqual(['000000.jsonl', '000001.jsonl', '000002.jsonl']);
    expect(all.every(({ status, run }) => status === 'queued' && run === 1)).toBe(true);
    expect(queue.sent).toEqual([0, 1, 2].map((batchNo) => ({ jobId: 'job-1', batchNo, run: 1 })));
  });

  it('creates the rows before their messages', async () => {
    await enqueueBatches.enqueue(JOB);
    expect(rows.gate.calls.lastIndexOf('createBatch')).toBeLessThan(rows.gate.calls.indexOf('send'));
  });

  it('can be repeated: rows that are there are left alone, and only queued ones are sent again', async () => {
    rows.put(
      aBatch({ batchNo: 0, status: 'running', lockToken: 2 }),
      aBatch({ batchNo: 1 }),
      aBatch({ batchNo: 2, status: 'succeeded', totalTasks: 2 }),
    );
    await enqueueBatches.enqueue(JOB);
    expect(sentNumbers()).toEqual([1]);
    expect(rows.get(0)).toMatchObject({ status: 'running', lockToken: 2 });
  });

  it('sends no message for a row of another run', async () => {
    rows.put(aBatch({ batchNo: 0, run: 2 }));
    await enqueueBatches.enqueue(JOB);
    expect(sentNumbers()).toEqual([1, 2]);
  });

  describe('in a reopened job', () => {
    const REOPENED = { ...JOB, run: 2, endedBatches: new Set([0]) };
    const DONE = aState([0, 1, 2, 3, 4]);
    beforeEach(() => {
      jobs.put(REOPENED);
    });

    it('Reopen moves every batch row, wholly done ones too, creates those that are absent, and sends for what is queued', async () => {
      rows.put(
        aBatch({ batchNo: 0, status: 'succeeded', lockToken: 1, ...DONE }),
        aBatch({ batchNo: 1, status: 'succeeded', lockToken: 1, attempts: 3, ...aState([0, 1, 2], [3, 4]) }),
      );
      await enqueueBatches.enqueue(REOPENED);
      expect((await rows.list('job-1')).map(({ run, status, lockToken }) => [run, status, lockToken])).toEqual([
        [2, 'succeeded', 1],
        [2, 'queued', 2],
        [2, 'queued', 0],
      ]);
      expect(rows.get(1)).toMatchObject({ completed: 3, failed: 0, attempts: 0 });
      expect(queue.sent).toEqual([1, 2].map((batchNo) => ({ jobId: 'job-1', batchNo, run: 2 })));
      expect(rows.gate.calls).not.toContain('count');
    });

    it('moves the row before its message is sent', async () => {
      rows.put(aBatch({ batchNo: 1, status: 'cancelled' }));
      await enqueueBatches.enqueue(REOPENED);
      expect(rows.gate.calls.indexOf('move')).toBeLessThan(rows.gate.calls.indexOf('send'));
    });

    it('takes a row as it is by the time of the move', async () => {
      rows.put(aBatch({ batchNo: 1, status: 'running', lockToken: 1 }));
      rows.gate.next('move', () => void rows.put(aBatch({ batchNo: 1, status: 'running', lockToken: 1, seq: 1, ...aState([0, 1]) })));
      await enqueueBatches.enqueue(REOPENED);
      expect(rows.get(1)).toMatchObject({ run: 2, status: 'queued', completed: 2, lockToken: 2 });
    });

    it('Count up lagging checkpoints, ended ones too: a batch that was done after the reopening had looked', async () => {
      rows.put(aBatch({ batchNo: 1, status: 'succeeded', ...DONE }));
      await enqueueBatches.enqueue(REOPENED);
      expect(jobs.get('job-1')).toMatchObject({ completedTasks: 5, endedBatches: new Set([0, 1]) });
      await enqueueBatches.enqueue(REOPENED);
      expect(jobs.get('job-1').completedTasks).toBe(5);
    });

    it('leaves rows of a newer run to that', async () => {
      rows.put(aBatch({ batchNo: 1, run: 3 }));
      await enqueueBatches.enqueue(REOPENED);
      expect(rows.get(1).run).toBe(3);
      expect(sentNumbers()).toEqual([0, 2]);
    });

    it('moves the 1,000 batches of a large job, sixteen at a time', async () => {
      const large = { ...REOPENED, endedBatches: new Set<number>(), plan: aPlan({ totalTasks: 5_000, batchCount: 1_000, batchSize: 5 }) };
      rows.put(...Array.from({ length: 1_000 }, (_, batchNo) => aBatch({ batchNo, status: 'cancelled' })));
      let [open, peak] = [0, 0];
      const move = rows.move.bind(rows);
      rows.move = async (...call) => {
        peak = Math.max(peak, ++open);
        return move(...call).finally(() => open--);
      };
      await enqueueBatches.enqueue(large);
      expect([peak, queue.sent.length, rows.get(999).run]).toEqual([16, 1_000, 2]);
    });
  });

  it.each(['createBatch', 'send'])('goes on where a crash left it behind %s', async (call) => {
    rows.gate.next(call, 'lost-reply');
    await expect(enqueueBatches.enqueue(JOB)).rejects.toThrow('lost');
    await enqueueBatches.enqueue(JOB);
    expect(await rows.list('job-1')).toHaveLength(3);
    expect(new Set(sentNumbers())).toEqual(new Set([0, 1, 2]));
  });

  it('enqueues the 1,000 batches of a large job once each', async () => {
    await enqueueBatches.enqueue(aJob({ plan: aPlan({ totalTasks: 100_000, batchCount: 1_000, batchSize: 100 }) }));
    expect(await rows.list('job-1')).toHaveLength(1_000);
    expect(new Set(sentNumbers()).size).toBe(1_000);
    expect(queue.sent).toHaveLength(1_000);
  });

  it('refuses a job without a plan', async () => {
    await expect(enqueueBatches.enqueue(aJobWithoutPlan())).rejects.toThrow('has no expansion plan');
  });
});
