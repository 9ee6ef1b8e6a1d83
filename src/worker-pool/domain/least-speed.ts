import { TransferError } from './transfer-error.js';

const WINDOW_MS = 60_000;
const STEPS = 10;

interface Step {
  waitedMs: number;
  bytes: number;
}

/**
 * Holds a source to a least speed over the last minute of reading time, so that one which sends a byte now and then does not keep its place
 * for hours. Reading time is the time for which reads waited and then got bytes: neither the time in which nobody reads, because of memory or
 * S3, nor a wait that nothing ends, which has a deadline of its own. One object serves a file through all its resumes, which would otherwise
 * begin the minute again. A body that is shorter than a minute's worth is held to the same: after a minute it must be here.
 */
export class LeastSpeed {
  private readonly steps: Step[] = [];
  private current: Step = { waitedMs: 0, bytes: 0 };

  constructor(
    private readonly minBytesPerSecond: number,
    private readonly windowMs = WINDOW_MS,
  ) {}

  /**
   * A read waited so long and got so many bytes.
   * @throws TransferError `SOURCE_TOO_SLOW`, retryable
   */
  note(waitedMs: number, bytes: number): void {
    this.current.waitedMs += waitedMs;
    this.current.bytes += bytes;
    if (this.current.waitedMs < this.windowMs / STEPS) return;
    this.steps.push(this.current);
    this.current = { waitedMs: 0, bytes: 0 };
    this.judge();
  }

  private judge(): void {
    let waitedMs = 0;
    let bytes = 0;
    let from = this.steps.length;
    while (from > 0 && waitedMs < this.windowMs) {
      from -= 1;
      waitedMs += this.steps[from]?.waitedMs ?? 0;
      bytes += this.steps[from]?.bytes ?? 0;
    }
    this.steps.splice(0, from);
    if (waitedMs < this.windowMs || bytes >= (this.minBytesPerSecond * waitedMs) / 1_000) return;
    const what = `${bytes} bytes in ${Math.round(waitedMs / 1_000)} s of reading, fewer than ${this.minBytesPerSecond} a second`;
    throw new TransferError('SOURCE_TOO_SLOW', `the source sends too slowly: ${what} (MIN_BYTES_PER_SECOND)`, { retryable: true });
  }
}
