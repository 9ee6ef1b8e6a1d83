import { beforeEach, describe, expect, it } from '@jest/globals';
import { JobBatchesAdapter } from '../../../../src/batches/adapters/job-batches.adapter.js';
import { EnqueueBatchesUseCase } from '../../../../src/batches/application/enqueue-batches.use-case.js';
import { aBatch, aJob, aJobWithoutPlan, aPlan } from '../../../support/builders.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { FakeBatchQueue } from '../../../support/fakes/fake-batch-ports.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';

let rows: InMemoryBatchRepository;
let queue: FakeBatchQueue;
let enqueueBatches: EnqueueBatchesUseCase;

beforeEach(() => {
  rows = new InMemoryBatchRepository();
  queue = new FakeBatchQueue(rows.gate);
  enqueueBatches = new EnqueueBatchesUseCase(rows, queue, new JobBatchesAdapter(rows, queue, new FakeClock()));
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
