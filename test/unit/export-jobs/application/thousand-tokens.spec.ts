import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { HeartbeatOrchestratorService } from '../../../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import { aFleet, COORDINATOR_BEAT_MS } from '../../../support/fleet.js';
import { aJobNamed, anOrchestrator, INTERVAL_MS, tokenOf } from '../../../support/orchestrator.js';

const JOBS = Array.from({ length: 1_000 }, (_, index) => `job-${index}`);
/** The default of `STEP_FUNCTIONS_MAX_BEATS_PER_SECOND`. */
const BEATS_PER_SECOND = 100;
/** The longest that a token may go without a beat when its coordinator dies. */
const UNBEATEN_LIMIT_MS = 100_000;

/** With the default times, and time is virtual: how busy the machine is changes nothing. */
describe('1,000 active jobs with tokens', () => {
  let f: ReturnType<typeof anOrchestrator>;
  let fleet: ReturnType<typeof aFleet>;
  let running: { orchestrator: HeartbeatOrchestratorService; kill: () => Promise<void> }[];

  beforeEach(() => {
    f = anOrchestrator();
    fleet = aFleet(f.clock);
    f.jobs.put(...JOBS.map((name) => aJobNamed(name)));
    running = [];
  });
  afterEach(async () => {
    for (const { kill } of running) await kill();
    expect(f.clock.sleepers).toBe(0);
  });

  async function startCoordinator(): Promise<void> {
    const { heartbeat, live } = fleet.coordinator(`coordinator-${running.length}`);
    const orchestrator = f.create({ maxBeatsPerSecond: BEATS_PER_SECOND, fleet: live });
    await heartbeat.start();
    orchestrator.start();
    // Its row stays as it last was: nobody is told that it leaves.
    const kill = async () => void (await Promise.all([heartbeat.stop(), orchestrator.stop()]));
    running.push({ orchestrator, kill });
  }

  /** When each token was beaten since then. */
  const beatsSince = (since: number) => JOBS.map((name) => f.beatsOf(name).filter((at) => at >= since));
  const gapsOf = (times: readonly number[]) => times.slice(1).map((at, index) => at - (times[index] ?? NaN));

  function mostInASecond(since: number): number {
    const times = beatsSince(since)
      .flat()
      .sort((a, b) => a - b);
    let first = 0;
    return times.reduce((most, at, index) => {
      while ((times[first] ?? at) <= at - 1_000) first++;
      return Math.max(most, index - first + 1);
    }, 0);
  }

  it.each([1, 3])('are beaten once a turn, each at its slot, and no faster than each of %s coordinators may', async (coordinators) => {
    while (running.length < coordinators) await startCoordinator();
    await f.clock.advance(2 * INTERVAL_MS + 4 * COORDINATOR_BEAT_MS);
    const steadySince = f.clock.monotonicMs();
    await f.clock.advance(3 * INTERVAL_MS);
    const beats = beatsSince(steadySince);
    expect(beats.filter((times) => times.length !== 3)).toEqual([]);
    // What the bucket holds back comes a moment after its slot.
    const gaps = beats.flatMap(gapsOf);
    expect(Math.min(...gaps)).toBeGreaterThan(INTERVAL_MS - 1_000);
    expect(Math.max(...gaps)).toBeLessThan(INTERVAL_MS + 1_000);
    expect(mostInASecond(0)).toBeLessThanOrEqual(coordinators * BEATS_PER_SECOND);
  });

  it('are all beaten by those who are left when a coordinator dies, and none goes unbeaten for 100 s', async () => {
    while (running.length < 3) await startCoordinator();
    await f.clock.advance(2 * INTERVAL_MS + 4 * COORDINATOR_BEAT_MS);
    const before = f.clock.monotonicMs() - INTERVAL_MS;
    await running.splice(1, 1)[0]?.kill();
    await f.clock.advance(UNBEATEN_LIMIT_MS + INTERVAL_MS);
    const longest = JOBS.map((name) => {
      const times = f.beats.get(tokenOf(name))?.filter((at) => at >= before) ?? [];
      return Math.max(...gapsOf([...times, f.clock.monotonicMs()]));
    });
    expect(Math.max(...longest)).toBeLessThan(UNBEATEN_LIMIT_MS);
  });
});
