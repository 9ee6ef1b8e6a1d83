import { expect, it } from '@jest/globals';
import { StandstillWatch } from '../../../src/platform/standstill-watch.js';
import { newClock, onEachClock } from '../../support/each-clock.js';
import { RecordingLogger } from '../../support/fakes/recording-logger.js';

onEachClock('a process that stood still', () => {
  it('says for how long, once for each time, and nothing of short delays', async () => {
    const clock = newClock();
    const logger = new RecordingLogger();
    const watch = new StandstillWatch(clock, logger);
    watch.start();
    await clock.advance(5_000);
    clock.jump(4_000);
    await clock.advance(5_000);
    expect(logger.events).toEqual([]);
    clock.jump(174_000);
    await clock.advance(30_000);
    clock.jump(9_000);
    await clock.advance(2_000);
    expect(logger.messages('warn')).toHaveLength(2);
    const [first, second] = logger.events.map(({ fields }) => Number(fields.stoodStillS));
    expect(Math.abs(Number(first) - 173)).toBeLessThanOrEqual(1);
    expect(Math.abs(Number(second) - 8)).toBeLessThanOrEqual(1);
    expect(logger.messages('warn')[0]).toBe(`This process stood still for ${first} s`);
    await watch.stop();
    expect(clock.sleepers).toBe(0);
  });

  it('ends nothing that was not begun', async () => {
    await new StandstillWatch(newClock(), new RecordingLogger()).stop();
  });
});
