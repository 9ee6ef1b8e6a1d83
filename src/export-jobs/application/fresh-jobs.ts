import type { MonotonicMs } from '../../shared/index.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';

interface FreshJob {
  job: ExportJobEntity;
  since: MonotonicMs;
}

/**
 * Jobs that this process has accepted, or given another token, so lately that no look may have found them yet. An outage of the tables
 * that begins now would leave them without a beat, because every turn beats what the last look found: so they are beaten from here.
 *
 * A job is kept until this process has found it as its own, or has looked a whole interval after its acceptance: by then its owner,
 * which looks as often, has found it.
 */
export class FreshJobs {
  private readonly jobs = new Map<string, FreshJob>();

  add(job: ExportJobEntity, now: MonotonicMs): void {
    this.jobs.set(job.jobId, { job, since: now });
  }

  /** Its execution is gone. */
  drop(jobId: string, taskToken: string): void {
    if (this.jobs.get(jobId)?.job.taskToken === taskToken) this.jobs.delete(jobId);
  }

  /** @param lookAt when a look began that has succeeded, and found `mine` */
  noteLook(mine: readonly ExportJobEntity[], lookAt: MonotonicMs, intervalMs: number): void {
    const found = new Set(mine.map(({ jobId }) => jobId));
    for (const [jobId, { since }] of this.jobs)
      if ((found.has(jobId) && lookAt > since) || lookAt >= since + intervalMs) this.jobs.delete(jobId);
  }

  list(): ExportJobEntity[] {
    return Array.from(this.jobs.values(), ({ job }) => job);
  }

  /** The jobs of a look with what is newer than that look; an older token of the same job would be beaten in vain. */
  over(mine: readonly ExportJobEntity[]): ExportJobEntity[] {
    return [...mine.filter(({ jobId }) => !this.jobs.has(jobId)), ...this.list()];
  }
}
