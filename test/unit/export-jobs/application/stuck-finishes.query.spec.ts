import { beforeEach, expect, it } from '@jest/globals';
import { StuckFinishesQuery } from '../../../../src/export-jobs/application/stuck-finishes.query.js';
import { aJob, anOutcome } from '../../../support/builders.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import type { FakeClock } from '../../../support/fake-clock.js';
import { InMemoryJobStateRepository } from '../../../support/fakes/in-memory-job-state-repository.js';

let clock: FakeClock;
let jobs: InMemoryJobStateRepository;
beforeEach(() => {
  clock = newClock();
  jobs = new InMemoryJobStateRepository(undefined, clock);
});

const finalizing = (jobId: string, seconds: number) => {
  const decidedAt = new Date(Date.parse(clock.nowIso()) - seconds * 1_000).toISOString();
  return aJob({ jobId, status: 'FINALIZING', outcome: anOutcome({ decidedAt }) });
};
const list = async (meanwhile = () => undefined as unknown) => {
  const listed = new StuckFinishesQuery(jobs, clock).list();
  await clock.advance(59_000);
  meanwhile();
  await clock.advance(2_000);
  return (await listed).map(({ jobId }) => jobId);
};

onEachClock('jobs that stay FINALIZING', () => {
  it('are those that have been so for minutes, and for a minute more', async () => {
    jobs.put(finalizing('long', 181), finalizing('fresh', 179), aJob({ jobId: 'active' }));
    expect(await list()).toEqual(['long']);
  });

  it('are none, at once, when none is under suspicion', async () => {
    jobs.put(finalizing('fresh', 20), aJob({ jobId: 'active' }));
    await expect(new StuckFinishesQuery(jobs, clock).list()).resolves.toEqual([]);
    expect(clock.sleepers).toBe(0);
  });

  it('are not those that end, or have begun another run, while they are watched: the clock of whoever decided may be slow', async () => {
    jobs.put(finalizing('ends', 600), finalizing('again', 600));
    const meanwhile = () => jobs.put(aJob({ jobId: 'ends', status: 'COMPLETED' }), { ...finalizing('again', 1), run: 2 });
    expect(await list(meanwhile)).toEqual([]);
  });
});
