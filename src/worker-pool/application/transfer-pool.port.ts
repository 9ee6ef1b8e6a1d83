import type { TaskOutcome, TransferTask } from '../domain/transfer-task.js';

export interface RunTaskOptions {
  /** Aborting ends the task cooperatively (its multipart upload too); the outcome is then a failure with code `ABORTED`. */
  signal: AbortSignal;
  /** Bytes read so far, at most once a second. */
  onProgress?: (bytes: number) => void;
}

/** The pool as its users see it. `run` never rejects: what goes wrong is in the outcome. */
export abstract class TransferPool {
  /** Tasks that can run at the same time: threads × tasks per worker. */
  abstract readonly capacity: number;
  abstract run(task: TransferTask, options: RunTaskOptions): Promise<TaskOutcome>;
}
