import { describe } from '@jest/globals';
import { FakeClock } from './fake-clock.js';
import { RestlessClock } from './restless-clock.js';

export type NewClock = (startIso?: string) => FakeClock;

const CLOCKS: [string, NewClock][] = [
  ['a clock that stands still', (startIso) => new FakeClock(startIso)],
  ['a restless clock', (startIso) => new RestlessClock(startIso)],
];

/**
 * One suite on both test clocks: whatever waits must also be right when time passes between two looks. Where a spec says how much time has
 * passed, `clock.about(ms)` is exact on the clock that stands still.
 */
export function onEachClock(title: string, suite: (newClock: NewClock) => void): void {
  describe.each(CLOCKS)(`${title} (on %s)`, (_name, newClock) => suite(newClock));
}
