/** So much of each list does not count, because a small list must not wait for the long ones. */
const FREE_BYTES = 16 * 1024 * 1024;

/**
 * How many bytes of lists may lie in the temporary folder together. Lists that are read at the same
 * time grow together: without a budget they fill the disk together, and all of them fail.
 *
 * A list that finds no room waits until others have been disposed of. The eldest of the long ones
 * never waits, because a list gives its room back only once it has come to its end. So the disk must
 * hold the budget, one whole list, and 16 MiB for each list that is open.
 */
export class SpoolBudget {
  private usedBytes = 0;
  /** Of long lists, by age. */
  private readonly shares = new Set<SpoolShare>();
  private readonly line: { share: SpoolShare; bytes: number; goOn: () => void }[] = [];

  constructor(
    private readonly maxBytes: number,
    private readonly freeBytes = FREE_BYTES,
  ) {}

  /** For one list; it is given back with `release`. */
  share(): SpoolShare {
    return new SpoolShare(this, this.freeBytes);
  }

  /** For shares. True: the bytes are the share's now. */
  take(share: SpoolShare, bytes: number): boolean {
    this.shares.add(share);
    const [eldest] = this.shares;
    if (share !== eldest && this.usedBytes + bytes > this.maxBytes) return false;
    this.usedBytes += bytes;
    return true;
  }

  /** For shares. True: the bytes are the share's now. False: the signal was aborted first. */
  wait(share: SpoolShare, bytes: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const goOn = () => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const place = { share, bytes, goOn };
      const leave = () => {
        this.line.splice(this.line.indexOf(place), 1);
        resolve(false);
      };
      if (signal.aborted) return resolve(false);
      this.line.push(place);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** For shares. */
  giveBack(share: SpoolShare, bytes: number): void {
    this.shares.delete(share);
    this.usedBytes -= bytes;
    const granted = this.line.filter((place) => this.take(place.share, place.bytes));
    for (const place of granted) {
      this.line.splice(this.line.indexOf(place), 1);
      place.goOn();
    }
  }
}

/** What one list has of the budget. */
export class SpoolShare {
  private takenBytes = 0;
  private wantedBytes = 0;

  constructor(
    private readonly budget: SpoolBudget,
    private readonly freeBytes: number,
  ) {}

  /**
   * Before so many more bytes are written. `undefined`: they may be. Otherwise there is no room for
   * them now, and the function waits for it, or for the signal.
   */
  grow(bytes: number): ((signal: AbortSignal) => Promise<void>) | undefined {
    this.wantedBytes += bytes;
    const more = Math.max(0, this.wantedBytes - this.freeBytes) - this.takenBytes;
    if (more <= 0) return undefined;
    if (this.budget.take(this, more)) {
      this.takenBytes += more;
      return undefined;
    }
    return async (signal) => {
      if (await this.budget.wait(this, more, signal)) this.takenBytes += more;
    };
  }

  /** Its files are gone. */
  release(): void {
    this.budget.giveBack(this, this.takenBytes);
    this.takenBytes = 0;
  }
}
