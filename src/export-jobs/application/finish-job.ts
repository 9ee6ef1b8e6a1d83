import { chunksOf, retryUntil, type AppLogger, type Clock, type Metrics } from '../../shared/index.js';
import { failureAnswer, summarize, type FailedTask } from '../domain/answer.js';
import type { Callback, ExportJobEntity, JobOutcome } from '../domain/export-job.entity.js';
import type { FinishLease } from './finish-lease.js';
import type { JobBatchesPort, BatchSummary } from './job-batches.port.js';
import type { JobResultsPort } from './job-results.port.js';
import type { JobStateRepositoryPort } from './job-state-repository.port.js';
import { reportEnd } from './report-end.js';
import { ResultsWriter, type Results } from './results-writer.js';
import type { Answer, SettleTokenService } from './settle-token.service.js';

/** Checkpoints read at the same time. */
const CHECKPOINTS_AT_ONCE = 16;
const END_BACKOFF = { baseMs: 200, capMs: 2_000 };

/**
 * - `ended`: the job has its end
 * - `not-yet`: its counts do not add up, or not all of its batches are final
 * - `held`: another finisher has the lease on its answer, or had it and has ended the job
 * - `interrupted`: shutdown came first; the row stays FINALIZING
 */
export type CompleteOutcome = 'ended' | 'not-yet' | 'held' | 'interrupted';

export interface FinishServices {
  jobs: JobStateRepositoryPort;
  batches: JobBatchesPort;
  results: JobResultsPort;
  settler: SettleTokenService;
  clock: Clock;
  logger: AppLogger;
  metrics: Metrics;
}

/** What follows once a job is FINALIZING and its lease is ours: steps 2 to 6 of CompleteJobUseCase. */
export class FinishJob {
  private readonly writer: ResultsWriter;

  constructor(private readonly services: FinishServices) {
    this.writer = new ResultsWriter(services.results, services.clock, services.logger);
  }

  async finish(job: ExportJobEntity, lease: FinishLease, stopping: AbortSignal): Promise<CompleteOutcome> {
    const { jobs } = this.services;
    const { outcome } = job;
    if (outcome === undefined) throw new Error(`Job ${job.jobId} is FINALIZING without an outcome`);
    const interrupted = AbortSignal.any([stopping, lease.lost]);
    const batches = await this.finalBatches(job, outcome);
    if (batches === undefined) return 'not-yet';
    const results = await this.writer.write(job, batches, interrupted);
    if (results === undefined) return stopping.aborted ? 'interrupted' : 'held';
    const current = await jobs.find(job.jobId);
    if (current?.status !== 'FINALIZING' || !lease.isOf(current)) return 'held';

    const callback = await this.answer(current, outcome, results, lease, interrupted);
    if (callback === undefined) return stopping.aborted ? 'interrupted' : 'held';
    return this.untilEnded(job.jobId, () => this.end(job, outcome, results, callback), stopping);
  }

  /** A job that is answered, and does not say so, would be answered again by whoever takes it over: this finisher knows, so it goes on trying. */
  private async untilEnded(jobId: string, end: () => Promise<void>, stopping: AbortSignal): Promise<CompleteOutcome> {
    const { clock, logger } = this.services;
    const ended = await retryUntil<true>(
      async (attempt) => {
        try {
          await end();
          return { done: true, value: true };
        } catch (error) {
          logger.retrying('the end of a job that is answered', error, { jobId, attempt });
          return { done: false };
        }
      },
      { clock, backoff: END_BACKOFF, signal: stopping },
    );
    return ended === undefined ? 'interrupted' : 'ended';
  }

  /** The rows that the manifest is made of; `undefined`: it is someone else's turn. */
  private async finalBatches(job: ExportJobEntity, outcome: JobOutcome): Promise<BatchSummary[] | undefined> {
    const { batches } = this.services;
    const whole = isWhole(outcome);
    if (!whole) await batches.cancel(job.jobId, job.run);
    const rows = await batches.list(job.jobId);
    // Reopened since: the results of a newer run do not belong into this one's manifest.
    const isReopened = rows.some((row) => row.run > job.run);
    if (isReopened || (whole && !allFinal(job, rows))) return undefined;
    if (whole) return rows;
    const told: BatchSummary[] = [];
    for (const chunk of chunksOf(rows, CHECKPOINTS_AT_ONCE))
      told.push(...(await Promise.all(chunk.map((row) => this.withFailures(job, row)))));
    return told;
  }

  /** A batch that did not come to its end has no result files: what failed in it stands in its checkpoint only. */
  private async withFailures({ jobId, run }: ExportJobEntity, row: BatchSummary): Promise<BatchSummary> {
    if (row.failed === 0 || row.resultKeys !== undefined || row.run !== run) return row;
    return { ...row, failures: await this.services.batches.failuresOf(jobId, row.batchNo) };
  }

  private async answer(
    job: ExportJobEntity,
    outcome: JobOutcome,
    { resultKey, notWritten, firstFailures }: Results,
    lease: FinishLease,
    signal: AbortSignal,
  ): Promise<Callback | undefined> {
    if (job.taskToken === undefined) return 'none';
    const told = notWritten === undefined ? job : { ...job, resultsNotWritten: notWritten };
    const answer = answerOf(told, outcome, resultKey, firstFailures);
    return this.services.settler.settle(job.jobId, job.taskToken, answer, signal, () => lease.holds());
  }

  private async end(job: ExportJobEntity, outcome: JobOutcome, { resultKey, notWritten }: Results, callback: Callback): Promise<void> {
    const { jobs, logger, metrics } = this.services;
    const ended = await jobs.end(job.jobId, job.run, outcome, {
      ...(resultKey === undefined ? {} : { resultKey }),
      ...(notWritten === undefined ? {} : { resultsNotWritten: notWritten }),
      callback,
      ...(metrics.isCollected ? {} : { uncounted: true }),
    });
    if (ended.kind === 'written') return metrics.isCollected ? reportEnd(this.services, ended.job) : undefined;
    // Another finisher has ended it, perhaps by finding the token gone that we have answered.
    if (callback !== 'success' && callback !== 'failure') return;
    const recorded = await jobs.recordAnswer(job.jobId, job.run, callback);
    if (recorded.kind === 'written') logger.info('Job had been ended by another finisher', { jobId: job.jobId, callback });
  }
}

/** Every task was counted, so every batch must be final. */
function isWhole({ error, partial }: JobOutcome): boolean {
  return partial !== true && (error === undefined || error.code === 'JobCompletedWithFailures');
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
