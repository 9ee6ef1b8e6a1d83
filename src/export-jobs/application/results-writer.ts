import { Semaphore, StoreError, type AppLogger, type Clock } from '../../shared/index.js';
import type { FailedTask } from '../domain/answer.js';
import type { ExportJobEntity, ResultsNotWritten } from '../domain/export-job.entity.js';
import { manifestKey } from '../domain/export-layout.js';
import type { BatchSummary } from './job-batches.port.js';
import type { JobResultsPort } from './job-results.port.js';
import { Patience } from './patience.js';

/** What a job's results became; without `resultKey` they are not there, and `notWritten` says why. */
export interface Results {
  resultKey?: string;
  notWritten?: ResultsNotWritten;
  firstFailures: readonly FailedTask[];
}

/** Each may read two files of a thousand batches, and an outage ends with many jobs to finish at once. */
const AT_ONCE = 8;
/** A refusal is asked for again in case a policy or a bucket has just been changed: S3 takes seconds to know it everywhere. */
const REFUSED_TRIES = 3;
const AGAIN_AFTER_MS = 1_000;
/** Outages of S3 and throttling pass within it; the token is beaten meanwhile, and a job without any progress gets as long. */
const PATIENCE_MS = 10 * 60_000;
/** Who cancels waits for the end, and wants it more than the list of what was done. */
const PATIENCE_OF_CANCELLED_MS = 30_000;
const OUT_OF_PATIENCE = 'TimeoutError';

/**
 * Writes the results of a job with a bounded patience: nothing that is written for people may keep a token from its answer.
 *
 * Patience counts from the last thing that moved: from the first failure on nothing extends it any more, so that tries which each come a
 * little way do not go on for ever. While a job waits for its first place, what moves in the places of others counts.
 */
export class ResultsWriter {
  private readonly places = new Semaphore(AT_ONCE);
  private readonly waiting = new Set<Patience>();

  constructor(
    private readonly results: JobResultsPort,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  /** `undefined`: interrupted by the signal. */
  async write(job: ExportJobEntity, batches: readonly BatchSummary[], signal: AbortSignal): Promise<Results | undefined> {
    const patience = new Patience(job.outcome?.status === 'CANCELLED' ? PATIENCE_OF_CANCELLED_MS : PATIENCE_MS, this.clock);
    this.waiting.add(patience);
    try {
      return await this.tryUntil(patience, job, batches, signal);
    } finally {
      this.waiting.delete(patience);
      patience.end();
    }
  }

  private async tryUntil(
    patience: Patience,
    job: ExportJobEntity,
    batches: readonly BatchSummary[],
    stopping: AbortSignal,
  ): Promise<Results | undefined> {
    const signal = AbortSignal.any([patience.signal, stopping]);
    const aborted = whenAborted(signal);
    let last: StoreError | undefined;
    let refusals = 0;
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        const written = await Promise.race([this.places.run(signal, () => this.tryOnce(patience, tries, job, batches, signal)), aborted]);
        if (written !== undefined) return written;
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof StoreError)) throw error;
        last = error;
        this.logger.retrying('the results of a job', error, { jobId: job.jobId, tries });
        if (!error.mayPass && ++refusals === REFUSED_TRIES) break;
        await this.clock.sleep(AGAIN_AFTER_MS * tries, signal);
      }
    }
    return stopping.aborted ? undefined : this.giveUp(job, last);
  }

  private tryOnce(
    patience: Patience,
    tries: number,
    job: ExportJobEntity,
    batches: readonly BatchSummary[],
    signal: AbortSignal,
  ): Promise<Results> {
    this.waiting.delete(patience);
    const onProgress = () => {
      if (tries === 1) patience.moved();
      for (const other of this.waiting) other.moved();
    };
    onProgress();
    return this.results.writeManifest(job, batches, { signal, onProgress });
  }

  private giveUp(job: ExportJobEntity, last: StoreError | undefined): Results {
    const { destination, jobId, run } = job;
    const { bucket, key, permission } = last?.call ?? {
      bucket: destination.bucket,
      key: manifestKey(destination, jobId, run),
      permission: 's3:PutObject',
    };
    const code = last?.code ?? OUT_OF_PATIENCE;
    this.logger.error('ResultsNotWritten: the results of a job could not be written, its token is answered without them', {
      jobId,
      bucket,
      key,
      code,
      permission,
    });
    return { notWritten: { bucket, key, code }, firstFailures: [] };
  }
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
