import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { HeartbeatOrchestratorService } from '../../../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import type { TaskHeartbeatService } from '../../../../src/export-jobs/application/task-heartbeat.service.js';
import { onEachClock } from '../../../support/each-clock.js';
import { aJobNamed, anOrchestrator, INTERVAL_MS, STALL_TIMEOUT_MS, tokenOf } from '../../../support/orchestrator.js';

/** All jobs are another coordinator's to beat. */
const OF_ANOTHER = { self: 'me', list: () => ['other'], someoneWorks: () => true };

let f: ReturnType<typeof anOrchestrator>;
let heartbeats: TaskHeartbeatService;
let orchestrator: HeartbeatOrchestratorService;
beforeEach(() => {
  f = anOrchestrator();
  heartbeats = f.createHeartbeats();
  orchestrator = f.create({ heartbeats });
});
afterEach(async () => {
  await orchestrator.stop();
  expect(f.clock.sleepers).toBe(0);
});

/** The job is in its table and beaten once, as the intake does it; then no table answers for so many turns. */
const acceptAndLoseTables = async (turns: number, name = 'a') => {
  const job = aJobNamed(name, { status: 'PROCESSING' });
  f.jobs.put(job);
  await heartbeats.beatNow(job);
  f.gate.next('listActive', ...Array.from({ length: turns }, () => 'unavailable' as const));
};

const longestGapMs = (name: string) => {
  const beats = f.beatsOf(name);
  return Math.max(...beats.slice(1).map((at, index) => at - (beats[index] ?? NaN)));
};

onEachClock('a job that was accepted since the last look', () => {
  it('is beaten through an outage of the tables that begins right after its acceptance', async () => {
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS + 2_000);
    await acceptAndLoseTables(6);
    await f.clock.advance(6 * INTERVAL_MS);
    expect(f.beatsOf('a').length).toBeGreaterThanOrEqual(6);
    expect(longestGapMs('a')).toBeLessThanOrEqual(2 * INTERVAL_MS);
  });

  it('is so in a process that has never been able to look', async () => {
    await acceptAndLoseTables(6);
    orchestrator.start();
    await f.clock.advance(6 * INTERVAL_MS);
    expect(f.beatsOf('a').length).toBeGreaterThanOrEqual(6);
  });

  it('is so although another coordinator is to beat it, which may not have looked either', async () => {
    orchestrator = f.create({ heartbeats, fleet: OF_ANOTHER });
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 2_000);
    const job = aJobNamed('a');
    f.jobs.put(job);
    await heartbeats.beatNow(job);
    await f.clock.advance(4_000);
    f.gate.next('listActive', ...Array.from({ length: 6 }, () => 'unavailable' as const));
    await f.clock.advance(6 * INTERVAL_MS);
    expect(f.beatsOf('a').length).toBeGreaterThanOrEqual(6);
  });

  it('is left to its owner once that one must have found it', async () => {
    orchestrator = f.create({ heartbeats, fleet: OF_ANOTHER });
    orchestrator.start();
    const job = aJobNamed('a');
    f.jobs.put(job);
    await heartbeats.beatNow(job);
    await f.clock.advance(2.5 * INTERVAL_MS);
    f.gate.next('listActive', ...Array.from({ length: 6 }, () => 'unavailable' as const));
    await f.clock.advance(6 * INTERVAL_MS);
    expect(f.beatsOf('a')).toHaveLength(1);
  });

  it('is not beaten for longer than the stall timeout while nothing can be read of it', async () => {
    orchestrator.start();
    await acceptAndLoseTables(40);
    await f.clock.advance(STALL_TIMEOUT_MS + 5 * INTERVAL_MS);
    expect(f.beatsOf('a').at(-1)).toBeGreaterThan(STALL_TIMEOUT_MS - 2 * INTERVAL_MS);
    expect(f.beatsOf('a').at(-1)).toBeLessThan(STALL_TIMEOUT_MS + 2 * INTERVAL_MS);
  });

  it('is forgotten when its execution is gone', async () => {
    f.stepFunctions.close(tokenOf('a'));
    orchestrator.start();
    await f.clock.advance(2_000);
    await acceptAndLoseTables(3);
    await f.clock.advance(3 * INTERVAL_MS);
    expect(f.beatsOf('a')).toHaveLength(1);
  });
});

onEachClock('a token that has replaced another since the last look', () => {
  it('is beaten in its place while the tables cannot be read', async () => {
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 1_000);
    const job = aJobNamed('a', { taskToken: 'the new one', attempt: 2 });
    f.jobs.put(job);
    heartbeats.remember(job);
    f.gate.next('listActive', ...Array.from({ length: 4 }, () => 'unavailable' as const));
    const before = f.beatsOf('a').length;
    await f.clock.advance(4 * INTERVAL_MS);
    expect(f.beatsOf('a').length).toBe(before);
    expect(f.beats.get('the new one')?.length).toBeGreaterThanOrEqual(4);
  });
});
