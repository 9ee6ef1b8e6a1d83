import { CancelJobUseCase } from '../../src/export-jobs/application/cancel-job.use-case.js';
import { CompleteJobUseCase } from '../../src/export-jobs/application/complete-job.use-case.js';
import type { BatchSummary } from '../../src/export-jobs/application/job-batches.port.js';
import { SettleTokenService } from '../../src/export-jobs/application/settle-token.service.js';
import { START_ISO } from './builders.js';
import { FakeJobBatches, FakeJobResults } from './fakes/fake-job-ports.js';
import { FakeStepFunctions } from './fakes/fake-step-functions.js';
import { Gate } from './fakes/gate.js';
import { InMemoryJobStateRepository } from './fakes/in-memory-job-state-repository.js';
import { RecordingLogger } from './fakes/recording-logger.js';
import { RecordingMetrics } from './fakes/recording-metrics.js';
import { newClock } from './each-clock.js';

/** Everything that ends jobs, on fakes that share one gate. `another()` is a second process on the same tables. */
export function aFinisher() {
  const gate = new Gate();
  const clock = newClock();
  const logger = new RecordingLogger();
  const metrics = new RecordingMetrics();
  const jobs = new InMemoryJobStateRepository(gate, clock);
  const batches = new FakeJobBatches(gate);
  const results = new FakeJobResults(gate);
  const stepFunctions = new FakeStepFunctions(gate);
  const settler = new SettleTokenService(stepFunctions, clock, logger, metrics);
  const another = () => new CompleteJobUseCase(jobs, batches, results, settler, clock, logger, metrics);
  const completeJob = another();
  const cancelJob = new CancelJobUseCase(jobs, batches, completeJob, logger, metrics);
  return { gate, clock, logger, metrics, jobs, batches, results, stepFunctions, settler, completeJob, cancelJob, another };
}

/** A batch of run 1 that succeeded, as its job sees it. */
export function aSummary(batchNo: number, over: Partial<BatchSummary> = {}): BatchSummary {
  const succeeded = { key: `SUCCEEDED_${batchNo}`, size: 1 };
  const failed = { key: `FAILED_${batchNo}`, size: 1 };
  return {
    batchNo,
    run: 1,
    status: 'succeeded',
    segmentKey: `segment-${batchNo}`,
    completed: 5,
    failed: 0,
    bytes: 50,
    totalTasks: 5,
    lockToken: 1,
    enqueuedAt: START_ISO,
    resultKeys: { succeeded, failed },
    ...over,
  };
}
