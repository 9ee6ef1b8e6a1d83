import { retryUntil, toLoggable, type AppLogger, type BackoffPolicy, type Clock, type MonotonicMs } from '../../shared/index.js';
import type { TaskUpload } from '../domain/task-upload.js';
import type { S3Access } from './s3-access.js';

const BACKOFF: BackoffPolicy = { baseMs: 500, capMs: 10_000 };
const MAX_TRIES = 10;
const TRY_TIMEOUT_MS = 10_000;

/**
 * Aborts the uploads that tasks left open: their thread was ended before it could, or S3 did not listen to it in time. An id is never
 * given twice, so another attempt's upload is never hit, and what was completed meanwhile is not found. What a killed process leaves is
 * the bucket's lifecycle rule's business, and so is what could not be aborted here.
 */
export class UploadReaper {
  private readonly underWay = new Set<Promise<void>>();
  private readonly late = new AbortController();

  constructor(
    private readonly s3: Pick<S3Access, 'abortUpload'>,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  /** Once nobody works on the upload any more; returns at once. */
  reap(upload: TaskUpload): void {
    const reaping = this.abort(upload).finally(() => this.underWay.delete(reaping));
    this.underWay.add(reaping);
  }

  /** Resolves when all is aborted or given up, by then at the latest. */
  async close(by: MonotonicMs): Promise<void> {
    const done = new AbortController();
    void this.clock.sleepUntil(by, done.signal).then(() => this.late.abort());
    await Promise.all(this.underWay);
    done.abort();
  }

  private async abort(upload: TaskUpload): Promise<void> {
    let cause: unknown;
    const attempt = async (number: number) => {
      try {
        await this.s3.abortUpload(upload, AbortSignal.any([this.late.signal, AbortSignal.timeout(TRY_TIMEOUT_MS)]));
        return { done: true, value: 'gone' } as const;
      } catch (error) {
        cause = error;
        return number < MAX_TRIES ? ({ done: false } as const) : ({ done: true, value: 'left' } as const);
      }
    };
    const outcome = await retryUntil<'gone' | 'left'>(attempt, { clock: this.clock, backoff: BACKOFF, signal: this.late.signal });
    if (outcome === 'gone') return this.logger.info('A multipart upload that its task left open is gone', { ...upload });
    this.logger.warn('A multipart upload stays open until the lifecycle rule of its bucket ends it', {
      ...upload,
      ...(cause === undefined ? {} : { error: toLoggable(cause) }),
    });
  }
}
