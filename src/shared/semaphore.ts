/** `true`: the place is the waiter's; `false`: its signal was aborted. */
type Waiter = (hasPlace: boolean) => void;

/** Lets at most `places` pieces of work run at a time; the others wait in order. A place that becomes free is given to the first of them. */
export class Semaphore {
  private taken = 0;
  private readonly waiting = new Set<Waiter>();

  constructor(private readonly places: number) {}

  /** Runs `work` when there is room. Answers `undefined`, without running it, when the signal is aborted first. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    if (signal.aborted) return undefined;
    if (this.taken < this.places) this.taken++;
    else if (!(await this.place(signal))) return undefined;
    try {
      // It may have been aborted since it was given its place.
      return signal.aborted ? undefined : await work();
    } finally {
      this.leave();
    }
  }

  private place(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = () => waiter(false);
      const waiter: Waiter = (hasPlace) => {
        this.waiting.delete(waiter);
        signal.removeEventListener('abort', leave);
        resolve(hasPlace);
      };
      this.waiting.add(waiter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  private leave(): void {
    const [next] = this.waiting;
    if (next === undefined) this.taken--;
    else next(true);
  }
}
