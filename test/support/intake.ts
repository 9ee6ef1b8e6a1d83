import { EnqueueBatchesUseCase } from '../../src/batches/application/enqueue-batches.use-case.js';
import { JobBatchesAdapter } from '../../src/batches/adapters/job-batches.adapter.js';
import type { ExportRequest } from '../../src/intake/domain/export-request.js';
import { CancelJobUseCase } from '../../src/export-jobs/application/cancel-job.use-case.js';
import { CompleteJobUseCase } from '../../src/export-jobs/application/complete-job.use-case.js';
import { ReopenJobUseCase } from '../../src/export-jobs/application/reopen-job.use-case.js';
import { SettleTokenService } from '../../src/export-jobs/application/settle-token.service.js';
import { TaskHeartbeatService } from '../../src/export-jobs/application/task-heartbeat.service.js';
import { AcceptJobUseCase } from '../../src/intake/application/accept-job.use-case.js';
import { ExpandJobUseCase } from '../../src/intake/application/expand-job.use-case.js';
import { ExpansionTurns } from '../../src/intake/application/expansion-turns.js';
import { OpenLists } from '../../src/intake/application/open-lists.js';
import { PlanExpansionUseCase } from '../../src/intake/application/plan-expansion.use-case.js';
import { RejectMessageUseCase } from '../../src/intake/application/reject-message.use-case.js';
import { FakeBatchQueue } from './fakes/fake-batch-ports.js';
import { FakeDeadLetters, FakeDestinations, FakeManifest, FakeSegmentWriter } from './fakes/fake-intake-ports.js';
import { FakeJobResults } from './fakes/fake-job-ports.js';
import { FakeStepFunctions } from './fakes/fake-step-functions.js';
import { Gate } from './fakes/gate.js';
import { InMemoryBatchRepository } from './fakes/in-memory-batch-repository.js';
import { InMemoryJobStateRepository } from './fakes/in-memory-job-state-repository.js';
import { RecordingLogger } from './fakes/recording-logger.js';
import { RecordingMetrics } from './fakes/recording-metrics.js';
import { newClock } from './each-clock.js';
import { aJobWindow } from './job-window.js';

/** Everything that takes a job message in, on fakes that share one gate. `expander(batchSize)` is one of another process. */
export function anIntake({ heartbeatEnabled = true, maxBeatsPerSecond = Infinity, maxOpenLists = 128 } = {}) {
  const gate = new Gate();
  const clock = newClock();
  const logger = new RecordingLogger();
  const metrics = new RecordingMetrics();
  const jobs = new InMemoryJobStateRepository(gate, clock);
  const batches = new InMemoryBatchRepository(gate, clock);
  const results = new FakeJobResults(gate);
  const stepFunctions = new FakeStepFunctions(gate);
  const queue = new FakeBatchQueue(gate);
  const manifest = new FakeManifest(gate);
  const segments = new FakeSegmentWriter(gate);
  const deadLetters = new FakeDeadLetters();
  const destinations = new FakeDestinations();
  const settler = new SettleTokenService(stepFunctions, clock, logger, metrics);
  const jobBatches = new JobBatchesAdapter(batches, queue, clock);
  const completeJob = new CompleteJobUseCase(jobs, jobBatches, results, settler, clock, logger, metrics);
  const cancelJob = new CancelJobUseCase(jobs, jobBatches, completeJob, logger, metrics);
  const heartbeats = new TaskHeartbeatService({ maxBeatsPerSecond }, stepFunctions, jobs, cancelJob, clock, logger, metrics);
  const { coordinators, counter, topUpJob, window } = aJobWindow({ jobs, jobBatches, logger });
  const enqueueBatches = new EnqueueBatchesUseCase(batches, jobBatches, counter, window);
  const capacity = { turns: new ExpansionTurns(4), lists: new OpenLists(maxOpenLists, clock) };
  const expander = (batchSize: number) => {
    const planExpansion = new PlanExpansionUseCase({ jobs, manifests: manifest, segments, clock }, capacity, { batchSize }, logger);
    return new ExpandJobUseCase(planExpansion, capacity, { jobs, batches: enqueueBatches, completeJob, topUpJob, clock, logger });
  };
  const reopenJob = new ReopenJobUseCase(jobs, jobBatches, logger);
  const acceptJob = new AcceptJobUseCase(jobs, results, destinations, heartbeats, settler, reopenJob, { heartbeatEnabled }, clock, logger);
  const rejectMessage = new RejectMessageUseCase(settler, deadLetters, logger, metrics);
  const ports = {
    coordinators,
    window,
    gate,
    clock,
    logger,
    metrics,
    jobs,
    batches,
    results,
    stepFunctions,
    queue,
    manifest,
    segments,
    deadLetters,
    destinations,
    capacity,
    heartbeats,
  };
  /** What becomes of a message once its token is answered, where that is what is left to do. */
  const acceptAndAnswer = async (request: ExportRequest, signal: AbortSignal): Promise<'expand' | 'acknowledge'> => {
    const accepted = await acceptJob.accept(request, signal);
    if (typeof accepted === 'string') return accepted;
    if ('answer' in accepted) {
      await accepted.answer();
      return 'acknowledge';
    }
    await accepted.saveAgain();
    return 'expand';
  };
  const useCases = { completeJob, cancelJob, reopenJob, enqueueBatches, acceptJob, expandJob: expander(5), rejectMessage };
  return { ...ports, ...useCases, expander, acceptAndAnswer };
}
