/** Milliseconds of this process's own monotonic clock: comparable with each other only, never stored. */
export type MonotonicMs = number;

/** Wall time is stored, monotonic time is compared. Tests put a clock of their own here. */
export abstract class Clock {
  abstract nowIso(): string;
  abstract monotonicMs(): MonotonicMs;

  /**
   * Resolves once `monotonicMs()` is `at` or later, or at once when the signal is aborted; never rejects. Does not hold the process alive.
   * It never ends early: who wakes without an abort need not look whether its time has come.
   */
  abstract sleepUntil(at: MonotonicMs, signal?: AbortSignal): Promise<void>;

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.sleepUntil(this.monotonicMs() + ms, signal);
  }
}

/** Node takes a longer timer for one of 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class SystemClock extends Clock {
  nowIso(): string {
    return new Date().toISOString();
  }

  monotonicMs(): MonotonicMs {
    return performance.now();
  }

  sleepUntil(at: MonotonicMs, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      // A timer fires up to 1 ms before its time, because Node counts whole milliseconds: what is left is waited for with another one.
      const wait = () => setTimeout(look, Math.min(Math.ceil(at - performance.now()), MAX_TIMER_MS)).unref();
      const look = () => {
        if (performance.now() < at) timer = wait();
        else done();
      };
      let timer = wait();
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}

/** The `ttl` of a row that ended now, in epoch seconds: DynamoDB forgets it some time after that. */
export function expiryS(clock: Clock, retentionDays: number): number {
  return Math.floor(Date.parse(clock.nowIso()) / 1_000) + retentionDays * 86_400;
}

/** The wall time in so many milliseconds, for people. */
export function isoIn(clock: Clock, ms: number): string {
  return new Date(Date.parse(clock.nowIso()) + ms).toISOString();
}
