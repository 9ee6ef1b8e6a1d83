import { JobBatchesAdapter } from '../../src/batches/adapters/job-batches.adapter.js';
import { ClaimBatchUseCase } from '../../src/batches/application/claim-batch.use-case.js';
import { LeaseService } from '../../src/batches/application/lease.service.js';
import { ReleaseBatchUseCase } from '../../src/batches/application/release-batch.use-case.js';
import type { Segment } from '../../src/batches/application/batch-files.port.js';
import { RunBatchUseCase } from '../../src/batches/application/run-batch.use-case.js';
import { BatchWorkService } from '../../src/batches/application/batch-work.service.js';
import { WorkSigns } from '../../src/batches/application/work-signs.js';
import { TaskDispatcherService } from '../../src/batches/application/task-dispatcher.service.js';
import { CompleteJobUseCase } from '../../src/export-jobs/application/complete-job.use-case.js';
import { SettleTokenService } from '../../src/export-jobs/application/settle-token.service.js';
import { aBatch, aJob, aPlan, aSegment } from './builders.js';
import { FakeBatchFiles, FakeBatchQueue } from './fakes/fake-batch-ports.js';
import { FakeJobResults } from './fakes/fake-job-ports.js';
import { FakeStepFunctions } from './fakes/fake-step-functions.js';
import { FakeTransferPool } from './fakes/fake-transfer-pool.js';
import { Gate } from './fakes/gate.js';
import { InMemoryBatchRepository } from './fakes/in-memory-batch-repository.js';
import { InMemoryJobStateRepository } from './fakes/in-memory-job-state-repository.js';
import { RecordingLogger } from './fakes/recording-logger.js';
import { RecordingMetrics } from './fakes/recording-metrics.js';
import { settled, type FakeClock } from './fake-clock.js';
import { newClock } from './each-clock.js';
import { aJobWindow } from './job-window.js';

export const BATCH_BEAT_MS = 10_000;
export const BATCH_TTL_MS = 90_000;
export const WORK_LIMIT_MS = 120_000;
export const BATCH_MESSAGE = { jobId: 'job-1', batchNo: 0, run: 1 };

/**
 * Tables, queue and objects with one job of one queued batch of five tasks. `process()` is one coordinator on them.
 * @param made what became of the batch's segment
 */
export function aBatchWorld(made: (segment: Segment) => Segment = (segment) => segment) {
  const gate = new Gate();
  const clock = newClock();
  const logger = new RecordingLogger();
  const jobs = new InMemoryJobStateRepository(gate, clock).put(aJob({ plan: aPlan({ totalTasks: 5, batchCount: 1 }) }));
  const batches = new InMemoryBatchRepository(gate, clock).put(aBatch());
  const files = new FakeBatchFiles(made(aSegment()), gate);
  const queue = new FakeBatchQueue(gate);
  const stepFunctions = new FakeStepFunctions(gate);
  const process = (coordinatorId = 'me', places = 8) =>
    aHolder({ gate, clock, logger, jobs, batches, files, queue, stepFunctions }, coordinatorId, places);
  return { gate, clock, logger, jobs, batches, files, queue, stepFunctions, process };
}

export interface HolderPorts {
  gate: Gate;
  clock: FakeClock;
  logger: RecordingLogger;
  jobs: InMemoryJobStateRepository;
  batches: InMemoryBatchRepository;
  files: FakeBatchFiles;
  queue: FakeBatchQueue;
  stepFunctions: FakeStepFunctions;
  results?: FakeJobResults;
}

/** One coordinator that works on batches. */
export function aHolder(ports: HolderPorts, coordinatorId: string, places: number, maxConnectionsPerHost = 10_000) {
  const { gate, clock, logger, jobs, batches, files, queue, stepFunctions, results = new FakeJobResults(gate) } = ports;
  const jobBatches = new JobBatchesAdapter(batches, queue, clock);
  const { counter, endsCounted, ...window } = aJobWindow({ jobs, jobBatches, logger });
  const leases = new LeaseService(batches, clock);
  const metrics = new RecordingMetrics();
  const pool = new FakeTransferPool(places);
  const signs = new WorkSigns(clock);
  const dispatcher = new TaskDispatcherService(pool, { taskMaxAttempts: 4, maxConnectionsPerHost }, { signs, clock, logger, metrics });
  const settler = new SettleTokenService(stepFunctions, clock, logger, metrics);
  const completeJob = new CompleteJobUseCase(jobs, jobBatches, results, settler, clock, logger, metrics);
  const countBatchEnd = endsCounted(completeJob);
  const runBatch = new RunBatchUseCase(
    { coordinatorId, heartbeatIntervalMs: BATCH_BEAT_MS, ttlMs: { download: BATCH_TTL_MS } },
    new ClaimBatchUseCase(jobs, batches, countBatchEnd),
    files,
    dispatcher,
    new ReleaseBatchUseCase(leases, queue, clock, logger),
    completeJob,
    { leases, counter, countBatchEnd, completeJob, jobs, dispatcher, signs, clock, logger, metrics },
  );
  /** Receives the batch's message; the answer is what `run` answers. */
  const receive = (message = BATCH_MESSAGE) => runBatch.run(message, () => gate.pass('deleteMessage', () => undefined));
  /** Receives it and lets everything happen that needs no time: the tasks run. */
  const begin = async () => {
    const run = receive();
    await settled();
    return { run };
  };
  const drain = (finishMs = 15_000, releaseMs = 21_000) =>
    runBatch.drain({ finishByMs: clock.monotonicMs() + finishMs, releaseByMs: clock.monotonicMs() + releaseMs });
  const work = new BatchWorkService({ workLimitMs: WORK_LIMIT_MS }, signs, dispatcher, runBatch);
  return { ...window, counter, pool, runBatch, receive, begin, drain, dispatcher, signs, work };
}
