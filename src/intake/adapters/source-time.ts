import { AppError, type Clock, type MonotonicMs } from '../../shared/index.js';
import { ExpansionTurn } from '../application/expansion-turns.js';

/**
 * How long a list's source may take in all. The time runs only while we wait for the source, because
 * a list also waits for its turn and for room on the disk, which is not the source's fault.
 */
export class SourceTime {
  private readonly late = new AbortController();
  private leftMs: number;
  /** Waits that are under way: a parser may read ahead. */
  private waits = 0;
  private since: MonotonicMs = 0;
  private heard = new AbortController();

  constructor(
    private readonly limitMs: number,
    private readonly clock: Clock,
  ) {
    this.leftMs = limitMs;
  }

  /** Aborted with the error to tell once the source has taken too long. */
  get isOver(): AbortSignal {
    return this.late.signal;
  }

  async during<T>(wait: () => Promise<T>): Promise<T> {
    if (this.waits++ === 0) this.start();
    try {
      return await wait();
    } finally {
      if (--this.waits === 0) this.stop();
    }
  }

  private start(): void {
    this.heard = new AbortController();
    this.since = this.clock.monotonicMs();
    void this.endAt(this.since + this.leftMs, this.heard.signal);
  }

  private async endAt(at: MonotonicMs, heard: AbortSignal): Promise<void> {
    await this.clock.sleepUntil(at, heard);
    if (!heard.aborted) this.late.abort(tooSlow(this.limitMs));
  }

  private stop(): void {
    this.heard.abort();
    this.leftMs -= this.clock.monotonicMs() - this.since;
  }
}

/** A turn whose waits for the source take of its time. */
export class TimedTurn extends ExpansionTurn {
  constructor(
    private readonly turn: ExpansionTurn,
    private readonly time: SourceTime,
  ) {
    super();
  }

  override whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    return this.turn.whileWaiting(() => this.time.during(wait));
  }

  override whileInLine<T>(wait: () => Promise<T>): Promise<T> {
    return this.turn.whileInLine(wait);
  }
}

function tooSlow(limitMs: number): AppError {
  return new AppError(
    'MANIFEST_TIMEOUT',
    `The manifest was waited for during ${limitMs / 1_000} s and did not come to its end: its source is too slow, or TASK_TIMEOUT_MS too short`,
    { disposition: 'reject' },
  );
}
