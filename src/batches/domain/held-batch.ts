import type { BatchEntity } from './batch.entity.js';
import { storedSilenceMs } from './stale-batch.js';

/** How a lease looks by the stored times; `late`: more than half of its TTL is gone, `stale`: all of it. */
export type LeaseState = 'healthy' | 'late' | 'stale';

const LATE_SHARE = 0.5;

/** A running batch as people see it. Ages by this host's wall clock against stored times: nothing is decided by them. */
export interface HeldBatch extends LeaseAges {
  readonly jobId: string;
  readonly batchNo: number;
  readonly type: string;
  readonly run: number;
  readonly heldBy?: string;
  readonly lockToken: number;
  readonly attempts: number;
  readonly totalTasks: number;
  readonly completed: number;
  readonly failed: number;
  readonly silentS: number;
  readonly ttlS: number;
  /** `silentS` of `ttlS`: 1 is a whole TTL. */
  readonly share: number;
  readonly state: LeaseState;
}

/** Whole seconds; absent when the row has no such instant. */
export interface LeaseAges {
  readonly lockAgeS?: number;
  readonly heartbeatAgeS?: number;
  readonly progressAgeS?: number;
}

export function heldBatchOf(batch: BatchEntity, nowMs: number, ttlMs: number): HeldBatch {
  const { jobId, batchNo, type, run, lockedBy, lockToken, attempts, totalTasks, completed, failed } = batch;
  const silentMs = storedSilenceMs(batch, nowMs);
  const share = silentMs / ttlMs;
  return {
    jobId,
    batchNo,
    type,
    run,
    lockToken,
    attempts,
    totalTasks,
    completed,
    failed,
    ...(lockedBy === undefined ? {} : { heldBy: lockedBy }),
    ...leaseAges(batch, nowMs),
    silentS: Math.round(silentMs / 1_000),
    ttlS: ttlMs / 1_000,
    share: Math.round(share * 1_000) / 1_000,
    state: share > 1 ? 'stale' : share > LATE_SHARE ? 'late' : 'healthy',
  };
}

export function leaseAges({ lockedAt, heartbeatAt, progressedAt }: BatchEntity, nowMs: number): LeaseAges {
  const ageS = (instant: string) => Math.max(0, Math.round((nowMs - Date.parse(instant)) / 1_000));
  return {
    ...(lockedAt === undefined ? {} : { lockAgeS: ageS(lockedAt) }),
    ...(heartbeatAt === undefined ? {} : { heartbeatAgeS: ageS(heartbeatAt) }),
    ...(progressedAt === undefined ? {} : { progressAgeS: ageS(progressedAt) }),
  };
}
