import { beforeEach, expect, it } from '@jest/globals';
import { LiveCoordinatorsAdapter } from '../../../../src/fleet/adapters/live-coordinators.adapter.js';
import { FleetMemory } from '../../../../src/fleet/application/fleet-memory.js';
import type { CoordinatorEntity } from '../../../../src/fleet/domain/coordinator.entity.js';
import { aBatchWorld } from '../../../support/batch-holder.js';
import { aCoordinator } from '../../../support/builders.js';
import { HAIR_MS, newClock, onEachClock } from '../../../support/each-clock.js';
import { type FakeClock } from '../../../support/fake-clock.js';

const INTERVAL_MS = 10_000;

let clock: FakeClock;
let memory: FleetMemory;
let live: LiveCoordinatorsAdapter;
beforeEach(() => {
  clock = newClock();
  memory = new FleetMemory(INTERVAL_MS, clock);
  live = new LiveCoordinatorsAdapter('me', memory);
});

const look = (...rows: CoordinatorEntity[]) => memory.look(rows, clock.monotonicMs());
const another = (sequence: number, over: Partial<CoordinatorEntity> = {}) => aCoordinator({ sequence, ...over });
/** Looks once an interval at a coordinator that beats once an interval. */
const watch = async (sequences: readonly number[], over: Partial<CoordinatorEntity> = {}) => {
  for (const sequence of sequences) {
    look(another(sequence, over));
    await clock.advance(INTERVAL_MS);
  }
};

onEachClock('the live coordinators', () => {
  it('are this one alone where nobody looks, as in the CLI', () => {
    expect([live.self, live.list(), live.someoneWorks()]).toEqual(['me', ['me'], false]);
  });

  it('are those that beat, and this one once, whatever its own row says', () => {
    look(another(1), another(1, { coordinatorId: 'me', status: 'LEAVING' }));
    expect(live.list()).toEqual(['me', 'another']);
  });

  it('lose one at the latest three intervals after its last heartbeat', async () => {
    await watch([1, 2]);
    // Its third and last heartbeat came just before this look.
    const lastBeatAt = clock.monotonicMs() - 1;
    look(another(3));
    expect(live.list()).toContain('another');
    await clock.advance(lastBeatAt + 3 * INTERVAL_MS - clock.monotonicMs() + 1);
    look(another(3));
    expect(live.list()).toEqual(['me']);
  });

  it('keep one that beats through a look that failed', async () => {
    await watch([1, 2]);
    await clock.advance(INTERVAL_MS - 1);
    expect(live.list()).toContain('another');
    look(another(4));
    expect(live.list()).toContain('another');
  });

  it('are not misled by a clock that is hours off, in either direction', async () => {
    for (const heartbeatAt of ['2025-12-31T20:00:00.000Z', '2026-01-01T04:00:00.000Z']) {
      memory = new FleetMemory(INTERVAL_MS, clock);
      live = new LiveCoordinatorsAdapter('me', memory);
      await watch([1], { heartbeatAt });
      expect(live.list()).toEqual(['me']);
      await watch([2, 3, 4], { heartbeatAt });
      expect(live.list()).toContain('another');
      await watch([4, 4, 4], { heartbeatAt });
      expect(live.list()).toEqual(['me']);
    }
  });

  it('LEAVING is not live: they lose one at once that leaves, and get it back when it is started again', async () => {
    await watch([1, 2]);
    look(another(3, { status: 'LEAVING' }));
    expect(live.list()).toEqual(['me']);
    expect(memory.isInUse('another')).toBe(true);
    await clock.advance(INTERVAL_MS);
    look(another(0, { epoch: 2 }));
    expect(live.list()).toContain('another');
  });

  it('forget one whose row is gone', () => {
    look(another(1));
    look();
    expect(live.list()).toEqual(['me']);
    expect(memory.isInUse('another')).toBe(false);
  });

  it('are this one alone in the end when the table cannot be read any more', async () => {
    await watch([1, 2, 3]);
    await clock.advance(3 * INTERVAL_MS);
    expect(live.list()).toEqual(['me']);
  });
});

onEachClock('whether someone works', () => {
  const WORK_MS = 12 * INTERVAL_MS;
  const workLoopAt = '2026-01-01T00:00:00.000Z';

  it('is so for twelve intervals after a sign of this process itself', async () => {
    memory.ownWorkAt = clock.monotonicMs();
    await clock.advance(WORK_MS - HAIR_MS);
    expect(live.someoneWorks()).toBe(true);
    await clock.advance(2 * HAIR_MS);
    expect(live.someoneWorks()).toBe(false);
  });

  it('is so for twelve intervals after the last move that this process saw, while that coordinator lives', async () => {
    await watch([1], { workLoopAt });
    const beats = Array.from({ length: 12 }, (_, index) => index + 2);
    await watch(beats.slice(0, 10), { workLoopAt });
    look(another(12, { workLoopAt }));
    await clock.advance(INTERVAL_MS - HAIR_MS);
    expect(live.someoneWorks()).toBe(true);
    await clock.advance(2 * HAIR_MS);
    look(another(14, { workLoopAt }));
    expect([live.list(), live.someoneWorks()]).toEqual([['me', 'another'], false]);
    look(another(15, { workLoopAt: '2026-01-01T00:00:01.000Z' }));
    expect(live.someoneWorks()).toBe(true);
  });

  it('is so while all tasks of this process wait out a Retry-After of 300 s, and no longer when they hang after it', async () => {
    const w = aBatchWorld();
    const { begin, pool, work } = w.process('me', 5);
    const ownMemory = new FleetMemory(INTERVAL_MS, w.clock);
    const worksAfter = async (ms: number) => {
      await w.clock.advance(ms);
      ownMemory.ownWorkAt = work.report().lastSign?.at;
      return ownMemory.someoneWorks();
    };
    await begin();
    for (let task = 0; task < 5; task++) await pool.fail({ code: 'HTTP_429', retryable: true, retryAfterMs: 300_000 });
    for (let beat = 1; beat < 30; beat++) expect(await worksAfter(INTERVAL_MS)).toBe(true);
    expect([await worksAfter(WORK_MS), pool.running.length]).toEqual([false, 5]);
    await pool.succeed();
    expect(await worksAfter(0)).toBe(true);
    work.abandon();
  });

  it('is not so of one that died, or leaves', async () => {
    look(another(1, { workLoopAt }), another(1, { coordinatorId: 'third', workLoopAt, status: 'LEAVING' }));
    expect(live.someoneWorks()).toBe(true);
    await clock.advance(3 * INTERVAL_MS + 1);
    expect(live.someoneWorks()).toBe(false);
  });

  it('is not so of one whose loops never turned', () => {
    look(another(1));
    expect(live.someoneWorks()).toBe(false);
  });
});
