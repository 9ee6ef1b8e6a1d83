/** Milliseconds of this process's own monotonic clock: comparable with each other only, never stored. */
export type MonotonicMs = number;

/** Wall time is stored, monotonic time is compared. Tests put a clock of their own here. */
export abstract class Clock {
  abstract nowIso(): string;
  abstract monotonicMs(): MonotonicMs;
  /** Resolves after `ms`, or at once when the signal is aborted; never rejects. Does not hold the process alive. */
  abstract sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export class SystemClock extends Clock {
  nowIso(): string {
    return new Date().toISOString();
  }

  monotonicMs(): MonotonicMs {
    return performance.now();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      timer.unref();
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}

/** The `ttl` of a row that ended now, in epoch seconds: DynamoDB forgets it some time after that. */
export function expiryS(clock: Clock, retentionDays: number): number {
  return Math.floor(Date.parse(clock.nowIso()) / 1_000) + retentionDays * 86_400;
}
