import { describe, expect, it } from '@jest/globals';
import { decideHeartbeat, FINALIZING_STUCK_MS, type JobSeen } from '../../../../src/export-jobs/domain/decide-heartbeat.js';
import { aJob, aJobWithoutPlan, withoutToken } from '../../../support/builders.js';

const NOW = 1_000_000;
const LIMITS = { repairAfterMs: 120_000, stallTimeoutMs: 600_000 };
const whole = { completedTasks: 9, failedTasks: 1 };
const LONG = FINALIZING_STUCK_MS + 1;

/** Unchanged for so many milliseconds; its finisher has never renewed its lease. */
const seen = (inStatusMs: number, noProgressMs = 0, quietMs = noProgressMs): JobSeen => ({
  statusSince: NOW - inStatusMs,
  leaseSince: NOW - inStatusMs,
  progressSince: NOW - noProgressMs,
  aliveSince: NOW - quietMs,
  cannotFinish: false,
});
const stuck = (inStatusMs: number): JobSeen => ({ ...seen(inStatusMs), cannotFinish: true });

describe('decideHeartbeat', () => {
  it.each([
    ['beats a job that is being expanded', aJobWithoutPlan(), seen(0), { beat: true, care: 'none' }],
    ['beats a job that downloads', aJob(), seen(0), { beat: true, care: 'none' }],
    ['sends no beat for a job without a token', withoutToken(aJob()), seen(0), { beat: false, care: 'none' }],
    ['beats and finishes a job that adds up', aJob(whole), seen(0), { beat: true, care: 'finish' }],
    ['finishes a job without a token too', withoutToken(aJob(whole)), seen(0), { beat: false, care: 'finish' }],
    ['finishes rather than repairs', aJob(whole), seen(0, 600_000), { beat: true, care: 'finish' }],
    ['does not finish out of PROCESSING', aJob({ ...whole, status: 'PROCESSING' }), seen(LONG), { beat: true, care: 'none' }],
    ['beats while a finisher settles', aJob({ ...whole, status: 'FINALIZING' }), seen(0), { beat: true, care: 'none' }],
    ['leaves a finisher its minute', aJob({ ...whole, status: 'FINALIZING' }), seen(FINALIZING_STUCK_MS), { beat: true, care: 'none' }],
    ['takes over from a finisher seen for more than a minute', aJob({ status: 'FINALIZING' }), seen(LONG), { beat: true, care: 'finish' }],
    [
      'One finisher: leaves a finisher alone that renews its lease, however long it takes',
      aJob({ status: 'FINALIZING' }),
      { ...seen(900_000), leaseSince: NOW - FINALIZING_STUCK_MS },
      { beat: true, care: 'none' },
    ],
    [
      'never takes a job that is answered for a stalled one',
      aJob({ status: 'FINALIZING' }),
      seen(0, 900_000),
      { beat: true, care: 'none' },
    ],
    ['beats a job whose finisher waits for a batch', aJob({ status: 'FINALIZING' }), stuck(599_999), { beat: true, care: 'finish' }],
    ['beats a job that cannot be finished no more', aJob({ status: 'FINALIZING' }), stuck(600_000), { beat: false, care: 'finish' }],
    ['beats a job that is settled for longer than that', aJob({ status: 'FINALIZING' }), seen(900_000), { beat: true, care: 'finish' }],
    ['fails fast once a failure cannot be tolerated', aJob({ failFast: true, failedTasks: 1 }), seen(0), { beat: true, care: 'finish' }],
    [
      'fails fast out of an expansion, too',
      aJob({ failFast: true, failedTasks: 1, status: 'PROCESSING' }),
      seen(0),
      { beat: true, care: 'finish' },
    ],
    ['leaves a job its two minutes', aJob(), seen(0, 119_999), { beat: true, care: 'none' }],
    ['repairs a job without progress, and beats it', aJob(), seen(0, 120_000), { beat: true, care: 'repair' }],
    ['repairs an expansion without progress', aJobWithoutPlan(), seen(0, 120_000), { beat: true, care: 'repair' }],
    ['beats a job under repair that shows signs of life', aJob(), seen(0, 900_000, 599_999), { beat: true, care: 'repair' }],
    ['beats a stalled job no more', aJob(), seen(0, 900_000, 600_000), { beat: false, care: 'repair' }],
    ['leaves a completed job alone', aJob({ ...whole, status: 'COMPLETED' }), seen(LONG, LONG), { beat: false, care: 'none' }],
    ['leaves a failed job alone', aJob({ ...whole, status: 'FAILED' }), seen(LONG, LONG), { beat: false, care: 'none' }],
    ['leaves a cancelled job alone', aJob({ status: 'CANCELLED' }), seen(LONG, LONG), { beat: false, care: 'none' }],
  ])('%s', (_name, job, jobSeen, decision) => {
    expect(decideHeartbeat(job, jobSeen, NOW, LIMITS)).toEqual(decision);
  });
});
