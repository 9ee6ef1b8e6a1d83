import { Injectable } from '@nestjs/common';
import { AppError, AppLogger, Clock, Semaphore, toLoggable } from '../../shared/index.js';
import type { ReclaimRecord } from '../domain/reclaim-record.js';
import { ReclaimHistoryPort } from './reclaim-history.port.js';

const AT_ONCE = 8;
const TRIES = 3;
const PAUSE_MS = 500;
/** What history may cost a shutdown: its budget is for what somebody waits for. */
const STOP_LIMIT_MS = 1_000;

/**
 * Writes the history beside the reclaims: a table that is slow or gone holds up nobody. What cannot be written after a few tries, or
 * by the end of a stop, is told in the log and lost; so is what a process that dies had not written yet.
 */
@Injectable()
export class ReclaimRecorderService {
  private readonly places = new Semaphore(AT_ONCE);
  private readonly writing = new Set<Promise<void>>();
  private readonly stopping = new AbortController();

  constructor(
    private readonly history: ReclaimHistoryPort,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  add(reclaim: ReclaimRecord): void {
    const write = this.writeOrTell(reclaim).finally(() => this.writing.delete(write));
    this.writing.add(write);
  }

  /** Resolves when everything added so far is written, or lost. */
  async idle(): Promise<void> {
    await Promise.all(this.writing);
  }

  /** As `idle`, but no longer than a second: what is under way then is broken off, what waits or comes later is not begun. */
  async stop(): Promise<void> {
    const idle = new AbortController();
    void this.clock
      .sleep(STOP_LIMIT_MS, idle.signal)
      .then(() => this.stopping.abort(new AppError('RECORDER_STOPPED', 'The process stops', { disposition: 'yield' })));
    await this.idle();
    idle.abort();
  }

  /** Never rejects. */
  private async writeOrTell(reclaim: ReclaimRecord): Promise<void> {
    const { signal } = this.stopping;
    try {
      const written = await this.places.run(signal, () => this.write(reclaim, signal));
      if (written === undefined) this.tell(reclaim, signal.reason);
    } catch (error) {
      this.tell(reclaim, error);
    }
  }

  private async write(reclaim: ReclaimRecord, signal: AbortSignal): Promise<'written'> {
    for (let tried = 1; ; tried++) {
      try {
        await this.history.record(reclaim, signal);
        return 'written';
      } catch (error) {
        if (tried < TRIES) await this.clock.sleep(PAUSE_MS * tried, signal);
        if (tried === TRIES || signal.aborted) throw error;
      }
    }
  }

  private tell({ jobId, batchNo, lockToken, outcome }: ReclaimRecord, error: unknown): void {
    this.logger.warn('A reclaim is missing in the history', { jobId, batchNo, lockToken, outcome, error: toLoggable(error) });
  }
}
