import type { ExportJobEntity, JobStateRepositoryPort } from '../../export-jobs/index.js';
import type { Clock } from '../../shared/index.js';

/** How often the row of a job that is being expanded is stamped or, without progress, looked at. */
const LOOK_INTERVAL_MS = 10_000;

/**
 * Watches the row of a job that is being expanded, whatever its source does meanwhile. After
 * progress the row is stamped; without progress it is only read, because a source that says nothing
 * must not keep its job alive. Either way it tells when the job is over: cancelled, ended or
 * reopened.
 */
export class ExpansionProgress {
  private readonly jobOver = new AbortController();
  private readonly ended = new AbortController();
  private hasMoved = false;
  private lines = 0;

  constructor(
    private readonly job: ExportJobEntity,
    private readonly jobs: Pick<JobStateRepositoryPort, 'find' | 'touchProgress'>,
    private readonly clock: Clock,
  ) {
    void this.watch();
  }

  /** Aborted once the job is not PROCESSING in this run any more: nobody wants this expansion. */
  get over(): AbortSignal {
    return this.jobOver.signal;
  }

  /** Bytes of the list came, or something was written. */
  moved(): void {
    this.hasMoved = true;
  }

  /**
   * Waiting in line counts as progress: the job waits for capacity that exists, and must not fail
   * because others are before it.
   */
  async whileInLine<T>(wait: Promise<T>): Promise<T> {
    this.lines++;
    try {
      return await wait;
    } finally {
      this.lines--;
    }
  }

  /**
   * Stamps the row of a job that leaves this process while it waits, because it may leave, and wait
   * anew, before each next stamp. False: the job is over, and nobody else need have it.
   */
  async stamp(): Promise<boolean> {
    if (await this.isOver()) this.jobOver.abort();
    return !this.jobOver.signal.aborted;
  }

  /** No look begins any more. */
  end(): void {
    this.ended.abort();
  }

  private async watch(): Promise<void> {
    const { signal } = this.ended;
    for (;;) {
      await this.clock.sleep(LOOK_INTERVAL_MS, signal);
      if (signal.aborted) return;
      if (await this.isOver()) return this.jobOver.abort();
    }
  }

  /** A look or a stamp that fails costs nothing but itself: the next one tells. */
  private async isOver(): Promise<boolean> {
    const { jobId, run } = this.job;
    try {
      if (this.hasMoved || this.lines > 0) {
        this.hasMoved = false;
        return (await this.jobs.touchProgress(jobId, run)).kind === 'refused';
      }
      const job = await this.jobs.find(jobId);
      return job?.status !== 'PROCESSING' || job.run !== run;
    } catch {
      return false;
    }
  }
}
