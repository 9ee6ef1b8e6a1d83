import type { MonotonicMs } from '../../shared/index.js';
import type { TaskOutcome, TransferTask } from '../../worker-pool/index.js';

/** The tasks of one batch, as their batch hands them out. */
export interface TaskSource {
  readonly jobId: string;
  /** Of the job. */
  readonly run: number;
  /** At most this many tasks of the job at once in this process. */
  readonly maxConcurrency: number | undefined;
  /** The bucket of the job has taken files of it before this batch came. */
  readonly hasStored: boolean;
  readonly signal: AbortSignal;
  /** The next task that has not been handed out, or `undefined`. */
  next(): { position: number; task: Omit<TransferTask, 'attempt'> } | undefined;
  /** The task is over: done, or failed for good. Never called for a task that was aborted. */
  onResult(position: number, result: TaskOutcome, attempts: number, durationMs: number): void;
  /** So many bytes have arrived in the try that runs. */
  onProgress(position: number, bytes: number): void;
  /** The try that ran is over, and nothing of it is in hand. */
  onTryEnd(position: number): void;
  /** A task waits because this host asked for patience. */
  onPause(host: string | undefined, until: MonotonicMs): void;
  /** The destination refuses one file of the job after another: no more of them are brought. `message` says what it refuses, and why. */
  onDestinationRefused(message: string): void;
}

/** A task that has left its source. */
export interface Dispatched {
  source: TaskSource;
  position: number;
  task: Omit<TransferTask, 'attempt'>;
  /** The host this task waits for: its URL's, or a redirect's target that refused it. */
  host: string | undefined;
  /** When its batch came into hand. */
  inHandSince: MonotonicMs;
  attempts: number;
  /** Attempts that say nothing about this file, because its host refused everybody or could not be reached, or the file was not ready. */
  pardoned: number;
  mismatches: number;
  /** Threads that died while they ran this task and others: which of them was the cause is unknown. */
  lostThreads: number;
  /** When its first attempt started. */
  startedAt: MonotonicMs | undefined;
  /** When it was refused first, and last. */
  refusedSince: MonotonicMs | undefined;
  refusedAt: MonotonicMs | undefined;
  /** When its host could not be reached last. */
  unreachableAt: MonotonicMs | undefined;
}

/** A task with which so many threads have died is run on a thread that has no other, where it takes none along. */
const ALONE_AFTER_LOST = 2;

export function runsAlone({ lostThreads }: Dispatched): boolean {
  return lostThreads >= ALONE_AFTER_LOST;
}

/** The thread that runs one task alone, as its users see it: of all jobs, one task at a time. */
export interface LoneThread {
  isTaken: boolean;
}

/** One try of a task, from its start to its end. */
export interface Try {
  readonly dispatched: Dispatched;
  readonly startedAt: MonotonicMs;
  /** Its host has been told that it served this try. */
  isServed: boolean;
  /** What it has brought, as far as `bytes_total` says. */
  bytes: number;
}
