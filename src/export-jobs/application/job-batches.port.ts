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
  /** Of the tasks that are done. */
  bytes: number;
  completed: number;
  failed: number;
  totalTasks: number;
  /** The coordinator that has it; running batches only, as `lockedAt` (ISO-8601). */
  lockedBy?: string;
  lockedAt?: string;
  resultKeys?: { succeeded: ResultFile; failed: ResultFile };
}

/** What a job needs to know and to ask of its batches; the batches feature implements it. */
export abstract class JobBatchesPort {
  /** All batch rows in batch order, read consistently. */
  abstract list(jobId: string): Promise<BatchSummary[]>;
  /** Queued and running batches whose run is not newer → cancelled; their holders see it at their next heartbeat. */
  abstract cancel(jobId: string, run: number): Promise<void>;
}
