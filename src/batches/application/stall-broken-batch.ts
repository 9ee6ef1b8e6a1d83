import { isCounting, type CompleteJobUseCase, type ExportJobEntity } from '../../export-jobs/index.js';
import { toLoggable, type AppError, type AppLogger } from '../../shared/index.js';

/**
 * No holder could ever run this batch: its job ends at once and says why, rather than after everyone's tries and without a reason.
 * Nobody waits for that end: it waits for Step Functions. One that fails is begun anew by who next meets the batch.
 */
export function stallBrokenBatch(
  { completeJob, logger }: { completeJob: CompleteJobUseCase; logger: AppLogger },
  { jobId, batchNo, run }: { jobId: string; batchNo: number; run: number },
  { message }: AppError,
): void {
  const reason =
    `Batch ${batchNo} can never run: ${message}. The segments under input/ are needed until their job ends: look for what removes or ` +
    'changes them (a lifecycle rule, a clean-up), then start a new execution.';
  const isStill = (job: ExportJobEntity): boolean => isCounting(job.status) && job.run === run;
  completeJob
    .stall(jobId, reason, isStill, { batchNo, reason: message })
    .catch((error: unknown) =>
      logger.warn('A job with a broken batch could not be ended yet', { jobId, batchNo, error: toLoggable(error) }),
    );
}
