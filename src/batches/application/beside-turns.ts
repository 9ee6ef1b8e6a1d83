/**
 * Slow work that no turn waits for, so many pieces at once. What a turn finds takes the place of what still waits from the turn
 * before; what is under way goes on, and is not begun a second time.
 */
export class BesideTurns<T> {
  private queue: readonly T[] = [];
  private work: (piece: T) => Promise<void> = () => Promise.resolve();
  private readonly underWay = new Map<string, Promise<void>>();

  constructor(
    private readonly atOnce: number,
    private readonly nameOf: (piece: T) => string,
  ) {}

  /** What is not begun yet. */
  get waiting(): readonly T[] {
    return this.queue;
  }

  /** @param work never rejects */
  replace(pieces: readonly T[], work: (piece: T) => Promise<void>): void {
    this.queue = pieces.filter((piece) => !this.underWay.has(this.nameOf(piece)));
    this.work = work;
    this.fill();
  }

  /** What waits is not begun any more. */
  clear(): void {
    this.queue = [];
  }

  /** Resolves when nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay.values());
  }

  private fill(): void {
    while (this.underWay.size < this.atOnce) {
      const [next, ...rest] = this.queue;
      if (next === undefined) return;
      this.queue = rest;
      const name = this.nameOf(next);
      const done = this.work(next).finally(() => {
        this.underWay.delete(name);
        this.fill();
      });
      this.underWay.set(name, done);
    }
  }
}
