import { expect, it } from '@jest/globals';
import { RepeatedSignal, SystemClock } from '../../../src/shared/index.js';
import { deferred } from '../../support/deferred.js';
import { HAIR_MS, newClock, onEachClock } from '../../support/each-clock.js';
import { settled } from '../../support/fake-clock.js';

onEachClock('a signal', () => {
  it('is the same one for half a second, however often it comes, and a second one after that', async () => {
    const clock = newClock();
    const repeated = new RepeatedSignal(clock);
    expect([repeated.take(), repeated.take()]).toEqual(['first', 'same']);
    await clock.advance(450);
    expect(repeated.take()).toBe('same');
    await clock.advance(50 + HAIR_MS);
    await settled();
    expect([repeated.take(), repeated.take()]).toEqual(['second', 'second']);
    expect(clock.sleepers).toBe(0);
  });
});

it('The same signal again is no second one, although it waited while the event loop was blocked and is read after the timers', async () => {
  const halfASecond = deferred();
  class BlockedClock extends SystemClock {
    override sleepUntil(): Promise<void> {
      return halfASecond.promise;
    }
  }
  const repeated = new RepeatedSignal(new BlockedClock());
  repeated.take();
  halfASecond.resolve();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect(repeated.take()).toBe('same');
  await settled();
  expect(repeated.take()).toBe('second');
});
