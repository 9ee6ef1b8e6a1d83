import type { BatchEntity } from '../domain/batch.entity.js';

/** One look at every running batch, which may take several turns: the pages stay where a turn left them. */
export class RunningLook {
  /** Of the batches that it came by. */
  readonly names = new Set<string>();
  /** How many of them are overdue: silent for longer than their TTL and the minute in which a stale batch is reclaimed. */
  overdue = 0;
  isThrough = false;
  private readonly rows: AsyncIterator<BatchEntity[]>;

  constructor(rows: AsyncIterable<BatchEntity[]>) {
    this.rows = rows[Symbol.asyncIterator]();
  }

  /** One page, and more until the time is up: a turn always gets on. */
  async *pages(isTimeUp: () => boolean): AsyncIterable<BatchEntity[]> {
    do {
      const page = await this.rows.next();
      this.isThrough = page.done === true;
      if (page.done === true) return;
      yield page.value;
    } while (!isTimeUp());
  }
}
