import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ExpansionProgress } from '../../../../src/intake/application/expansion-progress.js';
import { aJobWithoutPlan } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { InMemoryJobStateRepository } from '../../../support/fakes/in-memory-job-state-repository.js';

let clock: FakeClock;
let jobs: InMemoryJobStateRepository;
let progress: ExpansionProgress;

beforeEach(() => {
  clock = new FakeClock();
  jobs = new InMemoryJobStateRepository(undefined, clock).put(aJobWithoutPlan());
  progress = new ExpansionProgress(aJobWithoutPlan(), jobs, clock);
});
afterEach(async () => {
  progress.end();
  await clock.advance(0);
  expect(clock.sleepers).toBe(0);
});

const lastProgress = () => jobs.get('job-1').lastProgressAt;

describe('the row of a job that is being expanded', () => {
  it('Without progress a look, no stamp: a source that says nothing does not keep its job alive', async () => {
    const before = lastProgress();
    await clock.advance(60_000);
    expect(lastProgress()).toBe(before);
    expect(jobs.gate.calls).not.toContain('touchProgress');
  });

  it('is stamped every 10 s while the list comes', async () => {
    for (let second = 0; second < 60; second++) {
      progress.moved();
      await clock.advance(1_000);
    }
    expect(jobs.gate.calls.filter((call) => call === 'touchProgress')).toHaveLength(6);
    expect(lastProgress()).toBe('2026-01-01T00:01:00.000Z');
  });

  it('Waiting in line is progress: nobody fails for the lists that are before it, however long they take', async () => {
    const room = deferred();
    const waiting = progress.whileInLine(room.promise);
    await clock.advance(2 * 3_600_000);
    expect(lastProgress()).toBe('2026-01-01T02:00:00.000Z');
    room.resolve();
    await waiting;
    await clock.advance(60_000);
    expect(lastProgress()).toBe('2026-01-01T02:00:00.000Z');
  });

  it('Stamped before it leaves: a job that waits elsewhere from now on has its time at once, however short it was here', async () => {
    const waiting = progress.whileInLine(clock.sleep(5_000).then(() => progress.stamp()));
    await clock.advance(5_000);
    await expect(waiting).resolves.toBe(true);
    expect(lastProgress()).toBe('2026-01-01T00:00:05.000Z');
  });

  it('is not stamped once the job is over, which then does not leave either', async () => {
    const ended = aJobWithoutPlan({ status: 'CANCELLED' });
    jobs.put(ended);
    await expect(progress.stamp()).resolves.toBe(false);
    expect(progress.over.aborted).toBe(true);
    expect(jobs.get('job-1')).toEqual(ended);
  });

  it('may leave although its row cannot be stamped now', async () => {
    jobs.gate.next('touchProgress', 'unavailable');
    await expect(progress.stamp()).resolves.toBe(true);
  });

  it.each([
    ['cancelled', { status: 'CANCELLED' }],
    ['reopened', { run: 2 }],
  ] as const)('tells within 10 s that the job was %s, with and without progress', async (_what, change) => {
    for (const moves of [false, true]) {
      jobs.put(aJobWithoutPlan());
      const watched = new ExpansionProgress(aJobWithoutPlan(), jobs, clock);
      if (moves) watched.moved();
      jobs.put(aJobWithoutPlan(change));
      await clock.advance(10_000);
      expect(watched.over.aborted).toBe(true);
    }
  });

  it('tells nothing while the table cannot be read, and goes on looking', async () => {
    jobs.find = () => Promise.reject(new Error('the table is away'));
    jobs.gate.next('touchProgress', 'unavailable');
    progress.moved();
    await clock.advance(60_000);
    expect(progress.over.aborted).toBe(false);
    progress.moved();
    jobs.put(aJobWithoutPlan({ status: 'CANCELLED' }));
    await clock.advance(10_000);
    expect(progress.over.aborted).toBe(true);
  });
});
