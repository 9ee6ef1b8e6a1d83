import { describe, expect, it } from '@jest/globals';
import type { FailureTolerance } from '../../../../src/export-jobs/domain/export-job.entity.js';
import { JobStateVO } from '../../../../src/export-jobs/domain/job-state.vo.js';
import { aJob, aJobWithoutPlan, aPlan } from '../../../support/builders.js';

const stateOf = (completedTasks: number, failedTasks: number, totalTasks = 10, tolerance: FailureTolerance = {}) =>
  JobStateVO.of(aJob({ plan: aPlan({ totalTasks }), completedTasks, failedTasks, tolerance }));

describe('JobStateVO', () => {
  it('adds up when every task is completed or failed', () => {
    expect(stateOf(8, 2).addsUp).toBe(true);
    expect(stateOf(8, 1).addsUp).toBe(false);
  });

  it('adds up at once when there are no tasks', () => {
    expect(stateOf(0, 0, 0).addsUp).toBe(true);
  });

  it('does not add up before the manifest has been read', () => {
    expect(JobStateVO.of(aJobWithoutPlan()).addsUp).toBe(false);
  });

  it.each([
    [47, 0, 100, '47/100 (47%)'],
    [0, 0, 3, '0/3 (0%)'],
    [1, 1, 3, '2/3 (66%)'],
    [999, 0, 1_000, '999/1000 (99%)'],
    [0, 0, 0, '0/0 (100%)'],
  ])('tells the progress of %i completed and %i failed of %i as %s', (completed, failed, total, text) => {
    expect(stateOf(completed, failed, total).progress).toBe(text);
  });

  it('tells the progress without a total until the manifest has been read', () => {
    expect(JobStateVO.of(aJobWithoutPlan({ completedTasks: 4 })).progress).toBe('4/?');
  });

  it.each([
    ['no failure at all', 0, {}, true],
    ['a failure without any tolerance', 1, {}, false],
    ['a failure with a count of none', 1, { count: 0 }, false],
    ['as many failures as tolerated by count', 2, { count: 2 }, true],
    ['one more than tolerated by count', 3, { count: 2 }, false],
    ['as many failures as tolerated by percentage', 2, { percentage: 20 }, true],
    ['one more than tolerated by percentage', 3, { percentage: 20 }, false],
    ['a percentage between two tasks', 3, { percentage: 29.9 }, false],
    ['over the count and within the percentage', 3, { count: 1, percentage: 50 }, false],
    ['over the percentage and within the count', 3, { count: 3, percentage: 10 }, false],
    ['within both', 3, { count: 3, percentage: 30 }, true],
    ['all failed, all tolerated', 10, { percentage: 100 }, true],
  ])('judges %s', (_name, failed, tolerance, tolerated) => {
    const state = stateOf(10 - failed, failed, 10, tolerance);
    expect(state.failure === undefined).toBe(tolerated);
    if (!tolerated) expect(state.failure).toMatchObject({ code: 'JobCompletedWithFailures' });
  });

  it('says in the failure how many failed and how many were tolerated', () => {
    expect(stateOf(7, 3, 10, { count: 1, percentage: 20 }).failure?.message).toContain('3 of 10 tasks failed; tolerated: 1 task and 20 %');
  });

  it.each([
    ['a failure without any tolerance', 1, {}, true],
    ['no failure', 0, {}, false],
    ['as many failures as tolerated by count', 2, { count: 2 }, false],
    ['one more than tolerated by count', 3, { count: 2 }, true],
    ['a share of the whole job that the rest may still dilute', 2, { percentage: 20 }, false],
    ['more than the share of the whole job', 3, { percentage: 20 }, true],
    ['over one of two bounds', 3, { count: 1, percentage: 50 }, true],
  ])('options.failFast: with 4 of 10 tasks counted, judges %s', (_name, failed, tolerance, early) => {
    const job = aJob({ completedTasks: 4 - failed, failedTasks: failed, tolerance });
    expect(JobStateVO.of(job).failsEarly).toBe(false);
    const state = JobStateVO.of({ ...job, failFast: true });
    expect([state.failsEarly, state.isDecided]).toEqual([early, early]);
    if (early) expect(state.failure?.message).toContain('ended early because of options.failFast: 4/10 (40%) of its tasks are counted');
  });

  it('options.failFast: a job whose counts add up ends as ever', () => {
    const state = JobStateVO.of(aJob({ completedTasks: 9, failedTasks: 1, failFast: true }));
    expect([state.failsEarly, state.isDecided]).toEqual([false, true]);
    expect(state.failure?.message).not.toContain('failFast');
  });

  it('has ended in the three final statuses only', () => {
    const ended = (['PROCESSING', 'DOWNLOADING', 'FINALIZING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const).filter(
      (status) => JobStateVO.of(aJob({ status })).ended,
    );
    expect(ended).toEqual(['COMPLETED', 'FAILED', 'CANCELLED']);
  });
});
