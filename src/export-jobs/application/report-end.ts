import type { AppLogger, LogFields, Metrics } from '../../shared/index.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';
import { JobStateVO } from '../domain/job-state.vo.js';

/** Counts the end of a job, and says it. */
export function reportEnd(
  { logger, metrics }: { logger: AppLogger; metrics: Metrics },
  job: ExportJobEntity,
  fields: LogFields = {},
): void {
  metrics.increment('jobs_total', { status: job.status });
  logger.info(`Job ended: ${job.status}`, {
    jobId: job.jobId,
    run: job.run,
    callback: job.callback,
    progress: JobStateVO.of(job).progress,
    failedTasks: job.failedTasks,
    bytesProcessed: job.bytesProcessed,
    ...(job.error === undefined ? {} : { errorCode: job.error.code }),
    ...fields,
  });
}
