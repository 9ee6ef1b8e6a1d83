import type { MonotonicMs } from '../../shared/index.js';

/** Refusals in a row, one after another, after which a bucket that has taken no file of the job is said to refuse it. */
const MAX_REFUSALS = 5;
/** The same for a bucket that has taken files of the job: its policy may only deny one prefix, whose files lie side by side in a list. */
const MAX_REFUSALS_AFTER_STORING = 50;
/** Refusals that cost no pause while the bucket takes other files. */
const FREE_REFUSALS = 5;
/** Five refusals then take at least 15 s: S3 needs some seconds until it knows a new policy, or a new role, everywhere. */
const PAUSE_BASE_MS = 1_000;
const PAUSE_CAP_MS = 8_000;

/**
 * Whether the destination of a job takes its files, as this process sees it.
 *
 *   trusted ─refused─▶ in doubt: one file after another, with pauses ─┬─ one is taken ─▶ trusted
 *                                                                     └─ refusals in a row ─▶ refusing: the job ends
 */
export class DestinationTrust {
  /** Refusals in a row, one after another. */
  private refusals = 0;
  private refusedAt: MonotonicMs = -Infinity;
  /** The last file since then. */
  private triedAt: MonotonicMs = -Infinity;
  private isTold = false;

  /** @param hasTaken whether it has taken a file of the job before */
  constructor(private hasTaken = false) {}

  get isInDoubt(): boolean {
    return this.refusals > (this.hasTaken ? FREE_REFUSALS : 0);
  }

  /** It has taken nothing yet, and may still: a file that it refuses is not to blame. */
  get isUnproven(): boolean {
    return !this.hasTaken && !this.isRefusing;
  }

  get isRefusing(): boolean {
    return this.refusals >= (this.hasTaken ? MAX_REFUSALS_AFTER_STORING : MAX_REFUSALS);
  }

  /** When the next file may be tried; in the past when there is no doubt. A file that takes long to come is not waited for. */
  get opensAt(): MonotonicMs {
    return this.isInDoubt ? Math.max(this.refusedAt + this.pauseMs, this.triedAt + PAUSE_CAP_MS) : -Infinity;
  }

  /** A file of the job starts. */
  tries(now: MonotonicMs): void {
    this.triedAt = now;
  }

  took(): void {
    this.hasTaken = true;
    this.refusals = 0;
  }

  /**
   * A file that started at `startedAt` was refused. Files that were under way together tell of one moment: only one that started after
   * the last refusal is a further one.
   * @returns whether it is the first one at all, which is news
   */
  refused(startedAt: MonotonicMs, now: MonotonicMs): boolean {
    if (this.refusals > 0 && startedAt <= this.refusedAt) return false;
    this.refusals++;
    this.refusedAt = now;
    this.triedAt = -Infinity;
    const isNews = !this.isTold;
    this.isTold = true;
    return isNews;
  }

  private get pauseMs(): number {
    return Math.min(PAUSE_CAP_MS, PAUSE_BASE_MS * 2 ** (this.refusals - 1));
  }
}
