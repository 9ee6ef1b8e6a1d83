export type BatchStatus = 'queued' | 'running' | 'succeeded' | 'dead' | 'cancelled';

/** Kinds of batches; each has its own TTL. */
export type BatchType = 'download';

/** A file of result lines in S3; `size` in bytes. */
export interface ResultFile {
  key: string;
  size: number;
}

/** One row in ExportBatches. Instants are ISO-8601 UTC; `done` and `failures` together are the checkpoint. */
export interface BatchEntity {
  readonly jobId: string;
  readonly batchNo: number;
  readonly type: BatchType;
  readonly run: number;
  readonly status: BatchStatus;
  readonly totalTasks: number;
  /** Bitmap of tasks that succeeded: bit 0 of byte 0 is the batch's first task. */
  readonly done: Uint8Array;
  /** Task position in the batch → error code. */
  readonly failures: ReadonlyMap<number, string>;
  readonly completed: number;
  readonly failed: number;
  readonly bytes: number;
  /** Counts the checkpoints of one claim: a delayed write never undoes a newer one. */
  readonly seq: number;
  /** Fencing number of the lease; only ever grows. */
  readonly lockToken: number;
  readonly claimId?: string;
  readonly lockedBy?: string;
  readonly lockedAt?: string;
  readonly heartbeatAt?: string;
  readonly progressedAt?: string;
  /** What its holder told of its work, as of `heartbeatAt`; running batches only. */
  readonly bytesInHand?: number;
  readonly pausedMs?: number;
  readonly pausedHost?: string;
  /** Reclaims in a row without progress. */
  readonly attempts: number;
  /** Random, of the last reclaim: a retried write recognises itself. */
  readonly reclaimId?: string;
  /** `completed + failed` at the last reclaim. */
  readonly reclaimMark?: number;
  /** After deaths in a row without progress: so many of the remaining tasks are run first, alone. */
  readonly trialSize?: number;
  /** Why the batch was taken from its last holder, or given up. */
  readonly lastError?: string;
  readonly enqueuedAt: string;
  readonly segmentKey: string;
  readonly resultKeys?: { readonly succeeded: ResultFile; readonly failed: ResultFile };
}

/** What can be told of a batch without its checkpoint, which may be large. */
export type BatchSummary = Pick<
  BatchEntity,
  | 'batchNo'
  | 'bytes'
  | 'bytesInHand'
  | 'completed'
  | 'enqueuedAt'
  | 'failed'
  | 'heartbeatAt'
  | 'lockToken'
  | 'lockedAt'
  | 'lockedBy'
  | 'pausedHost'
  | 'pausedMs'
  | 'progressedAt'
  | 'resultKeys'
  | 'run'
  | 'segmentKey'
  | 'seq'
  | 'status'
  | 'totalTasks'
>;

/** What a holder proves with each of its writes. */
export interface Lease {
  readonly jobId: string;
  readonly batchNo: number;
  readonly run: number;
  readonly lockToken: number;
}

export function isFinal(status: BatchStatus): boolean {
  return status === 'succeeded' || status === 'dead' || status === 'cancelled';
}
