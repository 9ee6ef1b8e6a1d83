import type { MonotonicMs } from '../../shared/index.js';

/** Share of the TTL after which a holder that cannot renew must suppose that someone else has taken over. */
const FENCE = 2 / 3;

/**
 * Until when a holder may work without another renewal.
 * @param renewedSince start of the last renewal that succeeded, on this process's monotonic clock: the row cannot be older
 */
export function localFenceAt(renewedSince: MonotonicMs, ttlMs: number): MonotonicMs {
  return renewedSince + ttlMs * FENCE;
}
