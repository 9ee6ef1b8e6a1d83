import type { TaskOutcome, TransferTask } from '../domain/transfer-task.js';

export interface RunTaskOptions {
  /** Aborting ends the task cooperatively (its multipart upload too); the outcome is then a failure with code `ABORTED`. */
  signal: AbortSignal;
  /** Bytes read so far, at most once a second. */
  onProgress?: (bytes: number) => void;
  /** The source has been read to its end, and its connection is free; what remains is between us and S3. At most once; not every task comes here. */
  onRead?: () => void;
  /** The source was asked, or is being read, and has sent nothing for a while; not when the reader holds back. */
  onSilent?: () => void;
  /** A silent source has sent something again. */
  onHeard?: () => void;
}

/** The pool as its users see it. `run` never rejects: what goes wrong is in the outcome. */
export abstract class TransferPool {
  /** Sources that can be read at the same time: threads × tasks per worker. */
  abstract readonly capacity: number;
  /** Tasks that can run at the same time, with those whose source has been read. */
  abstract readonly maxInHand: number;
  abstract run(task: TransferTask, options: RunTaskOptions): Promise<TaskOutcome>;
}
