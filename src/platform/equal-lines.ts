import type { Clock, MonotonicMs } from '../shared/index.js';

const INTERVAL_MS = 10_000;
/** Of that many kinds the number of lines is known; the one that was written longest ago is forgotten first. */
const MAX_KINDS = 200;

/** Lets one line of a kind through every 10 s, and counts the others. */
export class EqualLines {
  /** In the order of their last line. */
  private readonly kinds = new Map<string, { nextAt: MonotonicMs; heldBack: number }>();

  constructor(private readonly clock: Clock) {}

  /** @returns how many were held back since the last line of this kind; `undefined`: this one is held back, too */
  pass(kind: string): number | undefined {
    const now = this.clock.monotonicMs();
    const known = this.kinds.get(kind);
    if (known !== undefined && now < known.nextAt) {
      known.heldBack++;
      return undefined;
    }
    this.kinds.delete(kind);
    const [oldest] = this.kinds.keys();
    if (this.kinds.size >= MAX_KINDS && oldest !== undefined) this.kinds.delete(oldest);
    this.kinds.set(kind, { nextAt: now + INTERVAL_MS, heldBack: 0 });
    return known?.heldBack ?? 0;
  }
}
