import type { AppLogger, Clock } from '../shared/index.js';

const LOOK_MS = 1_000;
/** What is shorter shows in `event_loop_lag_seconds`. */
const LEAST_MS = 5_000;

/**
 * Says that the process stood still: it was paused, it got no CPU, or its main loop was blocked, which `cpuS` tells apart. Otherwise its
 * log would only show what follows from that: leases lost, batches in other hands, executions gone.
 *
 * Not seen: a host that is suspended as a whole, because the monotonic clock of Linux stands still with it.
 */
export class StandstillWatch {
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  start(): void {
    this.loop ??= this.run(this.stopping.signal);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  private async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const dueAt = this.clock.monotonicMs() + LOOK_MS;
      const cpu = process.cpuUsage();
      await this.clock.sleepUntil(dueAt, signal);
      if (signal.aborted) return;
      const lateMs = this.clock.monotonicMs() - dueAt;
      if (lateMs >= LEAST_MS) this.tell(lateMs, process.cpuUsage(cpu));
    }
  }

  private tell(lateMs: number, { user, system }: NodeJS.CpuUsage): void {
    const stoodStillS = Math.round(lateMs / 1_000);
    this.logger.warn(`This process stood still for ${stoodStillS} s`, {
      stoodStillS,
      cpuS: Math.round((user + system) / 100_000) / 10,
      next: 'it goes on; batches whose lease has run out meanwhile are let go, and others take them over',
    });
  }
}
