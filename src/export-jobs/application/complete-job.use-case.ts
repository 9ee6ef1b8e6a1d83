import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, fullJitterMs, Metrics, newId, type LogFields, type MonotonicMs } from '../../shared/index.js';
import { FINALIZING_STUCK_MS } from '../domain/decide-heartbeat.js';
import { isTerminal, type ExportJobEntity, type JobError, type JobOutcome } from '../domain/export-job.entity.js';
import { JobStateVO } from '../domain/job-state.vo.js';
import { FinishJob, type CompleteOutcome, type FinishServices } from './finish-job.js';
import { FinishLease } from './finish-lease.js';
import { JobBatchesPort } from './job-batches.port.js';
import type { CountOutcome } from './job-counter.service.js';
import { JobResultsPort } from './job-results.port.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';
import { leaseOf } from './seen-jobs.js';
import { SettleTokenService } from './settle-token.service.js';

/** Between two looks at a job that another finisher answers. */
const LOOK_AGAIN_MS = 1_000;
/** Before the next attempt on a row that changed between look and write. */
const BUSY_ROW = { baseMs: 20, capMs: 1_000 };

/*
 * PROCESSING ─▶ DOWNLOADING ─▶ FINALIZING(outcome) ─▶ COMPLETED | FAILED | CANCELLED
 *      └──────────────┴─────────────▲ whatever we answer ourselves
 *
 * 1. → FINALIZING with the outcome: one winner, whose condition tests the counters as read, and who has the lease on the answer.
 * 2. A job that ends before every task is counted: what still runs is cancelled. Else all batch rows must be final and of this run,
 *    or this finisher gives up: it is someone else's turn.
 * 3. The manifest, under run-<run>/.      Crash: written again with the same bytes. It cannot be written: answered without it.
 * 4. Read again: still FINALIZING, of this run and under this lease, or nothing is answered.
 * 5. The token's one answer, while the lease holds.   Crash: repeated; then the token says gone, which is recorded as such.
 * 6. → the outcome's status.              Crash before: whoever has seen the lease stand still for a minute takes it over.
 *    Of two finishers that overlap all the same (see FinishLease), the one whose answer was taken has the last word on `callback`.
 */
@Injectable()
export class CompleteJobUseCase {
  /** Finishers of this process, one a job: the count that adds up and the orchestrator's net often notice together. */
  private readonly running = new Map<string, Promise<CompleteOutcome>>();
  private readonly stopping = new AbortController();
  private readonly services: FinishServices;
  private readonly finishing: FinishJob;

  constructor(
    private readonly jobs: JobStateRepositoryPort,
    batches: JobBatchesPort,
    results: JobResultsPort,
    settler: SettleTokenService,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {
    this.services = { jobs, batches, results, settler, clock, logger, metrics };
    this.finishing = new FinishJob(this.services);
  }

  /** Ends a job whose counts decide how it ends: all are in, or its failures exceed its tolerance for good and it wants to fail fast. */
  complete(jobId: string): Promise<CompleteOutcome> {
    return this.once(jobId, async () => {
      const job = await this.jobs.find(jobId);
      if (job === undefined || isTerminal(job.status)) return 'ended';
      if (job.status === 'FINALIZING') return 'held';
      const state = JobStateVO.of(job);
      if (state.failsEarly) return this.decideAndFinish(job, state.failure, true);
      if (job.status !== 'DOWNLOADING' || !state.addsUp) return 'not-yet';
      return this.decideAndFinish(job, state.failure);
    });
  }

  /**
   * Goes on where a finisher stopped whose lease the caller has seen unchanged for FINALIZING_STUCK_MS, on its own monotonic clock.
   * @param observed the job as it was seen for so long; its holder may have renewed since, and then keeps its lease
   */
  takeOver(observed: ExportJobEntity): Promise<CompleteOutcome> {
    const { jobId, run } = observed;
    return this.once(jobId, async () => {
      const id = newId();
      const since = this.clock.monotonicMs();
      const written = await this.jobs.takeOverFinish(observed, id).catch((cause: unknown) => ({ kind: 'unknown' as const, cause }));
      const job = written.kind === 'written' ? written.job : await this.jobs.find(jobId);
      if (job === undefined || isTerminal(job.status)) return 'ended';
      if (job.status !== 'FINALIZING' || job.run !== run || job.finisher?.id !== id) {
        if (written.kind === 'unknown') throw written.cause;
        return 'held';
      }
      this.logger.warn('Finish taken over: its finisher had not renewed its lease', { jobId, run });
      return this.finish(job, since);
    });
  }

  /**
   * Waits until a job that another finisher answers has ended, or takes it over once its lease has stood still for long enough.
   * @param onWait called at each look
   */
  async awaitOther(jobId: string, onWait: () => void): Promise<CompleteOutcome> {
    let lease: string | undefined;
    let since = this.clock.monotonicMs();
    while (!this.stopping.signal.aborted) {
      const job = await this.jobs.find(jobId);
      if (job?.status !== 'FINALIZING') return 'ended';
      const now = this.clock.monotonicMs();
      if (leaseOf(job) !== lease) [lease, since] = [leaseOf(job), now];
      else if (now - since > FINALIZING_STUCK_MS) {
        const outcome = await this.takeOver(job);
        if (outcome !== 'held') return outcome;
      }
      onWait();
      await this.clock.sleep(LOOK_AGAIN_MS, this.stopping.signal);
    }
    return 'interrupted';
  }

  /** Begins or joins a finish and does not wait for it: Step Functions, or the key of a state machine, may keep it for hours. */
  help(jobId: string): void {
    this.complete(jobId).catch((error: unknown) =>
      this.logger.retrying('the end of a job', error, { jobId, next: 'the orchestrator tries again' }),
    );
  }

  /** A count came in: when it decides how the job ends, that begins there and then, and is not waited for either. */
  helpAfter(counted: CountOutcome): void {
    if (counted.kind === 'counted' && JobStateVO.of(counted.job).isDecided) this.help(counted.job.jobId);
  }

  /**
   * Ends an active job with a failure of our own making, whatever its counts: batches that still run are cancelled. One that is being
   * answered already is `held`.
   * @param isStill whether the job as it is now is the one that the failure is about; if not: `not-yet`, and nothing is written
   */
  async fail(jobId: string, error: JobError, isStill: (job: ExportJobEntity) => boolean = () => true): Promise<CompleteOutcome> {
    // A finisher that is under way may be about to find that it has nothing to do.
    for (let running = this.running.get(jobId); running !== undefined; running = this.running.get(jobId))
      await running.catch(() => undefined);
    return this.once(jobId, async () => {
      let run: number | undefined;
      for (let round = 0; ; round++) {
        // Once more at once; but its counters may move all the time.
        if (round > 1) await this.clock.sleep(fullJitterMs(BUSY_ROW, round - 1));
        const job = await this.jobs.find(jobId);
        if (job === undefined || isTerminal(job.status)) return 'ended';
        // Ended by someone else and reopened since the first look: the failure is not about that life of it.
        run ??= job.run;
        if (job.run !== run || !isStill(job)) return 'not-yet';
        if (job.status === 'FINALIZING') return 'held';
        const outcome = await this.decideAndFinish(job, error);
        if (outcome !== 'not-yet') return outcome;
      }
    });
  }

  /**
   * Ends a job that cannot go on as JobStalled, IF it is still so: counted, and said with what was found of it. Waits for Step Functions
   * as long as it takes.
   */
  async stall(jobId: string, reason: string, isStill: (job: ExportJobEntity) => boolean, found: LogFields): Promise<void> {
    let wasStill = false;
    const message = `${reason} Its files that are done stay.`;
    const outcome = await this.fail(jobId, { code: 'JobStalled', message }, (job) => (wasStill = isStill(job)));
    // One that another has ended before was not ended by this.
    if (outcome === 'not-yet' || !wasStill) return;
    this.metrics.increment('jobs_stalled_total');
    this.logger.error('Job stalled', { jobId, ...found });
  }

  /** Aborts what waits for Step Functions and resolves when no finisher of this process runs any more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.idle();
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.running.values());
  }

  private once(jobId: string, work: () => Promise<CompleteOutcome>): Promise<CompleteOutcome> {
    const already = this.running.get(jobId);
    if (already !== undefined) return already;
    const promise = work().finally(() => this.running.delete(jobId));
    this.running.set(jobId, promise);
    return promise;
  }

  private async decideAndFinish(job: ExportJobEntity, error: JobError | undefined, partial?: true): Promise<CompleteOutcome> {
    const outcome: JobOutcome = {
      status: error === undefined ? 'COMPLETED' : error.code === 'ExportCancelled' ? 'CANCELLED' : 'FAILED',
      ...(error === undefined ? {} : { error }),
      decidedAt: this.clock.nowIso(),
      decidedBy: newId(),
      ...(partial === undefined ? {} : { partial }),
    };
    const since = this.clock.monotonicMs();
    const written = await this.jobs.beginFinalizing(job, outcome).catch((cause: unknown) => ({ kind: 'unknown' as const, cause }));
    if (written.kind === 'written') return this.finish(written.job, since);
    // Refused or unknown, it may still be ours: the SDK's retry met its own write, or the reply was lost.
    const again = await this.jobs.find(job.jobId);
    if (again?.finisher?.id === outcome.decidedBy) return this.finish(again, since);
    if (written.kind === 'unknown') throw written.cause;
    return 'not-yet';
  }

  /** Goes on with a job whose lease the last write gave to this process. `since`: before that write. */
  private async finish(job: ExportJobEntity, since: MonotonicMs): Promise<CompleteOutcome> {
    const lease = new FinishLease(job, since, this.services);
    try {
      return await this.finishing.finish(job, lease, this.stopping.signal);
    } finally {
      lease.release();
    }
  }
}
