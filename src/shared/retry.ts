import { fullJitterMs, type BackoffPolicy } from './backoff.js';
import type { Clock } from './clock.js';

/**
 * Calls `attempt` until it says `done`, waiting out the backoff in between.
 * Ends with `undefined` once the signal is aborted: the caller knows best what giving up means.
 */
export async function retryUntil<T>(
  attempt: (number: number) => Promise<{ done: true; value: T } | { done: false }>,
  options: { clock: Clock; backoff: BackoffPolicy; signal: AbortSignal },
): Promise<T | undefined> {
  for (let number = 1; !options.signal.aborted; number++) {
    const result = await attempt(number);
    if (result.done) return result.value;
    await options.clock.sleep(fullJitterMs(options.backoff, number) + options.backoff.baseMs / 2, options.signal);
  }
  return undefined;
}
