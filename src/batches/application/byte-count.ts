import type { Metrics } from '../../shared/index.js';
import type { Dispatched } from './task-source.js';

/**
 * Keeps `bytes_total` at what has arrived: of files that ended here, and of tries that run. A counter cannot be taken back, so what a try had
 * brought that came to nothing is owed, and what arrives next pays for it: no byte of a file counts twice.
 */
export class ByteCount {
  private uncounted = 0;

  constructor(private readonly metrics: Metrics) {}

  /** Of this task so many bytes are here now. */
  tell(task: Dispatched, bytes: number): void {
    this.uncounted += bytes - task.bytesTold;
    task.bytesTold = bytes;
    if (this.uncounted <= 0) return;
    this.metrics.increment('bytes_total', {}, this.uncounted);
    this.uncounted = 0;
  }
}
