import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { AppError } from '../../../../src/shared/index.js';
import { deferred } from '../../../support/deferred.js';
import { aFleet, COORDINATOR_BEAT_MS } from '../../../support/fleet.js';
import { HAIR_MS, onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import type { Fault } from '../../../support/fakes/gate.js';

type Coordinator = ReturnType<ReturnType<typeof aFleet>['coordinator']>;

let w: ReturnType<typeof aFleet>;
let me: Coordinator;
let running: Coordinator[];

beforeEach(() => {
  w = aFleet();
  running = [];
  me = coordinator();
});
afterEach(async () => {
  await Promise.all(running.map(({ heartbeat }) => heartbeat.stop()));
  expect(w.clock.sleepers).toBe(0);
});

function coordinator(id?: string): Coordinator {
  const one = w.coordinator(id);
  running.push(one);
  return one;
}
async function started(id: string): Promise<Coordinator> {
  const one = coordinator(id);
  await one.heartbeat.start();
  return one;
}
const row = (id = 'me') => w.registry.get(id);
/** The registry answers with an error that cannot pass. */
const refusedFor = (code: string) => () => {
  throw new AppError(code, 'why', { disposition: 'fatal' });
};
const calls = (name: string) => w.gate.calls.filter((call) => call === name).length;

onEachClock('the start of a coordinator', () => {
  it('registers and looks at the fleet before anything else starts', async () => {
    await started('another');
    me.vitals.phase = 'starting';
    await me.heartbeat.start();
    expect(row()).toEqual({
      coordinatorId: 'me',
      epoch: 1,
      sequence: 0,
      heartbeatAt: '2026-01-01T00:00:00.000Z',
      startedAt: '2026-01-01T00:00:00.000Z',
      version: '1.2.3',
      host: 'host-1',
      status: 'ACTIVE',
      phase: 'starting',
      activeTasks: 0,
      activeBatches: 0,
      loopLagMs: 3,
    });
    expect(me.live.list()).toEqual(['me', 'another']);
    expect(me.logger.events).toMatchObject([{ message: 'Coordinator heartbeat started (interval: 10000ms)', fields: { epoch: 1 } }]);
  });

  it('fails at once when the table is not there or forbidden, and says which table and what to do', async () => {
    w.gate.next('register', refusedFor('TABLE_UNUSABLE'));
    const start = me.heartbeat.start();
    await expect(start).rejects.toMatchObject({ code: 'COORDINATOR_NOT_REGISTERED', disposition: 'fatal' });
    await expect(start).rejects.toThrow(
      /me could not be registered in the table Coordinators: why\. DYNAMODB_COORDINATORS_TABLE must name/,
    );
    await w.beats(10);
    expect([calls('heartbeat'), me.heartbeat.problem]).toEqual([0, 'not running']);
  });

  it('fails at once for any other cause that cannot pass, and says no more than that cause', async () => {
    w.gate.next('findCoordinator', refusedFor('COORDINATOR_ROW_UNREADABLE'));
    await expect(me.heartbeat.start()).rejects.toThrow(/in the table Coordinators: why$/);
    expect(w.gate.calls).toEqual([]);
  });

  it('tries again what may pass', async () => {
    w.gate.next('findCoordinator', 'unavailable');
    w.gate.next('register', 'unavailable', 'lost-reply');
    const start = me.heartbeat.start();
    await w.clock.advance(5_000);
    await start;
    expect([row().epoch, me.memory.lastWriteFailed, me.heartbeat.problem]).toEqual([1, false, undefined]);
    expect(me.logger.messages('warn')).toEqual(Array(2).fill('The coordinator could not be registered; it is tried again'));
  });

  it('fails when that has not passed after half a minute, with the last cause', async () => {
    w.gate.next('register', ...Array<Fault>(100).fill('unavailable'));
    const start = me.heartbeat.start();
    const failed = jest.fn<() => void>();
    start.catch(failed);
    await w.clock.advance(29_999);
    expect(failed).not.toHaveBeenCalled();
    await w.clock.advance(8_000);
    await expect(start).rejects.toThrow(/in the table Coordinators: register is unavailable$/);
    const tries = calls('findCoordinator') / 2;
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(50);
    await w.beats(10);
    expect([calls('findCoordinator') / 2, w.clock.sleepers]).toEqual([tries, 0]);
  });

  it('does without a look at the fleet when only that fails', async () => {
    w.gate.next('listCoordinators', 'unavailable');
    await me.heartbeat.start();
    expect(me.logger.messages('warn')).toHaveLength(1);
    expect(me.live.list()).toEqual(['me']);
  });

  it('happens once', async () => {
    await Promise.all([me.heartbeat.start(), me.heartbeat.start()]);
    await me.heartbeat.start();
    expect([row().epoch, calls('register'), w.clock.sleepers]).toEqual([1, 1, 1]);
  });
});

onEachClock('the coordinator heartbeat', () => {
  it('beats the first time at random within the first interval, then one interval apart, each with the next sequence and a look', async () => {
    jest.spyOn(Math, 'random').mockReturnValueOnce(0.25);
    await me.heartbeat.start();
    await w.clock.advance(2_499);
    expect(row().sequence).toBe(0);
    await w.clock.advance(1);
    for (const sequence of [1, 2, 3, 4]) {
      expect([row().sequence, calls('listCoordinators')]).toEqual([sequence, sequence + 1]);
      await w.clock.advance(COORDINATOR_BEAT_MS - 1);
      expect(row().sequence).toBe(sequence);
      await w.clock.advance(1);
    }
    expect(row()).toMatchObject({ epoch: 1, heartbeatAt: '2026-01-01T00:00:42.500Z', startedAt: '2026-01-01T00:00:00.000Z' });
    expect(me.counted('written')).toBe(6);
  });

  it('tells what is in hand and when the work last turned', async () => {
    await me.heartbeat.start();
    me.work.now = { activeTasks: 8, activeBatches: 2, lastSign: { at: 1_000, atIso: '2026-01-01T00:00:01.000Z' } };
    me.vitals.loopLagMs = 40;
    await w.beats(1);
    expect(row()).toMatchObject({ activeTasks: 8, activeBatches: 2, loopLagMs: 40, workLoopAt: '2026-01-01T00:00:01.000Z' });
    expect(me.live.someoneWorks()).toBe(true);
    await w.beats(13);
    expect(me.live.someoneWorks()).toBe(false);
  });

  it('keeps to its grid after a slow beat, without overlap and without making up for what was missed', async () => {
    jest.spyOn(Math, 'random').mockReturnValueOnce(0.5);
    await me.heartbeat.start();
    const gate = deferred();
    w.gate.next('heartbeat', () => gate.promise);
    await w.clock.advance(29_000);
    expect(calls('heartbeat')).toBe(0);
    gate.resolve();
    await w.clock.advance(5_999);
    expect(row().sequence).toBe(1);
    await w.clock.advance(HAIR_MS);
    expect(row()).toMatchObject({ sequence: 2, heartbeatAt: expect.stringContaining('00:00:35.0') });
  });

  it('Self-doubt: goes on through failed writes, doubts itself meanwhile, and calls for a person after three in a row', async () => {
    await me.heartbeat.start();
    w.gate.next('heartbeat', 'unavailable', 'lost-reply', 'unavailable', 'unavailable');
    const levels = [];
    for (let beat = 0; beat < 4; beat++) {
      await w.beats(1);
      expect(me.memory.lastWriteFailed).toBe(true);
      levels.push(me.logger.events.at(-1)?.level);
    }
    expect(levels).toEqual(['warn', 'warn', 'error', 'error']);
    await w.beats(1);
    expect([me.memory.lastWriteFailed, row().sequence, row().epoch]).toEqual([false, 5, 1]);
    expect([me.counted('failed'), me.work.abandoned]).toEqual([4, 0]);
  });

  it('recognises its own write that an SDK retry met', async () => {
    await me.heartbeat.start();
    w.gate.next('heartbeat', 'retried');
    await w.beats(2);
    expect([row().sequence, row().epoch, me.work.abandoned]).toEqual([2, 1, 0]);
  });

  it('is alone in the end when the fleet cannot be read, and beats on', async () => {
    const another = await started('another');
    await me.heartbeat.start();
    await w.beats(3);
    expect(me.live.list()).toEqual(['me', 'another']);
    const list = jest.spyOn(w.registry, 'list').mockRejectedValue(new Error('no table'));
    await w.beats(4);
    expect([me.live.list(), another.live.list()]).toEqual([['me'], ['another']]);
    expect(row().sequence).toBe(7);
    list.mockRestore();
    await w.beats(2);
    expect(me.live.list()).toEqual(['me', 'another']);
  });

  it('is a problem for health only while it does not turn', async () => {
    expect(me.heartbeat.problem).toBe('not running');
    jest.spyOn(Math, 'random').mockReturnValueOnce(0);
    await me.heartbeat.start();
    await w.clock.advance(1);
    const gate = deferred();
    w.gate.next('heartbeat', () => gate.promise);
    await w.clock.advance(59_999 - HAIR_MS);
    expect(me.heartbeat.problem).toBeUndefined();
    await w.clock.advance(1_000 + HAIR_MS);
    expect(me.heartbeat.problem).toBe('no beat for 61 s');
    gate.resolve();
    await settled();
    expect(me.heartbeat.problem).toBeUndefined();
  });

  it('shows a death to the others at the latest three intervals after the last heartbeat', async () => {
    const another = await started('another');
    await me.heartbeat.start();
    await w.beats(3);
    await another.heartbeat.stop();
    const diedAt = Date.parse(row('another').heartbeatAt);
    while (me.live.list().length > 1) await w.clock.advance(100);
    expect(Date.parse(w.clock.nowIso()) - diedAt).toBeLessThanOrEqual(3 * COORDINATOR_BEAT_MS + 100);
    expect(Date.parse(w.clock.nowIso()) - diedAt).toBeGreaterThan(COORDINATOR_BEAT_MS);
  });
});

onEachClock('a coordinator whose heartbeat is refused', () => {
  it('was declared dead: it lets its batches go and registers anew with the next epoch at once', async () => {
    await me.heartbeat.start();
    await w.beats(2);
    w.registry.rows.delete('me');
    await w.beats(1);
    expect(row()).toMatchObject({ epoch: 2, sequence: 0, startedAt: '2026-01-01T00:00:00.000Z' });
    expect([me.work.abandoned, me.counted('refused')]).toEqual([1, 1]);
    expect(me.logger.messages('error')).toEqual(['This coordinator was declared dead. Its batches in hand are let go']);
    await w.beats(1);
    expect(row()).toMatchObject({ epoch: 2, sequence: 1 });
    expect(me.work.abandoned).toBe(1);
  });

  it('tries to register anew with each beat until it works', async () => {
    await me.heartbeat.start();
    w.registry.rows.delete('me');
    w.gate.next('register', 'unavailable', 'unavailable');
    await w.beats(2);
    expect([w.registry.rows.size, me.memory.lastWriteFailed]).toEqual([0, true]);
    await w.beats(1);
    expect([row().epoch, me.memory.lastWriteFailed, me.work.abandoned]).toEqual([2, false, 1]);
  });

  it('lost its id to a younger process: it lets its batches go and leaves the id to the other one for as long as that beats', async () => {
    await me.heartbeat.start();
    await w.beats(1);
    const younger = await started('me');
    await w.beats(20);
    expect(row()).toMatchObject({ epoch: 2, sequence: 20 });
    expect([me.work.abandoned, younger.work.abandoned]).toEqual([1, 0]);
    expect(me.logger.messages('error')).toEqual([
      'Another process has registered as this coordinator: COORDINATOR_ID must be unique in the fleet. Its batches in hand are let go',
    ]);
    expect(me.heartbeat.problem).toBeUndefined();
    me.work.now = { activeTasks: 1, activeBatches: 1, lastSign: { at: w.clock.monotonicMs(), atIso: w.clock.nowIso() } };
    await w.beats(1);
    expect(me.live.someoneWorks()).toBe(true);
  });

  it('takes its id back when the other process has been silent for twelve intervals, with the next epoch', async () => {
    await me.heartbeat.start();
    const younger = await started('me');
    await w.beats(5);
    await younger.heartbeat.stop();
    const silentSince = w.clock.monotonicMs();
    while (row().epoch === 2) await w.clock.advance(1_000);
    expect(row()).toMatchObject({ epoch: 3, sequence: 0 });
    expect(w.clock.monotonicMs() - silentSince).toBeLessThanOrEqual(13 * COORDINATOR_BEAT_MS);
    expect(w.clock.monotonicMs() - silentSince).toBeGreaterThan(10 * COORDINATOR_BEAT_MS);
    await w.beats(1);
    expect(row()).toMatchObject({ epoch: 3, sequence: 1 });
  });

  it('does not take its id back while it cannot see whether the other one beats, nor while that one drains', async () => {
    await me.heartbeat.start();
    const younger = await started('me');
    await w.beats(2);
    younger.heartbeat.quiesce();
    await w.beats(5);
    expect(row()).toMatchObject({ epoch: 2, status: 'LEAVING' });
    await younger.heartbeat.stop();
    const list = jest.spyOn(w.registry, 'list').mockRejectedValue(new Error('no table'));
    await w.beats(20);
    expect(row().epoch).toBe(2);
    list.mockRestore();
    // Its last beat may have come at any time meanwhile: it counts as recent.
    await w.beats(12);
    expect(row()).toMatchObject({ epoch: 3, status: 'ACTIVE' });
  });
});

onEachClock('a coordinator that leaves', () => {
  it('says so at once, beats on until it is stopped, and writes nothing after that', async () => {
    const another = await started('another');
    await me.heartbeat.start();
    await w.beats(2);
    me.vitals.phase = 'draining';
    me.heartbeat.quiesce();
    await settled();
    expect(row()).toMatchObject({ status: 'LEAVING', phase: 'draining', sequence: 3 });
    await w.beats(1);
    expect([row().sequence, row().status, another.live.list(), me.live.list()]).toEqual([4, 'LEAVING', ['another'], ['me', 'another']]);
    await me.heartbeat.stop();
    await w.beats(5);
    expect(row()).toMatchObject({ sequence: 4, status: 'LEAVING' });
    expect(me.logger.messages('info').at(-1)).toBe('Coordinator heartbeat stopped');
  });

  it('says so again with the next beat when the first time failed, and holds nobody up', async () => {
    await me.heartbeat.start();
    w.gate.next('heartbeat', 'unavailable');
    me.heartbeat.quiesce();
    await settled();
    expect(row().status).toBe('ACTIVE');
    await w.beats(1);
    expect(row().status).toBe('LEAVING');
  });

  it('says so after the beat under way', async () => {
    await me.heartbeat.start();
    const gate = deferred();
    w.gate.next('heartbeat', () => gate.promise);
    await w.beats(1);
    me.heartbeat.quiesce();
    await settled();
    gate.resolve();
    await settled();
    expect(row()).toMatchObject({ sequence: 2, status: 'LEAVING' });
  });

  it('does not register anew when it is declared dead, but lets its batches go', async () => {
    await me.heartbeat.start();
    me.heartbeat.quiesce();
    await settled();
    w.registry.rows.delete('me');
    await w.beats(3);
    expect([w.registry.rows.size, me.work.abandoned]).toEqual([0, 1]);
  });

  it('while it is still registering leaves a row that says so', async () => {
    const gate = deferred();
    w.gate.next('register', () => gate.promise);
    const start = me.heartbeat.start();
    await settled();
    me.heartbeat.quiesce();
    const stop = me.heartbeat.stop();
    gate.resolve();
    await Promise.all([start, stop]);
    await settled();
    expect(row().status).toBe('LEAVING');
    await w.beats(3);
    expect([row().sequence, w.clock.sleepers]).toEqual([1, 0]);
  });

  it('before it was started writes nothing, and may be told twice', async () => {
    me.heartbeat.quiesce();
    me.heartbeat.quiesce();
    await me.heartbeat.stop();
    await me.heartbeat.stop();
    expect([w.gate.calls, me.logger.events]).toEqual([[], []]);
  });

  it.each<[string, (heartbeat: Coordinator['heartbeat']) => void | Promise<void>]>([
    ['told to leave', (heartbeat) => heartbeat.quiesce()],
    ['stopped', (heartbeat) => heartbeat.stop()],
  ])('while it waits to try its registration again, %s, tries no more and is not waited for', async (_how, leave) => {
    w.gate.next('register', 'unavailable');
    const start = me.heartbeat.start();
    await settled();
    const before = w.gate.calls.length;
    expect(w.clock.sleepers).toBe(1);
    await leave(me.heartbeat);
    await expect(start).rejects.toThrow(/could not be registered in the table Coordinators: register is unavailable$/);
    await w.beats(10);
    expect([w.gate.calls.length, w.registry.rows.size, w.clock.sleepers]).toEqual([before, 0, 0]);
  });

  it('before it was started does not register any more', async () => {
    me.heartbeat.quiesce();
    await expect(me.heartbeat.start()).rejects.toThrow(/this process was told to stop$/);
    expect(w.gate.calls).toEqual([]);
  });

  it('because it could not register writes nothing either', async () => {
    w.gate.next('register', refusedFor('TABLE_UNUSABLE'));
    await expect(me.heartbeat.start()).rejects.toThrow();
    const before = w.gate.calls.length;
    me.heartbeat.quiesce();
    await me.heartbeat.stop();
    expect(w.gate.calls).toHaveLength(before);
  });

  it('is waited for while a beat is under way', async () => {
    await me.heartbeat.start();
    const gate = deferred();
    w.gate.next('heartbeat', () => gate.promise);
    await w.beats(1);
    const stopped = jest.fn();
    const stop = me.heartbeat.stop().then(stopped);
    await settled();
    expect(stopped).not.toHaveBeenCalled();
    gate.resolve();
    await stop;
    expect(row().sequence).toBe(1);
  });
});
