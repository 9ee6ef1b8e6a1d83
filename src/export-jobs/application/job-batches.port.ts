/** A result file as the batch's row recorded it; `size` in bytes. */
export interface ResultFile {
  key: string;
  size: number;
}

export interface BatchSummary {
  batchNo: number;
  run: number;
  status: 'queued' | 'running' | 'succeeded' | 'dead' | 'cancelled';
  segmentKey: string;
  totalTasks: number;
  /** The checkpoint, in numbers. */
  completed: number;
  failed: number;
  bytes: number;
  /** Grows with each claim. */
  lockToken: number;
  /** The coordinator that has it; running batches only, as `lockedAt`. All instants are ISO-8601. */
  lockedBy?: string;
  lockedAt?: string;
  heartbeatAt?: string;
  /** Bytes or results moved. */
  progressedAt?: string;
  /** Bytes of files that the checkpoint lacks, as of `heartbeatAt`; running batches only, as the next two. */
  bytesInHand?: number;
  /** How much longer a file waits out a host's Retry-After, in milliseconds as of `heartbeatAt`. */
  pausedMs?: number;
  /** That host, while `pausedMs` is not 0; of several the one that is waited for longest. */
  pausedHost?: string;
  enqueuedAt: string;
  resultKeys?: { succeeded: ResultFile; failed: ResultFile };
  /** What its checkpoint says of failed tasks, position → code: of a batch that has no result files, and only where that is asked for. */
  failures?: ReadonlyMap<number, string>;
}

/** What a job needs to know and to ask of its batches; the batches feature implements it. */
export abstract class JobBatchesPort {
  /** All batch rows in batch order, read consistently. */
  abstract list(jobId: string): Promise<BatchSummary[]>;
  /** The failed tasks of its checkpoint, position → code. */
  abstract failuresOf(jobId: string, batchNo: number): Promise<ReadonlyMap<number, string>>;
  /** Queued and running batches whose run is not newer → cancelled; their holders see it at their next heartbeat. */
  abstract cancel(jobId: string, run: number): Promise<void>;
  /** Sends the messages of these batches; one more for a batch that somebody holds or has ended is dropped. */
  abstract send(job: { jobId: string; run: number }, batchNos: readonly number[]): Promise<void>;
  /** Sends the messages of these queued batches again, each only if it is still queued as observed. */
  abstract sendAgain(jobId: string, observed: readonly BatchSummary[]): Promise<void>;
  /** Whether no batch of any job waits to be received, as far as the queue can tell. */
  abstract isQueueEmpty(): Promise<boolean>;
}
