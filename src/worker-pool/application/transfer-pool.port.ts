import type { TaskOutcome, TransferTask } from '../domain/transfer-task.js';

export interface RunTaskOptions {
  /** Aborting ends the task cooperatively (its multipart upload too); the outcome is then a failure with code `ABORTED`. */
  signal: AbortSignal;
  /** On a thread that has no other task, one at a time: threads have died with it. */
  alone?: boolean;
  /** Bytes read so far, at most once a second. */
  onProgress?: (bytes: number) => void;
  /** The source has been read to its end, and its connection is free; what remains is between us and S3. At most once; not every task comes here. */
  onRead?: () => void;
  /** The source has sent nothing for 2 s, although it was asked or is read. Neither this nor `onHeard` comes after `onRead`. */
  onSilent?: () => void;
  /** The source has sent something, after an `onSilent`. */
  onHeard?: () => void;
}

/**
 * The pool as its users see it. It runs whatever it is given, at once: how many tasks those are is its user's business, who keeps to
 * `capacity` and to IN_HAND_PER_PLACE. `run` never rejects: what goes wrong is in the outcome.
 */
export abstract class TransferPool {
  /** Sources that can be read at the same time: threads × tasks per worker. */
  abstract readonly capacity: number;
  abstract run(task: TransferTask, options: RunTaskOptions): Promise<TaskOutcome>;
}
