import type { JobStateRepositoryPort } from '../../export-jobs/index.js';
import { Semaphore, type Clock, type MonotonicMs } from '../../shared/index.js';

/** Well below the time after which a job without progress is looked into. */
const STAMP_INTERVAL_MS = 30_000;
/** When no expansion has begun or ended for so long, those that run hang, and who waits for their places waits for nothing. */
const MOVING_MS = 10 * 60_000;

/**
 * Lets so many expansions run at a time. One that waits for its turn waits for capacity that exists: its row says so, or the job
 * would be taken for a stalled one. That holds for as long as places change hands.
 */
export class ExpansionTurns {
  private readonly places: Semaphore;
  private movedAt: MonotonicMs;

  constructor(
    concurrency: number,
    private readonly jobs: Pick<JobStateRepositoryPort, 'find' | 'touchProgress'>,
    private readonly clock: Clock,
  ) {
    this.places = new Semaphore(concurrency);
    this.movedAt = clock.monotonicMs();
  }

  /** Does not run `work` when the signal is aborted before its turn. */
  async run(jobId: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const begun = new AbortController();
    const stamping = this.stampUntil(jobId, AbortSignal.any([signal, begun.signal]));
    try {
      await this.places.run(signal, async () => {
        begun.abort();
        this.movedAt = this.clock.monotonicMs();
        await work().finally(() => {
          this.movedAt = this.clock.monotonicMs();
        });
      });
    } finally {
      begun.abort();
      await stamping;
    }
  }

  /** A stamp that fails costs nothing but the stamp. */
  private async stampUntil(jobId: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.clock.sleep(STAMP_INTERVAL_MS, signal);
      if (signal.aborted) return;
      if (this.clock.monotonicMs() - this.movedAt > MOVING_MS) continue;
      const job = await this.jobs.find(jobId).catch(() => undefined);
      if (job !== undefined) await this.jobs.touchProgress(jobId, job.run).catch(() => undefined);
    }
  }
}
