import type { BatchEntity } from './batch.entity.js';

/** Unchanged on my own clock for so many batch heartbeat intervals, before stored times may speak. */
const SILENT_INTERVALS = 4;
/** A stale batch is queued again within its TTL and this: who is silent for longer should have been reclaimed. */
const RECLAIM_GRACE_MS = 60_000;

export interface StaleLimits {
  ttlMs: number;
  heartbeatIntervalMs: number;
}

/** What a holder's sign of life looks like: as long as it changes, someone has the batch. */
export function leaseSignature({ run, lockToken, heartbeatAt }: BatchEntity): string {
  return `${run}/${lockToken}/${heartbeatAt ?? ''}`;
}

/** How long a process that knows nothing yet must watch a batch before stored times may speak, in milliseconds. */
export function watchMs(heartbeatIntervalMs: number): number {
  return heartbeatIntervalMs * SILENT_INTERVALS;
}

/**
 * Whether a running batch has lost its holder: this process has seen its sign of life unchanged for a TTL, or the stored times
 * are older than that and it was seen unchanged for four heartbeat intervals. Stored times alone never condemn: hosts' clocks differ.
 * @param unchangedMs how long this process has seen the same sign of life, on its own monotonic clock
 * @param nowMs this host's wall clock, epoch milliseconds
 */
export function isStale(batch: BatchEntity, unchangedMs: number, nowMs: number, limits: StaleLimits): boolean {
  if (unchangedMs > limits.ttlMs) return true;
  if (batch.lockedAt === undefined || unchangedMs < watchMs(limits.heartbeatIntervalMs)) return false;
  return storedSilenceMs(batch, nowMs) > limits.ttlMs;
}

/**
 * Whether there should be no such batch while someone reclaims: as `isStale`, and a minute beyond.
 * @param unchangedMs how long this process has seen the same sign of life, on its own monotonic clock
 */
export function isOverdue(batch: BatchEntity, unchangedMs: number, nowMs: number, { ttlMs, heartbeatIntervalMs }: StaleLimits): boolean {
  return isStale(batch, unchangedMs, nowMs, { ttlMs: ttlMs + RECLAIM_GRACE_MS, heartbeatIntervalMs });
}

/** Overdue as far as stored times tell. They cannot know: the holder's clock may be slow. */
export function isLongSilent(batch: BatchEntity, nowMs: number, ttlMs: number): boolean {
  return storedSilenceMs(batch, nowMs) > ttlMs + RECLAIM_GRACE_MS;
}

/** How long the holder has been silent by the stored times: since its claim or its last heartbeat, whichever is later. */
export function storedSilenceMs({ lockedAt, heartbeatAt, enqueuedAt }: BatchEntity, nowMs: number): number {
  const claimedAt = Date.parse(lockedAt ?? enqueuedAt);
  const beatenAt = heartbeatAt === undefined ? claimedAt : Date.parse(heartbeatAt);
  return Math.max(0, nowMs - Math.max(claimedAt, beatenAt));
}
