import type { AppLogger, Clock } from '../../shared/index.js';

const LOOK_EVERY_MS = 10_000;

/** What should not be possible: so many tasks could have run and nothing started them, or so many jobs wait for nothing at all. */
export type DispatchFault = { started: number } | { jobsThatWait: number };

/**
 * Looks now and then whether tasks wait that could run, while there are any at all. There should never be one, because each change starts
 * what it makes possible: so what it finds is a fault of the dispatcher, said as an error, and a job that would have stood still goes on.
 */
export class DispatchWatchdog {
  private watching: AbortController | undefined;

  constructor(
    private readonly tools: { clock: Clock; logger: AppLogger },
    private readonly wakeUp: () => DispatchFault | undefined,
  ) {}

  watch(isNeeded: boolean): void {
    if (isNeeded === (this.watching !== undefined)) return;
    this.watching?.abort();
    this.watching = undefined;
    if (!isNeeded) return;
    this.watching = new AbortController();
    void this.look(this.watching.signal);
  }

  private async look(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.tools;
    for (;;) {
      await clock.sleep(LOOK_EVERY_MS, signal);
      if (signal.aborted) return;
      const fault = this.wakeUp();
      if (fault !== undefined)
        logger.error('Tasks waited, places were free, and nothing would have started them: a fault of this service', { ...fault });
    }
  }
}
