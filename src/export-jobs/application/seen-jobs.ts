import type { MonotonicMs } from '../../shared/index.js';
import type { JobSeen } from '../domain/decide-heartbeat.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';

interface Memory extends JobSeen {
  status: string;
  lease: string;
  progress: string;
}

/** Looks that come later than so many intervals leave a time in which nothing was seen. */
const BLIND_INTERVALS = 3;

/** What this process has seen of its jobs, on its own monotonic clock. Jobs that are not looked at any more are forgotten. */
export class SeenJobs {
  private memory = new Map<string, Memory>();
  private lookedAt: MonotonicMs | undefined;

  constructor(private readonly intervalMs: number) {}

  look(jobs: readonly ExportJobEntity[], now: MonotonicMs): void {
    const blindMs = this.blindMs(now);
    this.lookedAt = now;
    const before = this.memory;
    this.memory = new Map(jobs.map((job) => [job.jobId, remember(job, before.get(job.jobId), now, blindMs)]));
  }

  /** Jobs that no look has found yet count as seen from now on; the others keep what was seen of them. */
  meet(jobs: readonly ExportJobEntity[], now: MonotonicMs): void {
    for (const job of jobs) if (!this.memory.has(job.jobId)) this.memory.set(job.jobId, remember(job, undefined, now, 0));
  }

  /** A job that was not part of the last look counts as seen `now`. */
  of(jobId: string, now: MonotonicMs): JobSeen {
    return this.memory.get(jobId) ?? { statusSince: now, leaseSince: now, progressSince: now, aliveSince: now, cannotFinish: false };
  }

  /** @param at before the look that found the sign of life */
  noteAlive(jobId: string, at: MonotonicMs): void {
    const seen = this.memory.get(jobId);
    if (seen !== undefined) seen.aliveSince = Math.max(seen.aliveSince, at);
  }

  /** A finish of the job ended, or found that it cannot. */
  noteFinish(jobId: string, cannotFinish: boolean): void {
    const seen = this.memory.get(jobId);
    if (seen !== undefined) seen.cannotFinish = cannotFinish;
  }

  /** A process that was frozen, or could not read its table, has not seen anything unchanged meanwhile. */
  private blindMs(now: MonotonicMs): number {
    if (this.lookedAt === undefined) return 0;
    const sinceMs = now - this.lookedAt;
    return sinceMs > this.intervalMs * BLIND_INTERVALS ? sinceMs : 0;
  }
}

function remember(job: ExportJobEntity, before: Memory | undefined, now: MonotonicMs, blindMs: number): Memory {
  const status = `${job.status}/${job.run}`;
  const lease = leaseOf(job);
  const progress = `${job.run}/${job.lastProgressAt}`;
  const sinceIf = (isSame: boolean, since: MonotonicMs | undefined) =>
    isSame && since !== undefined ? Math.min(now, since + blindMs) : now;
  const progressSince = sinceIf(before?.progress === progress, before?.progressSince);
  const aliveSince = Math.max(progressSince, before === undefined ? now : Math.min(now, before.aliveSince + blindMs));
  const statusSince = sinceIf(before?.status === status, before?.statusSince);
  const leaseSince = sinceIf(before?.lease === lease, before?.leaseSince);
  const cannotFinish = before?.status === status && before.cannotFinish;
  return { status, lease, progress, statusSince, leaseSince, progressSince, aliveSince, cannotFinish };
}

/** What moves for as long as the finisher of a job lives. */
export function leaseOf({ status, run, finisher }: ExportJobEntity): string {
  return `${status}/${run}/${finisher?.id ?? ''}/${finisher?.seq ?? ''}`;
}
