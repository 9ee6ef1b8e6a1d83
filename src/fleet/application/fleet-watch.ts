import type { AppLogger } from '../../shared/index.js';
import type { FleetCount } from './fleet-memory.js';

/** Tells once when a coordinator that lived goes silent, and once when it is back. */
export class FleetWatch {
  private alive = new Set<string>();
  private readonly lost = new Set<string>();

  constructor(
    private readonly self: string,
    private readonly logger: AppLogger,
  ) {}

  /** After each look. One that was silent at the first sight is no news: its row is kept for a day. */
  tell({ live, silent }: FleetCount): void {
    for (const coordinator of silent)
      if (coordinator !== this.self && this.alive.has(coordinator)) {
        this.lost.add(coordinator);
        this.logger.warn('A coordinator went silent: its jobs are beaten by others, its batches reclaimed after their TTL', {
          coordinator,
        });
      }
    for (const coordinator of live)
      if (this.lost.delete(coordinator)) this.logger.info('A coordinator that was silent is back', { coordinator });
    this.alive = new Set(live);
  }
}
