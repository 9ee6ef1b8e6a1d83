import { Clock, type MonotonicMs } from '../../src/shared/index.js';

interface Sleeper {
  dueAt: MonotonicMs;
  wake: () => void;
}

/** A clock that moves only by `advance`. Sleepers wake in the order of their time, each with everything it sets off. */
export class FakeClock extends Clock {
  readonly #startEpochMs: number;
  readonly #sleepers = new Set<Sleeper>();
  protected nowMs: MonotonicMs = 0;

  constructor(startIso = '2026-01-01T00:00:00.000Z') {
    super();
    this.#startEpochMs = Date.parse(startIso);
  }

  nowIso(): string {
    return new Date(this.#startEpochMs + this.nowMs).toISOString();
  }

  monotonicMs(): MonotonicMs {
    return this.nowMs;
  }

  sleepUntil(at: MonotonicMs, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { dueAt: at, wake };
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
    const [next] = this.#inOrder();
    return next === undefined ? undefined : next.dueAt - this.nowMs;
  }

  /** What a spec expects where `ms` should have passed, for `toEqual`: exactly so many here, on the restless clock within `withinMs`. */
  about(ms: number, _withinMs?: number): unknown {
    return ms;
  }

  /** Time passes and nobody wakes, as in a process that is frozen. */
  jump(ms: number): void {
    this.nowMs += ms;
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    await settled();
    for (let next = this.#nextBy(endMs); next !== undefined; next = this.#nextBy(endMs)) {
      this.nowMs = Math.max(this.nowMs, this.wakesAt(next.dueAt, endMs));
      next.wake();
      await settled();
    }
    this.nowMs = Math.max(this.nowMs, endMs);
  }

  /** Which of the sleepers wakes next; they come in the order of their time. */
  protected choose(dueAts: readonly MonotonicMs[]): number {
    return dueAts.length > 0 ? 0 : -1;
  }

  /** When a sleeper really wakes. */
  protected wakesAt(dueAt: MonotonicMs, _endMs: MonotonicMs): MonotonicMs {
    return dueAt;
  }

  #nextBy(endMs: MonotonicMs): Sleeper | undefined {
    const due = this.#inOrder().filter(({ dueAt }) => dueAt <= endMs);
    return due[this.choose(due.map(({ dueAt }) => dueAt))];
  }

  #inOrder(): Sleeper[] {
    return [...this.#sleepers].sort((a, b) => a.dueAt - b.dueAt);
  }
}

/** Resolves once every promise that can settle without a timer or I/O has settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
