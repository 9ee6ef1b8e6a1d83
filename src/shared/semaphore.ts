/** Lets at most `places` pieces of work run at a time; the others wait in order. */
export class Semaphore {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly places: number) {}

  /** Runs `work` when there is room. Answers `undefined`, without running it, when the signal is aborted first. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    while (this.running >= this.places && !signal.aborted) await this.turn(signal);
    if (signal.aborted) return undefined;
    this.running++;
    try {
      return await work();
    } finally {
      this.running--;
      this.waiting.shift()?.();
    }
  }

  private turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        this.waiting.splice(this.waiting.indexOf(go), 1);
        resolve();
      };
      this.waiting.push(go);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
