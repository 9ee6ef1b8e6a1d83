import { maskUrl } from '../../shared/index.js';
import type { ExportJobEntity, JobError, JobStatus, ResultsNotWritten } from './export-job.entity.js';

/** Step Functions' limits. */
const MAX_ERROR_CODE_POINTS = 256;
const MAX_CAUSE_BYTES = 32_768;
/** Of one failure in a cause: a URL may be so long that neither it nor any failure after it would fit. */
const MAX_URL_BYTES = 2_048;
const MAX_MESSAGE_BYTES = 300;

/** One failed task as an answer or a person sees it. */
export interface FailedTask {
  index: number;
  url: string;
  key: string;
  code: string;
  message: string | null;
}

/** The result that the next state gets: pointers, not lists, so that it always fits 262,144 bytes. */
export interface JobSummary {
  jobId: string;
  exportId: string;
  userId: string;
  status: JobStatus;
  totalTasks: number;
  completedTasks: number;
  failedTasks: number;
  bytesProcessed: number;
  startedAt: string;
  completedAt: string;
  attempt: number;
  result: { bucket: string; key: string | null };
  /** Only when there is no `result.key` because S3 did not take the results. */
  resultsNotWritten?: ResultsNotWritten | undefined;
  metadata: Readonly<Record<string, unknown>>;
}

export function summarize(job: ExportJobEntity, resultKey: string | undefined): JobSummary {
  return {
    jobId: job.jobId,
    exportId: job.exportId,
    userId: job.userId,
    status: job.outcome?.status ?? job.status,
    totalTasks: job.plan?.totalTasks ?? 0,
    completedTasks: job.completedTasks,
    failedTasks: job.failedTasks,
    bytesProcessed: job.bytesProcessed,
    startedAt: job.createdAt,
    completedAt: job.completedAt ?? job.outcome?.decidedAt ?? job.updatedAt,
    attempt: job.attempt,
    result: { bucket: job.destination.bucket, key: resultKey ?? null },
    ...(job.resultsNotWritten === undefined ? {} : { resultsNotWritten: job.resultsNotWritten }),
    metadata: job.metadata ?? {},
  };
}

/** `error` and `cause` of SendTaskFailure: cause is valid JSON of at most 32,768 bytes, with as many failures as fit. */
export function failureAnswer(
  failure: JobError,
  summary: JobSummary | { jobId: string | null; resultsNotWritten?: undefined },
  failures: readonly FailedTask[] = [],
): { error: string; cause: string } {
  const message = cutToJsonBytes(failure.message, MAX_CAUSE_BYTES / 4) + missingResults(summary);
  const base = { message, ...summary };
  let shown: FailedTask[] = [];
  let cause = JSON.stringify({ ...base, failures: shown });
  for (const task of failures) {
    const url = cutToJsonBytes(maskUrl(task.url), MAX_URL_BYTES);
    const message = task.message === null ? null : cutToJsonBytes(task.message, MAX_MESSAGE_BYTES);
    const more = [...shown, { ...task, url, message }];
    const longer = JSON.stringify({ ...base, failures: more });
    if (byteLength(longer) > MAX_CAUSE_BYTES) break;
    shown = more;
    cause = longer;
  }
  return { error: Array.from(failure.code).slice(0, MAX_ERROR_CODE_POINTS).join(''), cause };
}

function missingResults(summary: Pick<JobSummary, 'resultsNotWritten'>): string {
  if (summary.resultsNotWritten === undefined) return '';
  const { bucket, key, code } = summary.resultsNotWritten;
  return ` ResultsNotWritten: no list of files could be written (${code} at s3://${bucket}/${key}); the counts are right.`;
}

const encoder = new TextEncoder();

function byteLength(text: string): number {
  return encoder.encode(text).byteLength;
}

/** Cuts between code points, never inside one, to so many bytes as they stand in JSON: an escape takes up to twelve. */
function cutToJsonBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let kept = '';
  for (const point of text) {
    bytes += byteLength(JSON.stringify(point)) - 2;
    if (bytes > maxBytes) return `${kept}…`;
    kept += point;
  }
  return text;
}
