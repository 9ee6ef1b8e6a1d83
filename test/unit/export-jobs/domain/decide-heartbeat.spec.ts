import { describe, expect, it } from '@jest/globals';
import { decideHeartbeat, FINALIZING_STUCK_MS } from '../../../../src/export-jobs/domain/decide-heartbeat.js';
import { aJob, aJobWithoutPlan, withoutToken } from '../../../support/builders.js';

const whole = { completedTasks: 9, failedTasks: 1 };
const LONG = FINALIZING_STUCK_MS + 1;

describe('decideHeartbeat', () => {
  it.each([
    ['beats a job that is being expanded', aJobWithoutPlan(), 0, { beat: true, finish: false }],
    ['beats a job that downloads', aJob(), 0, { beat: true, finish: false }],
    ['sends no beat for a job without a token', withoutToken(aJob()), 0, { beat: false, finish: false }],
    ['beats and finishes a job that adds up', aJob(whole), 0, { beat: true, finish: true }],
    ['finishes a job without a token too', withoutToken(aJob(whole)), 0, { beat: false, finish: true }],
    ['does not finish out of PROCESSING', aJob({ ...whole, status: 'PROCESSING' }), LONG, { beat: true, finish: false }],
    ['beats while a finisher settles', aJob({ ...whole, status: 'FINALIZING' }), 0, { beat: true, finish: false }],
    ['leaves a finisher its minute', aJob({ ...whole, status: 'FINALIZING' }), FINALIZING_STUCK_MS, { beat: true, finish: false }],
    ['takes over from a finisher seen for more than a minute', aJob({ status: 'FINALIZING' }), LONG, { beat: true, finish: true }],
    ['leaves a completed job alone', aJob({ ...whole, status: 'COMPLETED' }), LONG, { beat: false, finish: false }],
    ['leaves a failed job alone', aJob({ ...whole, status: 'FAILED' }), LONG, { beat: false, finish: false }],
    ['leaves a cancelled job alone', aJob({ status: 'CANCELLED' }), LONG, { beat: false, finish: false }],
  ])('%s', (_name, job, unchangedMs, decision) => {
    expect(decideHeartbeat(job, unchangedMs)).toEqual(decision);
  });
});
