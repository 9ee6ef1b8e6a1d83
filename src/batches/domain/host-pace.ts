import type { MonotonicMs } from '../../shared/index.js';

/** After a refusal starts go on at so much less than what was learned from it. */
const BACK_OFF_SHARE = 0.15;
/** How long the climb back to the learned rate takes. As long again, and the rate is above it by the same share. */
const CLIMB_MS = 6_000;
/** A little less than was served is learned, so that the climb levels off below the host's limit. */
const LEARNED_SHARE = 0.95;
/** Without a refusal for so long, the rate has left the learned one far behind: the limit is gone. */
const FORGET_AFTER_MS = 5 * CLIMB_MS;
/** Nothing slower is learned. */
const MIN_RATE_PER_S = 0.5;
/** The served rate is taken over this time before a refusal, or since the last pause if that is less, but over no less than a second. */
const MEASURE_MS = 2_000;
const MIN_MEASURE_MS = 1_000;
const SLICE_MS = 100;
/** A timer that fires late may be made up for by so much. */
const CATCH_UP_MS = 20;
/** A first burst of which less was served says too little about the limit: it is sought from below. */
const TELLING_SHARE = 0.3;
/** While it is sought, the rate doubles in this time. */
const SEEK_DOUBLES_MS = 1_000;

/** What is known of a refusal until starts go on: answers to tasks that were under way with the refused one still belong to it. */
interface Refusal {
  at: MonotonicMs;
  /** Starts per second at that moment. */
  rate: number;
  measureMs: number;
  served: number;
  refused: number;
}

/**
 * How many tasks per second a host bears, learned from its refusals and from what it served around them.
 *
 *   no limit known ──refused──▶ climbing: from 85 % of what was served back to it in 6 s, level there, then slowly beyond
 *        ▲   │                     │  ▲ └─refused: climbing anew, from what was served just now
 *        │   └─refused, and little─┼──┘
 *        │     served before ──▶ seeking: doubled every second ──refused──▶ climbing, from between the two
 *        └── 30 s without a refusal ┘
 *
 * The climb is the curve of CUBIC (RFC 9438): quick while far below the last refusal, flat near it, quick again when nothing refuses.
 * A refusal before anything was served since the last one says nothing about the rate: the host is still closed.
 */
export class HostPace {
  private learned = Infinity;
  private isSeeking = false;
  private refusal: Refusal | undefined;
  /** When starts went on after the last refusal. */
  private resumedAt: MonotonicMs = -Infinity;
  private servedSince = 0;
  private nextStartAt: MonotonicMs = -Infinity;
  /** What was served lately, newest last. */
  private slices: { since: MonotonicMs; served: number }[] = [];

  /** No task starts before. */
  get opensAt(): MonotonicMs {
    return this.nextStartAt;
  }

  /** Whether it keeps starts apart at all. */
  isLimited(now: MonotonicMs): boolean {
    return this.refusal === undefined ? this.rateAt(now) !== Infinity : now - this.nextStartAt <= FORGET_AFTER_MS;
  }

  /** A task that started at `startedAt` was served. */
  served(startedAt: MonotonicMs, now: MonotonicMs): void {
    if (this.refusal !== undefined && startedAt <= this.refusal.at) {
      this.refusal.served++;
      return;
    }
    this.servedSince++;
    const last = this.slices.at(-1);
    if (last !== undefined && now - last.since < SLICE_MS) last.served++;
    else this.slices = [...this.slices.filter(({ since }) => now - since <= MEASURE_MS), { since: now, served: 1 }];
  }

  /** The host refused a task that started at `startedAt`; no task starts before `resumesAt`. */
  refused(startedAt: MonotonicMs, now: MonotonicMs, resumesAt: MonotonicMs): void {
    this.nextStartAt = Math.max(this.nextStartAt, resumesAt);
    if (this.refusal !== undefined) {
      this.refusal.refused++;
      return;
    }
    // Under way since before the last pause, or the host is still closed.
    if (startedAt < this.resumedAt || (this.resumedAt !== -Infinity && this.servedSince === 0)) return;
    const recent = this.slices.filter(({ since }) => now - since <= MEASURE_MS);
    const served = recent.reduce((sum, slice) => sum + slice.served, 0);
    const measureMs = Math.max(MIN_MEASURE_MS, now - (recent[0]?.since ?? now));
    this.refusal = { at: now, rate: this.rateAt(now), measureMs, served, refused: 1 };
  }

  started(now: MonotonicMs): void {
    if (this.refusal !== undefined) this.learn(this.refusal, now);
    const rate = this.rateAt(now);
    if (rate !== Infinity) this.nextStartAt = Math.max(this.nextStartAt, now - CATCH_UP_MS) + 1_000 / rate;
  }

  private learn({ rate, measureMs, served, refused }: Refusal, now: MonotonicMs): void {
    const servedRate = (served * 1_000) / measureMs;
    // Sought from below, the limit lies between what was served while the rate rose and the rate that was refused.
    const bearable = this.isSeeking ? Math.sqrt(servedRate * rate) : Math.min(rate, servedRate);
    this.isSeeking = rate === Infinity && served < TELLING_SHARE * (served + refused);
    this.learned = Math.max(MIN_RATE_PER_S, bearable * LEARNED_SHARE);
    this.refusal = undefined;
    this.resumedAt = now;
    this.servedSince = 0;
    this.slices = [];
  }

  private rateAt(now: MonotonicMs): number {
    const sinceMs = now - this.resumedAt;
    if (sinceMs > FORGET_AFTER_MS) this.forget();
    if (this.learned === Infinity) return Infinity;
    if (this.isSeeking) return this.learned * 2 ** (sinceMs / SEEK_DOUBLES_MS);
    return this.learned * (1 + BACK_OFF_SHARE * ((sinceMs - CLIMB_MS) / CLIMB_MS) ** 3);
  }

  private forget(): void {
    this.learned = Infinity;
    this.isSeeking = false;
  }
}
