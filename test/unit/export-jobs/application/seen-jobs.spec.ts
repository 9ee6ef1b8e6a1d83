import { expect, it } from '@jest/globals';
import { SeenJobs } from '../../../../src/export-jobs/application/seen-jobs.js';
import { aJob } from '../../../support/builders.js';

const INTERVAL_MS = 30_000;

it('Ages on my own clock, by what I saw move: a time without looks, in which a process was frozen, is no silence of its jobs', () => {
  const seen = new SeenJobs(INTERVAL_MS);
  seen.look([aJob()], 0);
  seen.look([aJob()], INTERVAL_MS);
  expect(seen.of('job-1', INTERVAL_MS).aliveSince).toBe(0);
  seen.look([aJob()], 1_000_000);
  expect(seen.of('job-1', 1_000_000)).toMatchObject({ aliveSince: 1_000_000 - INTERVAL_MS, progressSince: 1_000_000 - INTERVAL_MS });
});

it('A sign of life found while the jobs could not be read never counts from the future', () => {
  const seen = new SeenJobs(INTERVAL_MS);
  seen.look([aJob()], 0);
  seen.noteAlive('job-1', 3_000_000);
  seen.look([aJob()], 3_600_000);
  expect(seen.of('job-1', 3_600_000).aliveSince).toBe(3_600_000);
});

it('forgets that a job cannot be finished once its status has changed', () => {
  const seen = new SeenJobs(INTERVAL_MS);
  const finalizing = aJob({ status: 'FINALIZING' });
  seen.look([finalizing], 0);
  seen.noteFinish('job-1', true);
  seen.look([finalizing], INTERVAL_MS);
  expect(seen.of('job-1', INTERVAL_MS).cannotFinish).toBe(true);
  seen.look([aJob({ run: 2 })], 2 * INTERVAL_MS);
  expect(seen.of('job-1', 2 * INTERVAL_MS).cannotFinish).toBe(false);
});
