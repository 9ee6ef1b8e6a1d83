import { afterAll, beforeAll, describe } from '@jest/globals';
import { FakeClock } from './fake-clock.js';
import { RestlessClock } from './restless-clock.js';

export { HAIR_MS } from './restless-clock.js';

export type NewClock = (startIso?: string) => FakeClock;

const standsStill: NewClock = (startIso) => new FakeClock(startIso);
const CLOCKS: [string, NewClock][] = [
  ['a clock that stands still', standsStill],
  ['a restless clock', (startIso) => new RestlessClock(startIso)],
];

let create = standsStill;

/** A clock of the kind that the suite runs on at the moment. */
export const newClock: NewClock = (startIso) => create(startIso);

/**
 * One suite on both test clocks: whatever waits must also be right when time passes between two looks. The builders of `test/support` take
 * a `newClock()`. Where a spec says how much time has passed, `clock.about(ms)` is exact on the clock that stands still.
 */
export function onEachClock(title: string, suite: (newClock: NewClock) => void): void {
  for (const [name, createOne] of CLOCKS)
    describe(`${title} (on ${name})`, () => {
      beforeAll(() => {
        create = createOne;
      });
      afterAll(() => {
        create = standsStill;
      });
      suite(newClock);
    });
}
