import { beforeEach, expect, it, jest } from '@jest/globals';
import { ReclaimLoop } from '../../../../src/batches/adapters/reclaim.loop.js';
import { deferred } from '../../../support/deferred.js';
import { HAIR_MS, onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import { aReclaimWorld, aHopeless, aSilent } from '../../../support/reclaimer.js';

const INTERVAL_MS = 15_000;
/** An interval and the most that is added to it. */
const LONGEST_WAIT_MS = INTERVAL_MS * 1.1;

let w: ReturnType<typeof aReclaimWorld>;
let loop: ReclaimLoop;

beforeEach(() => {
  w = aReclaimWorld();
  loop = aLoop();
});

const aLoop = (enabled = true) =>
  new ReclaimLoop({ enabled, intervalMs: INTERVAL_MS }, w.reclaimer().reclaim, { clock: w.clock, logger: w.logger });
const turns = () => w.gate.calls.filter((call) => call === 'listRunning').length;

onEachClock('ReclaimLoop', () => {
  it('has made one turn when it is started, and makes one each interval until it is stopped', async () => {
    await loop.start();
    expect(turns()).toBe(1);
    await w.clock.advance(INTERVAL_MS * 0.9 - 1);
    expect(turns()).toBe(1);
    for (const turn of [2, 3, 4]) {
      await w.clock.advance(w.clock.nextWakeInMs ?? LONGEST_WAIT_MS);
      expect(turns()).toBe(turn);
    }
    expect(w.clock.nextWakeInMs).toBeLessThanOrEqual(LONGEST_WAIT_MS);
    await loop.stop();
    expect(w.clock.sleepers).toBe(0);
    await w.clock.advance(INTERVAL_MS * 10);
    expect(turns()).toBe(4);
    expect(w.logger.messages('info')).toEqual(['Reclaim loop started (interval: 15000ms)', 'Reclaim loop stopped']);
  });

  it('says how many batches were stale, and nothing while there are none', async () => {
    await loop.start();
    await w.clock.advance(LONGEST_WAIT_MS);
    expect(w.logger.messages('warn')).toEqual([]);
    w.batches.put(aSilent());
    for (let turn = 0; turn < 5; turn++) await w.clock.advance(LONGEST_WAIT_MS);
    expect(w.logger.events.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: 'Stale batches found', fields: { running: 1, stale: 1, requeued: 1 } },
    ]);
    await loop.stop();
  });

  it('stopped, waits for the batches that are given up beside its turns', async () => {
    w.batches.put(aHopeless());
    const gate = deferred();
    w.gate.next('loadSegment', () => gate.promise);
    await loop.start();
    for (let turn = 0; turn < 5; turn++) await w.clock.advance(LONGEST_WAIT_MS);
    const stopped = jest.fn();
    const stop = loop.stop().then(stopped);
    await settled();
    expect([turns() > 4, stopped.mock.calls.length, w.batches.get(0).status]).toEqual([true, 0, 'running']);
    gate.resolve();
    await stop;
    expect(w.batches.get(0).status).toBe('dead');
  });

  it('is not started before its first turn is over', async () => {
    const gate = deferred();
    w.gate.next('listRunning', () => gate.promise);
    const started = jest.fn();
    const start = loop.start().then(started);
    await settled();
    expect(started).not.toHaveBeenCalled();
    gate.resolve();
    await start;
    await loop.stop();
  });

  it('goes on after an error, in the first turn too, and says so', async () => {
    w.gate.next('listRunning', 'unavailable', 'unavailable');
    await expect(loop.start()).resolves.toBeUndefined();
    await w.clock.advance(LONGEST_WAIT_MS);
    expect(w.logger.messages('error')).toHaveLength(2);
    await w.clock.advance(LONGEST_WAIT_MS);
    expect(turns()).toBe(1);
    expect(w.logger.messages('error')).toHaveLength(2);
    await loop.stop();
  });

  it('makes no turn when it is disabled, and says so', async () => {
    const disabled = aLoop(false);
    await disabled.start();
    await w.clock.advance(INTERVAL_MS * 100);
    expect([turns(), w.clock.sleepers, disabled.problem]).toEqual([0, 0, undefined]);
    await disabled.stop();
    expect(w.logger.messages('info')).toEqual(['Reclaim loop disabled via configuration']);
  });

  it('can be stopped before it is started, and twice', async () => {
    await expect(loop.stop()).resolves.toBeUndefined();
    await loop.stop();
    expect(w.logger.events).toEqual([]);
  });

  it('is started once', async () => {
    await Promise.all([loop.start(), loop.start()]);
    await loop.start();
    expect([turns(), w.clock.sleepers]).toEqual([1, 1]);
    await loop.stop();
  });

  it('stopped in its first turn, waits for it and makes no other', async () => {
    const gate = deferred();
    w.gate.next('listRunning', () => gate.promise);
    const start = loop.start();
    await settled();
    const stopped = jest.fn();
    const stop = loop.stop().then(stopped);
    await settled();
    expect(stopped).not.toHaveBeenCalled();
    gate.resolve();
    await Promise.all([start, stop]);
    await w.clock.advance(INTERVAL_MS * 10);
    expect([turns(), w.clock.sleepers]).toEqual([1, 0]);
  });

  it('stopped in a later turn, waits for it', async () => {
    await loop.start();
    const gate = deferred();
    w.gate.next('listRunning', () => gate.promise);
    await w.clock.advance(LONGEST_WAIT_MS);
    const stopped = jest.fn();
    const stop = loop.stop().then(stopped);
    await settled();
    expect(stopped).not.toHaveBeenCalled();
    gate.resolve();
    await stop;
    expect([turns(), w.clock.sleepers]).toEqual([2, 0]);
  });

  it('is a problem for health only while a turn does not come to its end', async () => {
    expect(loop.problem).toBeUndefined();
    await loop.start();
    const gate = deferred();
    w.gate.next('listRunning', () => gate.promise);
    await w.clock.advance(INTERVAL_MS * 4 + 60_000 - HAIR_MS);
    expect(loop.problem).toBeUndefined();
    await w.clock.advance(1_000 + HAIR_MS);
    expect(loop.problem).toBe('no turn for 121 s');
    gate.resolve();
    await settled();
    expect(loop.problem).toBeUndefined();
    await loop.stop();
  });
});
