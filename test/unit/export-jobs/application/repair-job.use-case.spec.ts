import { beforeEach, expect, it } from '@jest/globals';
import { JobBatchesAdapter } from '../../../../src/batches/adapters/job-batches.adapter.js';
import { JobCounterService } from '../../../../src/export-jobs/application/job-counter.service.js';
import { RepairJobUseCase } from '../../../../src/export-jobs/application/repair-job.use-case.js';
import { aBatch, aJob } from '../../../support/builders.js';
import { FakeBatchQueue } from '../../../support/fakes/fake-batch-ports.js';
import { FakeLiveCoordinators } from '../../../support/fakes/fake-job-ports.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';
import { aFinisher } from '../../../support/finisher.js';
import { onEachClock } from '../../../support/each-clock.js';

const LOOK_MS = 30_000;
const MINUTE_MS = 60_000;
const LIMITS = { repairAfterMs: 120_000, stallTimeoutMs: 10 * MINUTE_MS };

let f: ReturnType<typeof aFinisher>;
let batches: InMemoryBatchRepository;
let queue: FakeBatchQueue;
let repairJob: RepairJobUseCase;
/** Minutes after the first look at which the message of batch 0 was sent again; the look after that is the first to see it. */
let sentAfter: number[];

beforeEach(() => {
  f = aFinisher();
  f.jobs.put(aJob());
  batches = new InMemoryBatchRepository(f.gate, f.clock);
  batches.put(aBatch({ batchNo: 0 }), aBatch({ batchNo: 1 }));
  queue = new FakeBatchQueue(f.gate);
  queue.empty = false;
  sentAfter = [];
  const { jobs, completeJob, clock, logger, metrics } = f;
  repairJob = new RepairJobUseCase(LIMITS, {
    batches: new JobBatchesAdapter(batches, queue, clock),
    coordinators: new FakeLiveCoordinators(),
    counter: new JobCounterService(jobs),
    completeJob,
    clock,
    logger,
    metrics,
  });
});

/** A look every half a minute, as the turns of the orchestrator bring it. */
const lookFor = async (minutes: number) => {
  const endMs = f.clock.monotonicMs() + minutes * MINUTE_MS;
  while (f.clock.monotonicMs() < endMs) {
    await expect(repairJob.repair(f.jobs.get('job-1'), 0)).resolves.toBe('alive');
    for (const { batchNo } of queue.sent.splice(0))
      if (batchNo === 0) sentAfter.push(Math.round(f.clock.monotonicMs() / LOOK_MS) * (LOOK_MS / MINUTE_MS));
    await f.clock.advance(LOOK_MS);
  }
};

/** A look that comes a hair too early costs half a minute, and each later distance doubles what it cost. */
const after = (...minutes: number[]) => minutes.map((minute) => f.clock.about(minute, minute / 15));

onEachClock('a job that waits in a queue that is never empty', () => {
  it('In spite of visible messages once enqueuedAt stood still for the stall timeout; a backlog of a day costs a batch eight messages', async () => {
    await lookFor(26 * 60);
    expect(sentAfter).toEqual(after(10, 21, 43, 87, 175, 351, 703, 1_407));
  });

  it('begins anew with a batch that was claimed and handed back between two looks', async () => {
    await lookFor(45);
    const written = await batches.claim({ jobId: 'job-1', batchNo: 0, run: 1 }, { claimId: 'c', lockedBy: 'another' });
    if (written.kind === 'refused') throw new Error('refused');
    await batches.release({ jobId: 'job-1', batchNo: 0, run: 1, lockToken: written.batch.lockToken });
    await lookFor(11);
    expect(sentAfter).toEqual(after(10, 21, 43, 55));
  });

  it('begins anew with a batch that was taken from its holder', async () => {
    await lookFor(45);
    await batches.claim({ jobId: 'job-1', batchNo: 0, run: 1 }, { claimId: 'c', lockedBy: 'another' });
    await lookFor(5);
    await batches.reclaim(batches.get(0), { reclaimId: 'r', attempts: 1, lastError: 'silent' });
    await lookFor(11);
    expect(sentAfter).toEqual(after(10, 21, 43, 60));
  });

  it('Lost only if due: its wait begins when its turn comes, not when its row was written', async () => {
    f.jobs.put({ ...f.jobs.get('job-1'), sentBatches: 0 });
    for (let look = 0; look < 60; look++) {
      await expect(repairJob.repair(f.jobs.get('job-1'), 0)).resolves.toMatch(/alive|quiet/);
      await f.clock.advance(LOOK_MS);
    }
    expect(queue.sent).toEqual([]);
    f.jobs.put({ ...f.jobs.get('job-1'), sentBatches: 2 });
    await lookFor(45);
    // Give or take a look: its limits fall on one.
    expect(sentAfter.map((at, index) => Math.abs(at - ([40, 51, 73][index] ?? 0)) < 2)).toEqual([true, true, true]);
  });

  it('gets what is lost at once when the queue runs empty, however long it has waited', async () => {
    await lookFor(100);
    queue.empty = true;
    await lookFor(1);
    expect(sentAfter.at(-1)).toBe(100);
  });
});
