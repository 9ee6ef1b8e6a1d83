/**
 * `places` for pieces of work. Those who wait for a place get one in the order in which they came.
 */
export class Semaphore {
  private readonly line: (() => void)[] = [];

  constructor(private free: number) {}

  /**
   * Runs `work` when there is room. Answers `undefined`, without running it, when the signal is
   * aborted first.
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    if (!(await this.take(signal))) return undefined;
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  /** True: a place is the caller's, who releases it. False: the signal was aborted first. */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.free > 0) {
      this.free--;
      return true;
    }
    const given = await this.inLine(signal);
    if (!given || !signal.aborted) return given;
    this.release();
    return false;
  }

  /**
   * The place goes straight to whoever has waited longest, because a newcomer could otherwise take
   * it again and again.
   */
  release(): void {
    const next = this.line.shift();
    if (next === undefined) this.free++;
    else next();
  }

  private inLine(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const given = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = () => {
        this.line.splice(this.line.indexOf(given), 1);
        resolve(false);
      };
      this.line.push(given);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
