import { expect } from '@jest/globals';
import type { MonotonicMs } from '../../src/shared/index.js';
import { SeededRandom } from '../chaos/random.js';
import { FakeClock } from './fake-clock.js';

/** Microseconds pass between two looks, as in a process. */
const STEP_MS = { least: 0.001, most: 0.03 };
const MOST_LATE_MS = 1;
/** What the looks and the late sleeps of a spec add up to at most: advance by so much more to see the end of several sleeps in a row. */
export const HAIR_MS = 5;

/**
 * A clock that does all that a Clock may do. Two faults show on it that a clock which stands still hides: code that looks at the time
 * twice and takes both for the same moment, and code that counts on the order or the exact moment in which sleepers wake.
 * - Time passes with each look: no two looks are equal.
 * - A sleep ends up to a millisecond late, never early, as `Clock` promises.
 * - Of the sleepers whose times are less than a millisecond apart, any wakes first.
 * - `approach` lets a chosen look be the first one at which the next sleeper's time has come.
 *
 * The seed decides all of it. `advance` moves on by what it is given, and the looks meanwhile come on top.
 */
export class RestlessClock extends FakeClock {
  readonly #random: SeededRandom;
  #nextStepsMs: number[] = [];

  constructor(startIso?: string, seed = 1) {
    super(startIso);
    this.#random = new SeededRandom(seed, 'clock');
  }

  override monotonicMs(): MonotonicMs {
    this.nowMs += this.#nextStepsMs.shift() ?? this.#between(STEP_MS.least, STEP_MS.most);
    return this.nowMs;
  }

  override about(ms: number, withinMs = HAIR_MS): unknown {
    // closeTo counts digits: it allows half of the last one.
    return expect.closeTo(ms, -Math.log10(2 * withinMs));
  }

  /**
   * Moves to just before the time of the next sleeper, and nobody wakes. That many looks still fall before this time, all later ones
   * fall after it. A decision that needs two looks meets the gap between them at some number.
   */
  approach(looksBefore: number): void {
    const leftMs = this.nextWakeInMs;
    if (leftMs === undefined) throw new Error('nobody sleeps');
    const hairMs = Math.min(leftMs, STEP_MS.most);
    this.jump(leftMs - hairMs);
    this.#nextStepsMs = Array.from({ length: looksBefore + 1 }, () => hairMs / (looksBefore + 0.5));
  }

  protected override choose(dueAts: readonly MonotonicMs[]): number {
    const [first = 0] = dueAts;
    const rivals = dueAts.filter((dueAt) => dueAt < first + MOST_LATE_MS).length;
    return this.#random.integer(0, rivals - 1);
  }

  protected override wakesAt(dueAt: MonotonicMs, endMs: MonotonicMs): MonotonicMs {
    return Math.max(dueAt, Math.min(endMs, dueAt + this.#between(0, MOST_LATE_MS)));
  }

  #between(least: number, most: number): number {
    return least + this.#random.next() * (most - least);
  }
}
