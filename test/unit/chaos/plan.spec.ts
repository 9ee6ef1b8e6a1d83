import { describe, expect, it } from '@jest/globals';
import { describeEvent, EVENT_KINDS, planRun } from '../../chaos/plan.js';

const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);

describe('planRun', () => {
  it('plans the same run for the same seed, and another one for the next', () => {
    expect(planRun(7)).toEqual(planRun(7));
    expect(planRun(7)).not.toEqual({ ...planRun(8), seed: 7 });
  });

  it('leaves events out and the rest of the plan as it is', () => {
    for (const seed of SEEDS.slice(0, 10)) {
      const { events, ...rest } = planRun(seed);
      const without = planRun(seed, ['kill', 'freeze']);
      expect(without).toEqual({ ...rest, events: events.filter(({ kind }) => kind !== 'kill' && kind !== 'freeze') });
    }
  });

  it('plans every kind of event within a few hundred runs, in the order of their times', () => {
    const plans = SEEDS.map((seed) => planRun(seed).events);
    expect(new Set(plans.flat().map(({ kind }) => kind))).toEqual(new Set(EVENT_KINDS));
    for (const events of plans) expect(events.map(({ atMs }) => atMs)).toEqual(events.map(({ atMs }) => atMs).sort((a, b) => a - b));
  });

  it('says in words what an event does to whom', () => {
    expect(describeEvent({ kind: 'kill', atMs: 1_250, who: [0, 2], backAfterMs: 500 })).toBe('1.3 s kill A+C, back after 0.5 s');
    expect(describeEvent({ kind: 'stop-at-write', atMs: 100, who: 1, write: 7, backAfterMs: 0 })).toBe(
      '0.1 s stop-at-write 7 of B, back after 0.0 s',
    );
  });
});
