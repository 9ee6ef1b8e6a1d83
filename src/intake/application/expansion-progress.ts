import type { ExportJobEntity, JobStateRepositoryPort } from '../../export-jobs/index.js';
import type { Clock } from '../../shared/index.js';

/** While a long manifest is read, the job says so this often. */
const STAMP_INTERVAL_MS = 10_000;

/** Stamps the row of a job that is being expanded, and learns from it when the job is over: cancelled, ended or reopened. */
export class ExpansionProgress {
  private readonly ended = new AbortController();
  private lastStampAt;

  constructor(
    private readonly job: ExportJobEntity,
    private readonly jobs: Pick<JobStateRepositoryPort, 'touchProgress'>,
    private readonly clock: Clock,
  ) {
    this.lastStampAt = clock.monotonicMs();
  }

  /** Aborted once the job is not PROCESSING in this run any more: nobody wants this expansion. */
  get over(): AbortSignal {
    return this.ended.signal;
  }

  /** At most once an interval; a failing stamp costs nothing but the stamp. */
  stamp(): void {
    if (this.clock.monotonicMs() - this.lastStampAt < STAMP_INTERVAL_MS) return;
    this.lastStampAt = this.clock.monotonicMs();
    void this.touch();
  }

  private async touch(): Promise<void> {
    const stamped = await this.jobs.touchProgress(this.job.jobId, this.job.run).catch(() => undefined);
    if (stamped?.kind === 'refused') this.ended.abort();
  }
}
