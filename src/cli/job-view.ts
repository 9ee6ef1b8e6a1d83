import { failedManifestKey, type ExportJobEntity, type JobInHand } from '../export-jobs/index.js';
import type { Progress } from './presentation/index.js';

/** A job as commands show it: never its token, its request, or its bookkeeping. */
export function viewOf(job: ExportJobEntity) {
  const { bucket, prefix } = job.destination;
  return {
    jobId: job.jobId,
    exportId: job.exportId,
    userId: job.userId,
    status: job.status,
    totalTasks: job.plan?.totalTasks ?? null,
    repeatedTasks: job.plan?.repeatedTasks ?? 0,
    completedTasks: job.completedTasks,
    failedTasks: job.failedTasks,
    bytesProcessed: job.bytesProcessed,
    run: job.run,
    attempt: job.attempt,
    createdAt: job.createdAt,
    lastProgressAt: job.lastProgressAt,
    lastHeartbeatAt: job.lastHeartbeatAt ?? null,
    completedAt: job.completedAt ?? null,
    outcome: job.outcome?.status ?? null,
    error: job.error ?? job.outcome?.error ?? null,
    callback: job.callback ?? null,
    resultsNotWritten: job.resultsNotWritten ?? null,
    files: `s3://${bucket}/${prefix}`,
    manifest: job.resultKey === undefined ? null : `s3://${bucket}/${job.resultKey}`,
    failedManifest:
      job.resultKey === undefined || job.failedTasks === 0
        ? null
        : `s3://${bucket}/${failedManifestKey(job.destination, job.jobId, job.run)}`,
  };
}

/** From its acceptance until its end, or until now. */
export function durationMs(job: ExportJobEntity, nowMs = Date.now()): number {
  return Math.max(0, (job.completedAt === undefined ? nowMs : Date.parse(job.completedAt)) - Date.parse(job.createdAt));
}

export function progressOf(job: ExportJobEntity, { bytesInHand, waits }: JobInHand): Progress {
  return {
    label: job.status,
    completed: job.completedTasks,
    failed: job.failedTasks,
    total: job.plan?.totalTasks,
    bytes: job.bytesProcessed + bytesInHand,
    ...(waits.length > 0 && { waits: describeWaits(waits, (until) => `${until.slice(11, 19)} Z`) }),
  };
}

/** `h.test until …`, the longest wait alone where there are several. */
export function describeWaits([longest, ...others]: JobInHand['waits'], timeOf: (until: string) => string): string {
  if (longest === undefined) return '';
  const more = others.length === 0 ? '' : ` and ${others.length} more ${others.length === 1 ? 'host' : 'hosts'}`;
  return `${longest.host}${more} until ${timeOf(longest.until)}`;
}

export function noSuchJob(jobId: string): string {
  return `There is no job ${jobId}: check the id; a job just submitted is there once the service has accepted it`;
}
