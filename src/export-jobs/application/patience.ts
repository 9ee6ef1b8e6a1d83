import type { Clock, MonotonicMs } from '../../shared/index.js';

/** Runs out when nothing has moved for a while, on a clock on which sleeps may end early and time passes between two looks. */
export class Patience {
  private readonly over = new AbortController();
  private readonly ended = new AbortController();
  private movedAt: MonotonicMs;

  constructor(
    private readonly limitMs: number,
    private readonly clock: Clock,
  ) {
    this.movedAt = clock.monotonicMs();
    void this.watch();
  }

  /** Aborted when it has run out. */
  get signal(): AbortSignal {
    return this.over.signal;
  }

  moved(): void {
    this.movedAt = this.clock.monotonicMs();
  }

  end(): void {
    this.ended.abort();
  }

  private async watch(): Promise<void> {
    for (let leftMs = this.limitMs; leftMs > 0; leftMs = this.movedAt + this.limitMs - this.clock.monotonicMs()) {
      await this.clock.sleep(leftMs, this.ended.signal);
      if (this.ended.signal.aborted) return;
    }
    this.over.abort();
  }
}
