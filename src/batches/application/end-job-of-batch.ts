import {
  DESTINATION_REFUSED,
  destinationRefusedEnd,
  isCounting,
  type CompleteJobUseCase,
  type ExportJobEntity,
} from '../../export-jobs/index.js';
import { type AppError, type AppLogger } from '../../shared/index.js';

/**
 * No holder could ever bring this batch to its end: its job ends at once and says why, rather than after everyone's tries and without a
 * reason. Nobody waits for that end: it waits for Step Functions. One that fails is begun anew by who next meets the batch.
 */
export function endJobOfBatch(
  services: { completeJob: CompleteJobUseCase; logger: AppLogger },
  batch: { jobId: string; batchNo: number; run: number },
  error: AppError,
): void {
  const { jobId, batchNo, run } = batch;
  const isStill = (job: ExportJobEntity): boolean => isCounting(job.status) && job.run === run;
  const end = error.code === DESTINATION_REFUSED ? refuse : stall;
  end(services, batch, error, isStill).catch((failure: unknown) =>
    services.logger.retrying('the end of a job whose batch cannot end', failure, { jobId, batchNo, next: 'the batch comes again' }),
  );
}

type End = (
  services: { completeJob: CompleteJobUseCase; logger: AppLogger },
  batch: { jobId: string; batchNo: number },
  error: AppError,
  isStill: (job: ExportJobEntity) => boolean,
) => Promise<void>;

const refuse: End = async ({ completeJob, logger }, { jobId, batchNo }, { message }, isStill) => {
  logger.error('The destination refuses what a batch must write or read there; its job ends', { jobId, batchNo, reason: message });
  await completeJob.fail(jobId, destinationRefusedEnd(message), isStill);
};

const stall: End = async ({ completeJob }, { jobId, batchNo }, { message }, isStill) => {
  const reason =
    `Batch ${batchNo} can never run: ${message}. The segments under input/ are needed until their job ends: look for what removes or ` +
    'changes them (a lifecycle rule, a clean-up), then start a new execution.';
  await completeJob.stall(jobId, reason, isStill, { batchNo, reason: message });
};
