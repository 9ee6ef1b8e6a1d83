import { beforeEach, describe, expect, it } from '@jest/globals';
import { JobBatchesAdapter } from '../../../../src/batches/adapters/job-batches.adapter.js';
import { EnqueueBatchesUseCase } from '../../../../src/batches/application/enqueue-batches.use-case.js';
import { aBatch, aJob, aJobWithoutPlan, aPlan, aState } from '../../../support/builders.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { FakeBatchQueue } from '../../../support/fakes/fake-batch-ports.js';
import { FakeLiveCoordinators } from '../../../support/fakes/fake-job-ports.js';
import { InMemoryJobStateRepository } from '../../../support/fakes/in-memory-job-state-repository.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';
import { aJobWindow } from '../../../support/job-window.js';
import { SilentLogger } from '../../../support/silent-logger.js';

let rows: InMemoryBatchRepository;
let queue: FakeBatchQueue;
let jobs: InMemoryJobStateRepository;
let coordinators: FakeLiveCoordinators;
let enqueueBatches: EnqueueBatchesUseCase;

beforeEach(() => {
  rows = new InMemoryBatchRepository();
  queue = new FakeBatchQueue(rows.gate);
  jobs = new InMemoryJobStateRepository(rows.gate);
  coordinators = new FakeLiveCoordinators();
  const jobBatches = new JobBatchesAdapter(rows, queue, new FakeClock());
  const { counter, window } = aJobWindow({ jobs, jobBatches, logger: new SilentLogger() }, coordinators);
  enqueueBatches = new EnqueueBatchesUseCase(rows, jobBatches, counter, window);
});

const JOB = aJob({ plan: aPlan({ totalTasks: 12, batchCount: 3, batchSize: 5 }) });
const sentNumbers = () => queue.sent.map(({ batchNo }) => batchNo);

describe('EnqueueBatchesUseCase', () => {
  it('creates a row for each batch, and sends its message while the window has room; the last one holds what is left', async () => {
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
      expect(sentNumbers()).toEqual([2]);
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
      expect([peak, queue.sent.length, rows.get(999).run]).toEqual([16, 8, 2]);
    });
  });

  it.each(['createBatch', 'send'])('goes on where a crash left it behind %s', async (call) => {
    rows.gate.next(call, 'lost-reply');
    await expect(enqueueBatches.enqueue(JOB)).rejects.toThrow('lost');
    await enqueueBatches.enqueue(JOB);
    expect(await rows.list('job-1')).toHaveLength(3);
    expect(new Set(sentNumbers())).toEqual(new Set([0, 1, 2]));
  });

  describe('of a large job', () => {
    const LARGE = aJob({ status: 'PROCESSING', plan: aPlan({ totalTasks: 100_000, batchCount: 1_000, batchSize: 100 }) });

    it('creates all 1,000 rows, and sends the messages of its window once each', async () => {
      await expect(enqueueBatches.enqueue(LARGE)).resolves.toBe(8);
      expect(await rows.list('job-1')).toHaveLength(1_000);
      expect(sentNumbers()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    });

    it('sends its first messages before its last rows are written', async () => {
      await enqueueBatches.enqueue(LARGE);
      expect(rows.gate.calls.indexOf('send')).toBeLessThan(20);
    });

    it('sends more of them the more coordinators share the work', async () => {
      coordinators.others = ['b', 'c'];
      await expect(enqueueBatches.enqueue(LARGE)).resolves.toBe(24);
      expect(sentNumbers()).toEqual(Array.from({ length: 24 }, (_, batchNo) => batchNo));
    });

    it('sends the same messages again when it is repeated, whatever the row says', async () => {
      await enqueueBatches.enqueue({ ...LARGE, sentBatches: 500 });
      await expect(enqueueBatches.enqueue({ ...LARGE, sentBatches: 500 })).resolves.toBe(8);
      expect(sentNumbers()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
    });

    it('passes over what the reopened job has ended, and counts it as due', async () => {
      const endedBatches = new Set(Array.from({ length: 100 }, (_, index) => index * 2));
      await expect(enqueueBatches.enqueue({ ...LARGE, endedBatches })).resolves.toBe(16);
      expect(sentNumbers()).toEqual([1, 3, 5, 7, 9, 11, 13, 15]);
    });
  });

  it('refuses a job without a plan', async () => {
    await expect(enqueueBatches.enqueue(aJobWithoutPlan())).rejects.toThrow('has no expansion plan');
  });
});
