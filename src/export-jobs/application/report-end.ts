import { withoutSecrets, type AppLogger, type LogFields, type Metrics } from '../../shared/index.js';
import type { ExportJobEntity, JobError } from '../domain/export-job.entity.js';
import { JobStateVO } from '../domain/job-state.vo.js';

const MAX_REASON = 500;

/** Counts the end of a job, and says it: a failed one as a warning. */
export function reportEnd(
  { logger, metrics }: { logger: AppLogger; metrics: Metrics },
  job: ExportJobEntity,
  fields: LogFields = {},
): void {
  metrics.increment('jobs_total', { status: job.status });
  logger[job.status === 'FAILED' ? 'warn' : 'info'](`Job ended: ${job.status}`, {
    jobId: job.jobId,
    exportId: job.exportId,
    run: job.run,
    callback: job.callback,
    progress: JobStateVO.of(job).progress,
    failedTasks: job.failedTasks,
    bytesProcessed: job.bytesProcessed,
    ...(job.error === undefined ? {} : { errorCode: job.error.code, reason: shortReason(job.error) }),
    ...fields,
  });
}

/** A manifest may be at fault in a hundred lines, each of which the job's row has. */
function shortReason({ message }: JobError): string {
  return withoutSecrets(message).slice(0, MAX_REASON);
}
