import { failedManifestKey, isTerminal, type ExportJobEntity, type JobInHand } from '../export-jobs/index.js';
import { counted } from '../shared/index.js';
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

/** Of a list. */
export function describeRepeats(count: number): string {
  const lines = count === 1 ? '1 line of the list was' : `${count} lines of the list were`;
  return `${lines} there before: each file counts once`;
}

/** Of its present run: from its acceptance, or reopening, until its end, or until now. */
export function durationMs(job: ExportJobEntity, nowMs = Date.now()): number {
  const { createdAt, reopened, completedAt } = job;
  return Math.max(0, (completedAt === undefined ? nowMs : Date.parse(completedAt)) - Date.parse(reopened?.at ?? createdAt));
}

export function progressOf(job: ExportJobEntity, { bytesInHand, waits }: JobInHand): Progress {
  return {
    label: job.status,
    completed: job.completedTasks,
    failed: job.failedTasks,
    total: job.plan?.totalTasks,
    bytes: job.bytesProcessed + bytesInHand,
    ...(waits.length > 0 && { waits: shortWaits(waits) }),
    ended: isTerminal(job.status),
  };
}

/** `h.test until …`, the longest wait alone where there are several. */
export function describeWaits([longest, ...others]: JobInHand['waits']): string {
  if (longest === undefined) return '';
  const more = others.length === 0 ? '' : ` and ${counted(others.length, 'more host')}`;
  return `${longest.host}${more} until ${longest.until}`;
}

/** The end of a host's name tells it from others. */
const HOST_WIDTH = 16;

/** The same for a line of 80 columns: `…a.example:8080 +2 until 12:34:56 Z`. */
function shortWaits([longest, ...others]: JobInHand['waits']): string {
  if (longest === undefined) return '';
  const host = longest.host.length > HOST_WIDTH ? `…${longest.host.slice(1 - HOST_WIDTH)}` : longest.host;
  return `${host}${others.length === 0 ? '' : ` +${others.length}`} until ${longest.until.slice(11, 19)} Z`;
}

/** Fewer characters of an id would mean too many jobs. */
export const SHORTEST_BEGINNING = 4;
/** The mend for an id that is too short. */
export const LONGER_ID = `give the whole id, or at least its first ${SHORTEST_BEGINNING} characters`;

export function noSuchJob(jobId: string): string {
  if (jobId.length < SHORTEST_BEGINNING) return `There is no job ${jobId}: ${LONGER_ID} (jobs --all lists them)`;
  return `There is no job ${jobId}: check the id (jobs --all lists them); a job just submitted is there once the service has accepted it, and one that it refused is never: its execution says why`;
}

/** A job that no service has accepted yet. */
export const WAITING: Progress = { label: 'NOT ACCEPTED YET', completed: 0, failed: 0, bytes: 0 };
