import type { BatchEntity } from './batch.entity.js';
import { leaseAges, type LeaseAges } from './held-batch.js';

export type ReclaimedAs = 'requeued' | 'given-up';

/** One reclaim, as the history keeps it; ages are those of the lease that was taken. */
export interface ReclaimRecord extends LeaseAges {
  readonly jobId: string;
  readonly batchNo: number;
  readonly run: number;
  /** The batch's attempts after the reclaim: reclaims in a row without progress. */
  readonly attempt: number;
  /** Of the lease that was taken: no two reclaims of a batch have the same. */
  readonly lockToken: number;
  readonly outcome: ReclaimedAs;
  readonly reclaimedAt: string;
  /** coordinatorId of the reclaimer. */
  readonly reclaimedBy: string;
  readonly heldBy?: string;
  readonly lastError?: string;
  readonly reclaimId: string;
  readonly completed: number;
  readonly failed: number;
}

/**
 * @param observed the row as its silent holder left it
 * @param row what the reclaim made of it
 */
export function reclaimRecordOf(
  observed: BatchEntity,
  row: BatchEntity,
  by: { outcome: ReclaimedAs; reclaimId: string; reclaimedBy: string; reclaimedAt: string },
): ReclaimRecord {
  const { jobId, batchNo, run, lockToken, lockedBy } = observed;
  const { attempts: attempt, completed, failed, lastError } = row;
  return {
    jobId,
    batchNo,
    run,
    attempt,
    lockToken,
    completed,
    failed,
    ...by,
    ...leaseAges(observed, Date.parse(by.reclaimedAt)),
    ...(lockedBy === undefined ? {} : { heldBy: lockedBy }),
    ...(lastError === undefined ? {} : { lastError }),
  };
}
