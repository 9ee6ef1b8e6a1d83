import { isCounting, type CompleteJobUseCase, type ExportJobEntity } from '../../export-jobs/index.js';
import { toLoggable, type AppError, type AppLogger } from '../../shared/index.js';

/*
 * Ends of jobs that no holder could ever bring to a good one, at once and with the reason, rather than after everyone's tries. Nobody
 * waits for such an end, because it waits for Step Functions. One that fails is begun anew by whoever next meets the batch.
 */

interface EndServices {
  completeJob: CompleteJobUseCase;
  logger: AppLogger;
}

interface MetBatch {
  jobId: string;
  batchNo: number;
  run: number;
}

/** The batch's segment is gone or is not what it should be. */
export function stallBrokenJob({ completeJob, logger }: EndServices, batch: MetBatch, { message }: AppError): void {
  const { jobId, batchNo } = batch;
  const reason =
    `Batch ${batchNo} can never run: ${message}. The segments under input/ are needed until their job ends: look for what removes or ` +
    'changes them (a lifecycle rule, a clean-up), then start a new execution.';
  logFailure(logger, batch, completeJob.stall(jobId, reason, isStillOfRun(batch), { batchNo, reason: message }));
}

/** The destination refuses one file after another. */
export function endRefusedJob({ completeJob, logger }: EndServices, batch: MetBatch, refusal: string): void {
  const message = `The destination refused one file after another: ${refusal}. The rest was not tried. Grant it, then start the execution again.`;
  logFailure(logger, batch, completeJob.fail(batch.jobId, { code: 'DestinationRefused', message }, isStillOfRun(batch)));
}

function isStillOfRun({ run }: MetBatch) {
  return (job: ExportJobEntity): boolean => isCounting(job.status) && job.run === run;
}

function logFailure(logger: AppLogger, { jobId, batchNo }: MetBatch, end: Promise<unknown>): void {
  end.catch((error: unknown) => logger.warn('A hopeless job could not be ended yet', { jobId, batchNo, error: toLoggable(error) }));
}
