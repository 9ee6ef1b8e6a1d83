import { describe, expect, it } from '@jest/globals';
import { SystemClock, type Clock } from '../../src/shared/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { RestlessClock } from '../support/restless-clock.js';

/** `pass` lets at least so much time go by. */
interface Subject {
  clock: Clock;
  pass: (ms: number) => Promise<void>;
}

const still = (clock: FakeClock): Subject => ({ clock, pass: (ms) => clock.advance(ms) });
const SUBJECTS: [string, () => Subject][] = [
  ['the system', () => ({ clock: new SystemClock(), pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms + 1)) })],
  ['a clock that stands still', () => still(new FakeClock())],
  ['a restless clock', () => still(new RestlessClock())],
];

describe.each(SUBJECTS)('the Clock of %s', (_name, create) => {
  /** How long after its time each of many sleeps ended. */
  const latenessOf = async (sleep: (clock: Clock, ms: number) => { at: number; over: Promise<void> }) => {
    const { clock, pass } = create();
    // So many that one wakes the process while others are almost due; they begin at all fractions of a millisecond.
    const sleeps = Array.from({ length: 200 }, (_, index) => {
      const { at, over } = sleep(clock, 1 + (index % 10));
      for (const until = performance.now() + 0.03; performance.now() < until;);
      return over.then(() => clock.monotonicMs() - at);
    });
    await pass(20);
    return Promise.all(sleeps);
  };

  it('A sleep never ends early: not before the instant it was meant for', async () => {
    const lateMs = await latenessOf((clock, ms) => {
      const at = clock.monotonicMs() + ms;
      return { at, over: clock.sleepUntil(at) };
    });
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
  });

  it('A sleep never ends early: not before its length is over', async () => {
    const lateMs = await latenessOf((clock, ms) => {
      const from = clock.monotonicMs();
      return { at: from + ms, over: clock.sleep(ms) };
    });
    // A sum of two such numbers is exact to a billionth.
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(-1e-9);
  });

  it('never goes back', () => {
    const { clock } = create();
    const looks = Array.from({ length: 100 }, () => clock.monotonicMs());
    expect(looks).toEqual(looks.toSorted((a, b) => a - b));
  });

  it('ends a sleep for a time that has passed, yet lets all others run first', async () => {
    const { clock, pass } = create();
    const ended: string[] = [];
    const over = [
      clock.sleepUntil(clock.monotonicMs() - 1_000).then(() => ended.push('past')),
      clock.sleep(0).then(() => ended.push('none')),
      new Promise<void>((resolve) => void setImmediate(resolve)).then(() => ended.push('others')),
    ];
    await pass(5);
    await Promise.all(over);
    expect(ended[0]).toBe('others');
    expect(ended.toSorted()).toEqual(['none', 'others', 'past']);
  });

  it('ends a sleep at once when it is aborted, at whatever length', async () => {
    const { clock } = create();
    const abort = new AbortController();
    const over = [5_000, 2 ** 33, Infinity].map((ms) => clock.sleep(ms, abort.signal));
    abort.abort();
    await Promise.all(over);
  });

  it('does not begin a sleep whose signal is aborted already', async () => {
    const { clock } = create();
    await clock.sleep(5_000, AbortSignal.abort());
    await clock.sleepUntil(Infinity, AbortSignal.abort());
  });

  it('A sleep never ends early: it may be longer than one timer of Node can run', async () => {
    const { clock, pass } = create();
    const abort = new AbortController();
    const state = { isOver: false };
    const over = clock.sleep(2 ** 31 + 1_000, abort.signal).then(() => (state.isOver = true));
    await pass(50);
    expect(state.isOver).toBe(false);
    abort.abort();
    await over;
  });
});
