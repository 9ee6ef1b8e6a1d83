import { failedManifestKey, isTerminal, type ExportJobEntity } from '../export-jobs/index.js';
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
    completedTasks: job.completedTasks,
    failedTasks: job.failedTasks,
    bytesProcessed: job.bytesProcessed,
    run: job.run,
    attempt: job.attempt,
    createdAt: job.createdAt,
    reopenedAt: job.reopened?.at ?? null,
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

/** Of its present run: from its acceptance, or reopening, until its end, or until now. */
export function durationMs(job: ExportJobEntity, nowMs = Date.now()): number {
  const { createdAt, reopened, completedAt } = job;
  return Math.max(0, (completedAt === undefined ? nowMs : Date.parse(completedAt)) - Date.parse(reopened?.at ?? createdAt));
}

export function progressOf(job: ExportJobEntity): Progress {
  return {
    label: job.status,
    completed: job.completedTasks,
    failed: job.failedTasks,
    total: job.plan?.totalTasks,
    bytes: job.bytesProcessed,
    ended: isTerminal(job.status),
  };
}

export function noSuchJob(jobId: string): string {
  return `There is no job ${jobId}: check the id (jobs --all lists them); a job just submitted is there once the service has accepted it`;
}

/** A job that no service has accepted yet. */
export const WAITING: Progress = { label: 'WAITING', completed: 0, failed: 0, bytes: 0 };
