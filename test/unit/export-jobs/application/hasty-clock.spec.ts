import { describe, expect, it } from '@jest/globals';
import { Patience } from '../../../../src/export-jobs/application/patience.js';
import { slotOf } from '../../../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';
import { aJobNamed, anOrchestrator, INTERVAL_MS } from '../../../support/orchestrator.js';

const EARLY_MS = 0.9;
const LOOK_MS = 0.01;

/** Time passes between two looks, and timers wake a hair early, as those of a real process do. */
function hasten(clock: FakeClock): void {
  const monotonicMs = clock.monotonicMs.bind(clock);
  const sleep = clock.sleep.bind(clock);
  clock.monotonicMs = () => {
    clock.jump(LOOK_MS);
    return monotonicMs();
  };
  clock.sleep = (ms, signal) => sleep(Math.max(0, ms - EARLY_MS), signal);
}

describe('on a clock on which time passes between two looks and timers wake early', () => {
  it('the orchestrator beats each job once an interval, turn after turn', async () => {
    const f = anOrchestrator();
    hasten(f.clock);
    const names = Array.from({ length: 20 }, (_, index) => `job-${index}`);
    f.jobs.put(...names.map((name) => aJobNamed(name)));
    const orchestrator = f.create();
    orchestrator.start();
    for (let second = 0; second < 30 * 19; second++) await f.clock.advance(1_000);
    for (const name of names) {
      const [, ...slots] = f.beatsOf(name);
      expect(slots.length).toBe(19);
      for (const [turn, at] of slots.entries()) expect(Math.abs(at - (slots[0] ?? NaN) - turn * INTERVAL_MS)).toBeLessThan(100);
      expect(Math.abs((slots[0] ?? NaN) - slotOf(name, INTERVAL_MS))).toBeLessThan(100);
    }
    await orchestrator.stop();
  });

  it('the bucket of the beats lets the same number through, one after the other', async () => {
    const f = anOrchestrator();
    hasten(f.clock);
    f.jobs.put(...Array.from({ length: 200 }, (_, index) => aJobNamed(`job-${index}`)));
    const turn = f.create({ maxBeatsPerSecond: 100 }).triggerHeartbeat();
    for (let tick = 0; tick < 300; tick++) await f.clock.advance(10);
    await expect(turn).resolves.toMatchObject({ beats: 200 });
    const sent = [...f.beats.values()].flat();
    expect(Math.max(...sent) - Math.min(...sent)).toBeGreaterThan(1_900);
  });

  it('a finisher that is silent is taken over, and one that renews is not', async () => {
    const f = aFinisher();
    hasten(f.clock);
    f.jobs.put(
      aJobNamed('job-1', {
        status: 'FINALIZING',
        finisher: { id: 'dead', seq: 0 },
        outcome: { status: 'FAILED', decidedAt: 'then', decidedBy: 'dead' },
      }),
    );
    f.batches.rows = [aSummary(0), aSummary(1)];
    const watched = f.completeJob.awaitOther('job-1', () => undefined);
    await f.clock.advance(55_000);
    await f.jobs.renewFinish('job-1', 1, { id: 'dead', seq: 1 });
    await f.clock.advance(58_000);
    expect(f.stepFunctions.answers).toEqual([]);
    await f.clock.advance(5_000);
    await expect(watched).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toHaveLength(1);
  });

  it('patience runs out, neither early nor never', async () => {
    const clock = new FakeClock();
    hasten(clock);
    const patience = new Patience(30_000, clock);
    await clock.advance(29_999);
    expect(patience.signal.aborted).toBe(false);
    await clock.advance(2);
    expect(patience.signal.aborted).toBe(true);
  });
});
