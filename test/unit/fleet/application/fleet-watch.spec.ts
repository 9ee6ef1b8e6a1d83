import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { onEachClock } from '../../../support/each-clock.js';
import { aFleet } from '../../../support/fleet.js';

let w: ReturnType<typeof aFleet>;
let me: ReturnType<ReturnType<typeof aFleet>['coordinator']>;
let other: typeof me;
beforeEach(async () => {
  w = aFleet();
  [me, other] = [w.coordinator('me'), w.coordinator('other')];
  await Promise.all([me.heartbeat.start(), other.heartbeat.start()]);
  await w.beats(3);
});
afterEach(() => Promise.all([me.heartbeat.stop(), other.heartbeat.stop()]));

const silences = () => me.logger.events.filter(({ message }) => message.startsWith('A coordinator went silent'));

onEachClock('a coordinator that goes silent', () => {
  it('is one warning on another one, within four heartbeat intervals', async () => {
    await other.heartbeat.stop();
    expect(silences()).toEqual([]);
    await w.beats(5);
    expect(silences()).toMatchObject([{ level: 'warn', fields: { coordinator: 'other' } }]);
    await w.beats(20);
    expect(silences()).toHaveLength(1);
  });

  it('is told of when it is back, and when it goes silent again', async () => {
    await other.heartbeat.stop();
    await w.beats(5);
    other = w.coordinator('other');
    await other.heartbeat.start();
    await w.beats(2);
    expect(me.logger.messages('info')).toContain('A coordinator that was silent is back');
    await other.heartbeat.stop();
    await w.beats(5);
    expect(silences()).toHaveLength(2);
  });

  it('is none when it leaves', async () => {
    other.heartbeat.quiesce();
    await w.beats(1);
    await other.heartbeat.stop();
    await w.beats(10);
    expect(silences()).toEqual([]);
  });

  it('is none when it was silent before anybody looked', async () => {
    await other.heartbeat.stop();
    await w.beats(10);
    const late = w.coordinator('late');
    await late.heartbeat.start();
    await w.beats(5);
    await late.heartbeat.stop();
    expect(late.logger.messages('warn')).toEqual([]);
  });
});
