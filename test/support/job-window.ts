import { CountBatchEndUseCase } from '../../src/export-jobs/application/count-batch-end.use-case.js';
import type { CompleteJobUseCase } from '../../src/export-jobs/application/complete-job.use-case.js';
import type { JobBatchesPort } from '../../src/export-jobs/application/job-batches.port.js';
import { JobCounterService } from '../../src/export-jobs/application/job-counter.service.js';
import type { JobStateRepositoryPort } from '../../src/export-jobs/application/job-state-repository.port.js';
import { JobWindowService } from '../../src/export-jobs/application/job-window.service.js';
import { TopUpJobUseCase } from '../../src/export-jobs/application/top-up-job.use-case.js';
import type { AppLogger } from '../../src/shared/index.js';
import { FakeLiveCoordinators } from './fakes/fake-job-ports.js';

export const WINDOW_LIMITS = { maxInHand: 8, maxInHandTotal: 64 };

/** What sends the batches of jobs by and by, as one process has it. */
export function aJobWindow(
  { jobs, jobBatches, logger }: { jobs: JobStateRepositoryPort; jobBatches: JobBatchesPort; logger: AppLogger },
  coordinators = new FakeLiveCoordinators(),
) {
  const window = new JobWindowService(WINDOW_LIMITS, coordinators);
  const topUpJob = new TopUpJobUseCase(jobs, jobBatches, window, logger);
  const counter = new JobCounterService(jobs);
  const endsCounted = (completeJob: CompleteJobUseCase) => new CountBatchEndUseCase(counter, completeJob, topUpJob);
  return { coordinators, window, topUpJob, counter, endsCounted };
}
