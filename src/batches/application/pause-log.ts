import { isoIn, type AppLogger, type Clock, type MonotonicMs } from '../../shared/index.js';

/** Of a host's pauses that are shorter one line is written in so long a time: one that refuses every second would fill the log. */
const LINE_EVERY_MS = 10_000;
/** The answers to requests that were under way tell of the same pause, and each of a slightly later end. */
const SAME_END_MS = 10_000;

/** One log line for each pause that a host asks for, and another when it becomes longer. */
export class PauseLog {
  private readonly told = new Map<string, { at: MonotonicMs; until: MonotonicMs }>();

  constructor(
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  /** The host is left alone for so long from now; 0 for one that is not. */
  tell(host: string, forMs: number, now: MonotonicMs): void {
    const until = now + forMs;
    if (forMs === 0 || this.isTold(host, until, now)) return;
    for (const [name, last] of this.told) if (now - last.at > LINE_EVERY_MS && now > last.until) this.told.delete(name);
    this.told.set(host, { at: now, until });
    this.logger.info('A host asks for patience: its files wait until then, and are asked for again', {
      host,
      until: isoIn(this.clock, forMs),
      forS: Math.round(forMs / 100) / 10,
    });
  }

  private isTold(host: string, until: MonotonicMs, now: MonotonicMs): boolean {
    const last = this.told.get(host);
    if (last === undefined) return false;
    if (now < last.until && until < last.until + SAME_END_MS) return true;
    return until - now < LINE_EVERY_MS && now - last.at < LINE_EVERY_MS;
  }
}
