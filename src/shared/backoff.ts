/** Exponential growth from `baseMs`, doubled at each attempt, never above `capMs`. */
export interface BackoffPolicy {
  baseMs: number;
  capMs: number;
}

/** Full jitter: anywhere between nothing and the exponential limit of this attempt (1, 2, 3 …). */
export function fullJitterMs(policy: BackoffPolicy, attempt: number, random: () => number = Math.random): number {
  return Math.floor(random() * Math.min(policy.capMs, policy.baseMs * 2 ** (attempt - 1)));
}
