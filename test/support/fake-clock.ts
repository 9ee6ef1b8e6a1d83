import { Clock, type MonotonicMs } from '../../src/shared/index.js';

interface Sleeper {
  dueAt: MonotonicMs;
  wake: () => void;
}

/** A clock that moves only by `advance`. Sleepers wake in the order of their time, each with everything it sets off. */
export class FakeClock extends Clock {
  readonly #startEpochMs: number;
  readonly #sleepers = new Set<Sleeper>();
  #nowMs = 0;

  constructor(startIso = '2026-01-01T00:00:00.000Z') {
    super();
    this.#startEpochMs = Date.parse(startIso);
  }

  nowIso(): string {
    return new Date(this.#startEpochMs + this.#nowMs).toISOString();
  }

  monotonicMs(): MonotonicMs {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { dueAt: this.#nowMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** How many sleeps are under way: 0 when nothing was left running. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  /** Milliseconds until the next sleeper wakes; undefined when nobody sleeps. */
  get nextWakeInMs(): number | undefined {
    const next = this.#next();
    return next === undefined ? undefined : next.dueAt - this.#nowMs;
  }

  /** Time passes and nobody wakes, as in a process that is frozen. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await settled();
    for (let next = this.#next(); next !== undefined && next.dueAt <= endMs; next = this.#next()) {
      this.#nowMs = Math.max(this.#nowMs, next.dueAt);
      next.wake();
      await settled();
    }
    this.#nowMs = endMs;
  }

  #next(): Sleeper | undefined {
    let next: Sleeper | undefined;
    for (const sleeper of this.#sleepers) if (next === undefined || sleeper.dueAt < next.dueAt) next = sleeper;
    return next;
  }
}

/** Resolves once every promise that can settle without a timer or I/O has settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
