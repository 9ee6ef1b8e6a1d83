import type { MonotonicMs } from '../../shared/index.js';

/** Share of the TTL after which a holder that cannot renew must suppose that someone else has taken over. */
const FENCE = 2 / 3;

/**
 * How long a holder may still work, in milliseconds; 0 or less: abort.
 * @param renewedSince start of the last renewal that succeeded, on this process's monotonic clock: the row cannot be older
 */
export function remainingLeaseMs(renewedSince: MonotonicMs, now: MonotonicMs, ttlMs: number): number {
  return renewedSince + ttlMs * FENCE - now;
}
