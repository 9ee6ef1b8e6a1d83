import type { MonotonicMs } from '../../shared/index.js';
import type { TaskOutcome, TransferTask } from '../../worker-pool/index.js';

/** The tasks of one batch, as their batch hands them out. */
export interface TaskSource {
  readonly jobId: string;
  /** At most this many tasks of the job at once in this process. */
  readonly maxConcurrency: number | undefined;
  readonly signal: AbortSignal;
  /** The next task that has not been handed out, or `undefined`. */
  next(): { position: number; task: Omit<TransferTask, 'attempt'> } | undefined;
  /** The task is over: done, or failed for good. Never called for a task that was aborted. */
  onResult(position: number, result: TaskOutcome, attempts: number, durationMs: number): void;
  onProgress(): void;
  /** A task waits because its host asked for it with Retry-After. */
  onPause(until: MonotonicMs): void;
}

/** A task that has left its source. */
export interface Dispatched {
  source: TaskSource;
  position: number;
  task: Omit<TransferTask, 'attempt'>;
  /** Of its URL, until a host asked for patience to which its redirects lead: then that one. */
  host: string | undefined;
  /** Since when its batch is. */
  inHandSince: MonotonicMs;
  attempts: number;
  /** Attempts that its host refused while it refused everyone: no word about this file. */
  pardoned: number;
  mismatches: number;
  /** Of the first attempt. */
  startedAt: MonotonicMs | undefined;
}
