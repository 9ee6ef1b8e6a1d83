import { beforeEach, describe, expect, it } from '@jest/globals';
import { TakeInBatchUseCase } from '../../../../src/batches/application/take-in-batch.use-case.js';
import type { BatchMessage } from '../../../../src/batches/application/batch-queue.port.js';
import { deferred } from '../../../support/deferred.js';
import { settled } from '../../../support/fake-clock.js';
import { FakeBatchQueue } from '../../../support/fakes/fake-batch-ports.js';
import { FakeLiveCoordinators } from '../../../support/fakes/fake-job-ports.js';
import { Gate } from '../../../support/fakes/gate.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

let gate: Gate;
let queue: FakeBatchQueue;
let coordinators: FakeLiveCoordinators;
let pool: { capacity: number };
let waitingJobs: Set<string>;
let takeInBatch: TakeInBatchUseCase;
/** Those that were taken in, and what ends each. */
let running: Map<string, () => void>;

beforeEach(() => {
  gate = new Gate();
  queue = new FakeBatchQueue(gate);
  coordinators = new FakeLiveCoordinators();
  coordinators.others = ['another'];
  pool = { capacity: 32 };
  waitingJobs = new Set();
  running = new Map();
  const run = ({ jobId, batchNo }: BatchMessage) => {
    const end = deferred();
    running.set(`${jobId}#${batchNo}`, end.resolve);
    return end.promise.then(() => 'ended' as const);
  };
  takeInBatch = new TakeInBatchUseCase(
    { maxInHand: 4, maxInHandTotal: 16 },
    {
      runBatch: { run },
      dispatcher: { isWaiting: (jobId) => waitingJobs.has(jobId) },
      pool,
      queue,
      coordinators,
      logger: new RecordingLogger(),
    },
  );
});

const receive = (jobId: string, ...batchNos: number[]) =>
  batchNos.map((batchNo) => takeInBatch.takeIn({ jobId, batchNo, run: 1 }, () => gate.pass('deleteMessage', () => undefined)));
const end = async (name: string) => {
  running.get(name)?.();
  await settled();
};

describe('TakeInBatchUseCase', () => {
  it('waits for messages until it has its share of one job, then looks for other jobs', async () => {
    expect([takeInBatch.hasEnough, takeInBatch.capacity]).toEqual([false, 4]);
    void receive('job-1', 0, 1, 2);
    expect([takeInBatch.hasEnough, takeInBatch.capacity]).toEqual([false, 4]);
    void receive('job-1', 3);
    expect([takeInBatch.hasEnough, takeInBatch.capacity]).toEqual([true, 16]);
    await end('job-1#2');
    expect(takeInBatch.hasEnough).toBe(false);
  });

  it('counts a batch from its receive on, and no longer than it runs', async () => {
    gate.next('send', 'unavailable');
    void receive('job-1', 0, 1, 2, 3, 4, 5);
    await expect(receive('job-1', 6)[0]).rejects.toThrow('unavailable');
    for (const name of running.keys()) await end(name);
    expect(takeInBatch.capacity).toBe(4);
  });

  it('What only waits does not count: a job all of whose tasks wait for a host leaves the room to others', async () => {
    void receive('paused', 0, 1, 2, 3);
    waitingJobs.add('paused');
    expect([takeInBatch.hasEnough, takeInBatch.capacity]).toEqual([false, 8]);
    void receive('job-2', 0, 1, 2, 3);
    expect([takeInBatch.hasEnough, takeInBatch.capacity]).toEqual([true, 20]);
    waitingJobs.clear();
    expect(takeInBatch.capacity).toBe(16);
  });

  it('Passed on over its share: sends a copy that another receives a second later, then deletes the message', async () => {
    void receive('job-1', 0, 1, 2, 3, 4, 5);
    await Promise.all(receive('job-1', 6));
    expect([queue.sent, queue.delays]).toEqual([[{ jobId: 'job-1', batchNo: 6, run: 1 }], [1]]);
    expect(gate.calls).toEqual(['send', 'deleteMessage']);
    expect(running.has('job-1#6')).toBe(false);
    void receive('job-2', 0);
    expect(running.has('job-2#0')).toBe(true);
  });

  it('takes in further batches of a job when some of it have ended', async () => {
    void receive('job-1', 0, 1, 2, 3, 4, 5);
    await end('job-1#0');
    void receive('job-1', 6);
    expect(running.has('job-1#6')).toBe(true);
  });

  it('looks at a message that is passed on only now and then while nobody else is there', async () => {
    coordinators.others = [];
    void receive('job-1', 0, 1, 2, 3, 4, 5);
    await Promise.all(receive('job-1', 6));
    expect(queue.delays).toEqual([10]);
  });

  it('leaves a message whose copy could not be sent', async () => {
    void receive('job-1', 0, 1, 2, 3, 4, 5);
    gate.next('send', 'unavailable');
    await expect(receive('job-1', 6)[0]).rejects.toThrow('unavailable');
    expect(gate.calls).not.toContain('deleteMessage');
  });

  it('takes nothing in while the pool has no thread: it could only hold batches', () => {
    pool.capacity = 0;
    expect([takeInBatch.hasEnough, takeInBatch.capacity]).toEqual([true, 0]);
  });
});
