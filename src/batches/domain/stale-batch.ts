import type { BatchEntity } from './batch.entity.js';

/** Unchanged on my own clock for so many batch heartbeat intervals, before stored times may speak. */
const SILENT_INTERVALS = 4;

export interface StaleLimits {
  ttlMs: number;
  heartbeatIntervalMs: number;
}

/** What a holder's sign of life looks like: as long as it changes, someone has the batch. */
export function leaseSignature({ run, lockToken, heartbeatAt }: BatchEntity): string {
  return `${run}/${lockToken}/${heartbeatAt ?? ''}`;
}

/**
 * Whether a running batch has lost its holder: this process has seen its sign of life unchanged for a TTL, or the stored times
 * are older than that and it was seen unchanged for four heartbeat intervals. Stored times alone never condemn: hosts' clocks differ.
 * @param unchangedMs how long this process has seen the same sign of life, on its own monotonic clock
 * @param nowMs this host's wall clock, epoch milliseconds
 */
export function isStale(batch: BatchEntity, unchangedMs: number, nowMs: number, limits: StaleLimits): boolean {
  if (unchangedMs > limits.ttlMs) return true;
  const { lockedAt } = batch;
  if (lockedAt === undefined || unchangedMs < limits.heartbeatIntervalMs * SILENT_INTERVALS) return false;
  const isOld = (instant: string) => nowMs - Date.parse(instant) > limits.ttlMs;
  return isOld(lockedAt) && isOld(batch.heartbeatAt ?? lockedAt);
}

/** How long the holder has been silent by the stored times, in seconds: for people, never for a decision. */
export function silentSeconds(batch: BatchEntity, nowMs: number): number {
  return Math.max(0, Math.round((nowMs - Date.parse(batch.heartbeatAt ?? batch.lockedAt ?? batch.enqueuedAt)) / 1_000));
}
