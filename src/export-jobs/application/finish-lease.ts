import { type AppLogger, type Clock, type MonotonicMs } from '../../shared/index.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';
import type { JobStateRepositoryPort } from './job-state-repository.port.js';

/** Most finishes end before: then the lease costs no write. */
const RENEW_AFTER_MS = 20_000;
const RENEW_AGAIN_MS = 2_000;
/**
 * So long after its last renewal a holder begins no call with the token any more. Others wait FINALIZING_STUCK_MS (60 s): the 20 s in
 * between are for a call that is under way, which ends after 8 s at most.
 */
const LOCAL_FENCE_MS = 40_000;

/*
 * A finisher's timed right to answer the token of its job.
 *
 *   0 s   FINALIZING is written, or taken over: the lease counts from before that call
 *  20 s   renewed: `seq` + 1; so on every 20 s, and every 2 s after one that failed
 *  40 s   without a renewal: the local fence, no call with the token is begun any more
 *  60 s   whoever has seen (id, seq) unchanged for so long takes the lease over
 *
 * Each side measures on its own monotonic clock, so hosts whose clocks differ by hours change nothing.
 * Not guaranteed: a process that is paused for more than 20 s between its look at the fence and the bytes of its call may answer beside
 * the next holder. Step Functions refuses the second answer then.
 */
export class FinishLease {
  private readonly over = new AbortController();
  private readonly released = new AbortController();
  private readonly jobId: string;
  private readonly run: number;
  private readonly id: string;
  private seq: number;

  /**
   * @param job as the write of the lease returned it
   * @param since before that write was begun
   */
  constructor(
    job: ExportJobEntity,
    private since: MonotonicMs,
    private readonly tools: { jobs: Pick<JobStateRepositoryPort, 'renewFinish'>; clock: Clock; logger: AppLogger },
  ) {
    if (job.finisher === undefined) throw new Error(`Job ${job.jobId} has no finisher`);
    ({ jobId: this.jobId, run: this.run } = job);
    ({ id: this.id, seq: this.seq } = job.finisher);
    void this.renewUntilReleased();
  }

  /** Aborted when the lease is lost: nothing of this finish is anyone's business any more. */
  get lost(): AbortSignal {
    return this.over.signal;
  }

  /** Asked right before each call with the token. */
  holds(): boolean {
    if (this.tools.clock.monotonicMs() - this.since > LOCAL_FENCE_MS) this.lose('it could not be renewed in time');
    return !this.over.signal.aborted;
  }

  /** Whether the row still names this finish; an id is of one run. */
  isOf(job: ExportJobEntity): boolean {
    return job.finisher?.id === this.id;
  }

  release(): void {
    this.released.abort();
  }

  private async renewUntilReleased(): Promise<void> {
    const { clock, logger } = this.tools;
    let waitMs = RENEW_AFTER_MS;
    for (;;) {
      await clock.sleep(waitMs, this.released.signal);
      if (this.released.signal.aborted || !this.holds()) return;
      try {
        await this.renew();
        waitMs = RENEW_AFTER_MS;
      } catch (error) {
        logger.retrying('the lease of a finish', error, { jobId: this.jobId });
        waitMs = RENEW_AGAIN_MS;
      }
    }
  }

  /** Each try has a number of its own: one whose reply was lost may be what others have seen since. */
  private async renew(): Promise<void> {
    const at = this.tools.clock.monotonicMs();
    const renewed = await this.tools.jobs.renewFinish(this.jobId, this.run, { id: this.id, seq: ++this.seq });
    if (this.released.signal.aborted) return;
    if (renewed.kind === 'written') this.since = at;
    else this.lose('the row names another, or the job has ended');
  }

  private lose(reason: string): void {
    if (this.over.signal.aborted) return;
    this.tools.logger.warn('The lease of a finish is lost; another finisher answers the token', { jobId: this.jobId, reason });
    this.over.abort();
    this.released.abort();
  }
}
