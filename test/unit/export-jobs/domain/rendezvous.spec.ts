import { describe, expect, it } from '@jest/globals';
import { slotOf } from '../../../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import { ownerOf } from '../../../../src/export-jobs/domain/rendezvous.js';

const JOBS = Array.from({ length: 3_000 }, (_, index) => `job-${index}`);
const FLEET = ['alpha', 'beta', 'gamma'];

describe('ownerOf', () => {
  it('gives every job one owner, whatever the order in which the coordinators are listed', () => {
    for (const job of JOBS.slice(0, 200)) {
      const owner = ownerOf(job, FLEET);
      expect(FLEET).toContain(owner);
      expect(ownerOf(job, FLEET.toReversed())).toBe(owner);
    }
  });

  it('spreads the jobs evenly', () => {
    const shares = FLEET.map((coordinator) => JOBS.filter((job) => ownerOf(job, FLEET) === coordinator).length);
    for (const share of shares) expect(Math.abs(share - JOBS.length / 3)).toBeLessThan(JOBS.length / 30);
  });

  it('moves only the jobs of the coordinator that leaves', () => {
    const left = FLEET.filter((coordinator) => coordinator !== 'beta');
    for (const job of JOBS) {
      const owner = ownerOf(job, FLEET);
      if (owner !== 'beta') expect(ownerOf(job, left)).toBe(owner);
    }
  });

  it('gives everything to the only one, and nothing to nobody', () => {
    expect(ownerOf('job-1', ['alpha'])).toBe('alpha');
    expect(ownerOf('job-1', [])).toBeUndefined();
  });
});

describe('slotOf', () => {
  it.each([1_000, 30_000])('lies inside an interval of %i ms, after the look', (intervalMs) => {
    const slots = JOBS.map((job) => slotOf(job, intervalMs));
    expect(Math.min(...slots)).toBeGreaterThanOrEqual(Math.min(3_000, intervalMs / 5));
    expect(Math.max(...slots)).toBeLessThan(intervalMs);
  });

  it('stays the same for a job', () => {
    for (const job of JOBS.slice(0, 100)) expect(slotOf(job, 30_000)).toBe(slotOf(job, 30_000));
  });

  it('spreads the jobs over the interval', () => {
    const firstHalf = JOBS.filter((job) => slotOf(job, 30_000) < 16_500).length;
    expect(Math.abs(firstHalf - JOBS.length / 2)).toBeLessThan(JOBS.length / 20);
  });
});
