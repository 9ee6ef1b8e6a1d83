import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, Semaphore, toLoggable } from '../../shared/index.js';
import type { ReclaimRecord } from '../domain/reclaim-record.js';
import { ReclaimHistoryPort } from './reclaim-history.port.js';

const AT_ONCE = 8;
const TRIES = 3;
const PAUSE_MS = 500;

/**
 * Writes the history beside the reclaims: a table that is slow or gone holds up nobody. What cannot be written after a few tries is
 * told in the log and lost; so is what a process that dies had not written yet.
 */
@Injectable()
export class ReclaimRecorderService {
  private readonly places = new Semaphore(AT_ONCE);
  private readonly writing = new Set<Promise<void>>();

  constructor(
    private readonly history: ReclaimHistoryPort,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  add(reclaim: ReclaimRecord): void {
    const write = this.places.run(new AbortController().signal, () => this.write(reclaim)).finally(() => this.writing.delete(write));
    this.writing.add(write);
  }

  /** Resolves when everything added so far is written, or lost. */
  async idle(): Promise<void> {
    await Promise.all(this.writing);
  }

  private async write(reclaim: ReclaimRecord): Promise<void> {
    for (let tried = 1; ; tried++) {
      try {
        return await this.history.record(reclaim);
      } catch (error) {
        if (tried === TRIES) {
          const { jobId, batchNo, lockToken, outcome } = reclaim;
          return this.logger.warn('A reclaim is missing in the history', { jobId, batchNo, lockToken, outcome, error: toLoggable(error) });
        }
        await this.clock.sleep(PAUSE_MS * tried);
      }
    }
  }
}
