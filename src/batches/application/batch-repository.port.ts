import type { BatchEntity, BatchSummary, BatchType, Lease, ResultFile } from '../domain/batch.entity.js';
import type { CheckpointState } from '../domain/checkpoint.js';
import type { InHand } from '../domain/work-in-hand.js';

export interface BatchKey {
  jobId: string;
  batchNo: number;
}

export interface NewBatch {
  jobId: string;
  batchNo: number;
  run: number;
  type: BatchType;
  totalTasks: number;
  segmentKey: string;
}

/** One word for a batch, to remember it by. */
export function nameOfBatch({ jobId, batchNo }: BatchKey): string {
  return `${jobId}#${batchNo}`;
}

/** What becomes of a row that is reclaimed; `failures` when a task is set apart, which is no progress. What is absent stays. */
export interface Reclaim {
  reclaimId: string;
  attempts: number;
  lastError: string;
  trialSize?: number;
  failures?: ReadonlyMap<number, string>;
}

/** What a move must have seen of a row. */
export type MovableBatch = BatchKey & Pick<BatchEntity, 'completed' | 'failed' | 'lockToken' | 'run' | 'seq' | 'status' | 'totalTasks'>;

/** `refused`: the condition failed; read again, it may have been your own write that a retry met. */
export type BatchWrite = { kind: 'written'; batch: BatchEntity } | { kind: 'refused' };

/** Every write is one conditional write; a write whose answer was lost throws, and its caller reads again. Reads are consistent. */
export abstract class BatchRepositoryPort {
  /** Queued, unless the row is there already. */
  abstract createIfAbsent(batch: NewBatch): Promise<'created' | 'exists'>;
  abstract find(jobId: string, batchNo: number): Promise<BatchEntity | undefined>;
  /** All rows of the job in batch order, without their checkpoints; those of a newer version are left out. */
  abstract list(jobId: string): Promise<BatchSummary[]>;
  /** queued → running, IF queued and of this run; lockToken + 1. */
  abstract claim(batch: { jobId: string; batchNo: number; run: number }, claim: { claimId: string; lockedBy: string }): Promise<BatchWrite>;
  /**
   * IF the lease holds (lockToken, run, running) and `seq` is newer.
   * @param progressed bytes or results moved since the last one
   * @param inHand of the files that `state` does not have
   */
  abstract checkpoint(lease: Lease, seq: number, state: CheckpointState, progressed: boolean, inHand: InHand): Promise<BatchWrite>;
  /** running → succeeded with the last of the checkpoint, on the same condition. */
  abstract end(
    lease: Lease,
    seq: number,
    state: CheckpointState,
    resultKeys: { succeeded: ResultFile; failed: ResultFile },
  ): Promise<BatchWrite>;
  /** running → queued, IF the lease holds; attempts unchanged, lockToken kept. */
  abstract release(lease: Lease): Promise<BatchWrite>;
  /** Sets `enqueuedAt` before a queued batch's message is sent again, IF queued, of this run, and `enqueuedAt` is as observed. */
  abstract markSent(observed: BatchKey & { run: number; enqueuedAt: string }, enqueuedAt: string): Promise<BatchWrite>;
  /** Pages of 100 at most of batches that are, or a moment ago were, running; each is read when it is asked for. */
  abstract listRunning(): AsyncIterable<BatchKey[]>;
  /** Those that are there; a row of a newer version is left out. */
  abstract findMany(keys: readonly BatchKey[]): Promise<BatchEntity[]>;
  /** running → queued, IF everything is as observed; the lease fields go, lockToken and heartbeatAt stay. */
  abstract reclaim(observed: BatchEntity, reclaim: Reclaim): Promise<BatchWrite>;
  /** running → dead with every remaining task failed, IF everything is as observed. */
  abstract giveUp(
    observed: BatchEntity,
    end: { reclaimId: string; state: CheckpointState; resultKeys: { succeeded: ResultFile; failed: ResultFile }; lastError: string },
  ): Promise<BatchWrite>;
  /**
   * Takes the row of a former run into this one, IF status, run, lockToken and done are as observed. Wholly done: stays succeeded with
   * its results. Else → queued: what is done is kept, failures are cleared, attempts 0, lockToken + 1, and no trial.
   */
  abstract move(observed: MovableBatch, run: number): Promise<BatchWrite>;
  /** queued | running → cancelled, IF its run is not newer. */
  abstract cancel(batch: { jobId: string; batchNo: number }, run: number): Promise<BatchWrite>;
}
