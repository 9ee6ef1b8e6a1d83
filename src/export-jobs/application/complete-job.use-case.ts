import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, Metrics, newId, Semaphore, toLoggable, type LogFields } from '../../shared/index.js';
import { failureAnswer, summarize, type FailedTask } from '../domain/answer.js';
import { isTerminal, type Callback, type ExportJobEntity, type JobError, type JobOutcome } from '../domain/export-job.entity.js';
import { JobStateVO } from '../domain/job-state.vo.js';
import { JobBatchesPort, type BatchSummary } from './job-batches.port.js';
import { JobResultsPort } from './job-results.port.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';
import { SettleTokenService, type Answer } from './settle-token.service.js';

/** `not-yet`: counts do not add up, or another finisher must have its turn. `interrupted`: shutdown came first; the row stays FINALIZING. */
export type CompleteOutcome = 'ended' | 'not-yet' | 'interrupted';

const MANIFESTS_AT_ONCE = 8;

/*
 * PROCESSING ─▶ DOWNLOADING ─▶ FINALIZING(outcome) ─▶ COMPLETED | FAILED | CANCELLED
 *      └──────────────┴─────────────▲ whatever we answer ourselves
 *
 * 1. → FINALIZING with the outcome: one winner, whose condition tests the counters as read.
 * 2. A cancelled, stalled or invalid job: what still runs is cancelled. Else all batch rows must be final and of this run,
 *    or this finisher gives up: it is someone else's turn.
 * 3. The manifest, under run-<run>/.      Crash: written again with the same bytes.
 * 4. Read again: still FINALIZING and of this run, or nothing is answered.
 * 5. The token's one answer.              Crash: repeated; then the token says gone, which is recorded as such.
 * 6. → the outcome's status.              Crash before: the orchestrator finds the job FINALIZING for a minute and calls this again.
 *    Of two finishers that overlap, the one whose answer was taken has the last word on `callback`.
 */
@Injectable()
export class CompleteJobUseCase {
  /** Finishers of this process, one a job: the count that adds up and the orchestrator's net often notice together. */
  private readonly running = new Map<string, Promise<CompleteOutcome>>();
  private readonly stopping = new AbortController();
  private readonly manifests = new Semaphore(MANIFESTS_AT_ONCE);

  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly batches: JobBatchesPort,
    private readonly results: JobResultsPort,
    private readonly settler: SettleTokenService,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {}

  /** Ends a job whose counts add up, or goes on where a former finisher stopped. */
  complete(jobId: string): Promise<CompleteOutcome> {
    return this.once(jobId, async () => {
      const job = await this.jobs.find(jobId);
      if (job === undefined || isTerminal(job.status)) return 'ended';
      if (job.status === 'FINALIZING') return this.finish(job);
      const state = JobStateVO.of(job);
      if (job.status !== 'DOWNLOADING' || !state.addsUp) return 'not-yet';
      return this.decideAndFinish(job, state.failure);
    });
  }

  /** Begins or joins a finish and does not wait for it: Step Functions, or the key of a state machine, may keep it for hours. */
  help(jobId: string): void {
    this.complete(jobId).catch((error: unknown) =>
      this.logger.warn('Job could not be finished by the way; the orchestrator tries again', { jobId, error: toLoggable(error) }),
    );
  }

  /**
   * Ends an active job with a failure of our own making, whatever its counts.
   * @param isStill whether the job as it is now is the one that the failure is about; if not: `not-yet`, and nothing is written
   */
  async fail(jobId: string, error: JobError, isStill: (job: ExportJobEntity) => boolean = () => true): Promise<CompleteOutcome> {
    // A finisher that is under way may be about to find that it has nothing to do.
    for (let running = this.running.get(jobId); running !== undefined; running = this.running.get(jobId))
      await running.catch(() => undefined);
    return this.once(jobId, async () => {
      let run: number | undefined;
      for (;;) {
        const job = await this.jobs.find(jobId);
        if (job === undefined || isTerminal(job.status)) return 'ended';
        // Ended by someone else and reopened since the first look: the failure is not about that life of it.
        run ??= job.run;
        if (job.run !== run || !isStill(job)) return 'not-yet';
        if (job.status === 'FINALIZING') return this.finish(job);
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

  private async decideAndFinish(job: ExportJobEntity, error: JobError | undefined): Promise<CompleteOutcome> {
    const outcome: JobOutcome = {
      status: error === undefined ? 'COMPLETED' : error.code === 'ExportCancelled' ? 'CANCELLED' : 'FAILED',
      ...(error === undefined ? {} : { error }),
      decidedAt: this.clock.nowIso(),
      decidedBy: newId(),
    };
    const written = await this.jobs.beginFinalizing(job, outcome).catch((cause: unknown) => ({ kind: 'unknown' as const, cause }));
    if (written.kind === 'written') return this.finish(written.job);
    // Refused or unknown, it may still be ours: the SDK's retry met its own write, or the reply was lost.
    const again = await this.jobs.find(job.jobId);
    if (again?.outcome?.decidedBy === outcome.decidedBy) return this.finish(again);
    if (written.kind === 'unknown') throw written.cause;
    return 'not-yet';
  }

  private async finish(job: ExportJobEntity): Promise<CompleteOutcome> {
    const outcome = job.outcome;
    if (outcome === undefined) throw new Error(`Job ${job.jobId} is FINALIZING without an outcome`);
    const whole = outcome.error === undefined || outcome.error.code === 'JobCompletedWithFailures';
    const manifest = await this.manifests.run(this.stopping.signal, () => this.writeManifest(job, whole));
    if (manifest === undefined) return 'interrupted';
    if (manifest === 'not-yet') return 'not-yet';
    const { resultKey, firstFailures } = manifest;
    const current = await this.jobs.find(job.jobId);
    if (current?.status !== 'FINALIZING' || current.run !== job.run) return 'ended';

    const callback = await this.answer(current, outcome, resultKey, firstFailures);
    if (callback === undefined) return 'interrupted';
    const ended = await this.jobs.end(job.jobId, job.run, outcome, { resultKey, callback });
    if (ended.kind === 'written') this.reportEnd(ended.job, callback);
    // Another finisher has ended it, perhaps by finding the token gone that we have answered.
    else if (callback === 'success' || callback === 'failure') await this.jobs.recordAnswer(job.jobId, job.run, callback);
    return 'ended';
  }

  /** Of no more than a few jobs at a time: each may have a thousand batch rows, and an outage ends with many jobs to finish at once. */
  private async writeManifest(
    job: ExportJobEntity,
    whole: boolean,
  ): Promise<Awaited<ReturnType<JobResultsPort['writeManifest']>> | 'not-yet'> {
    if (!whole) await this.batches.cancel(job.jobId, job.run);
    const rows = await this.batches.list(job.jobId);
    // Reopened since: the results of a newer run do not belong into this one's manifest.
    const isReopened = rows.some((row) => row.run > job.run);
    if (isReopened || (whole && !allFinal(job, rows))) return 'not-yet';

    return this.results.writeManifest(job, rows);
  }

  private async answer(
    job: ExportJobEntity,
    outcome: JobOutcome,
    resultKey: string,
    failures: readonly FailedTask[],
  ): Promise<Callback | undefined> {
    if (job.taskToken === undefined) return 'none';
    return this.settler.settle(job.jobId, job.taskToken, answerOf(job, outcome, resultKey, failures), this.stopping.signal);
  }

  private reportEnd(job: ExportJobEntity, callback: Callback): void {
    this.metrics.increment('jobs_total', { status: job.status });
    this.logger.info(`Job ended: ${job.status}`, {
      jobId: job.jobId,
      run: job.run,
      callback,
      progress: JobStateVO.of(job).progress,
      failedTasks: job.failedTasks,
      bytesProcessed: job.bytesProcessed,
      ...(job.error === undefined ? {} : { errorCode: job.error.code }),
    });
  }
}

/** Every batch of the plan is there, final, and of this run. */
function allFinal(job: ExportJobEntity, rows: readonly BatchSummary[]): boolean {
  const final = rows.filter((row) => row.run === job.run && (row.status === 'succeeded' || row.status === 'dead'));
  return rows.length === job.plan?.batchCount && final.length === rows.length;
}

/** The one answer that follows from a job and its outcome. */
export function answerOf(
  job: ExportJobEntity,
  outcome: JobOutcome,
  resultKey: string | undefined,
  failures: readonly FailedTask[],
): Answer {
  const summary = summarize(job, resultKey);
  if (outcome.error === undefined) return { kind: 'success', output: JSON.stringify(summary) };
  return { kind: 'failure', ...failureAnswer(outcome.error, summary, failures) };
}
