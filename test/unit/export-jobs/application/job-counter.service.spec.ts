import { describe, expect, it } from '@jest/globals';
import { JobCounterService } from '../../../../src/export-jobs/application/job-counter.service.js';
import type { BatchCount } from '../../../../src/export-jobs/domain/export-job.entity.js';
import { aJob } from '../../../support/builders.js';
import type { Fault } from '../../../support/fakes/gate.js';
import { InMemoryJobStateRepository } from '../../../support/fakes/in-memory-job-state-repository.js';

const count = (completed: number, failed = 0): BatchCount => ({ completed, failed, bytes: completed * 10 });
const BATCH = { batchNo: 0, run: 1 };
const OTHER = { batchNo: 1, run: 1 };

function setUp() {
  const jobs = new InMemoryJobStateRepository().put(aJob());
  const counter = new JobCounterService(jobs);
  const countUp = (next: BatchCount, { ended = false, batch = BATCH } = {}) => counter.countUp('job-1', batch, next, ended);
  /** Until the table answers, as a batch heartbeat does. */
  const insist = async (next: BatchCount, ended = false) => {
    for (;;)
      try {
        return await countUp(next, { ended });
      } catch {
        continue;
      }
  };
  return {
    jobs,
    countUp,
    insist,
    totals: () => [jobs.get('job-1').completedTasks, jobs.get('job-1').failedTasks, jobs.get('job-1').bytesProcessed],
  };
}

describe('JobCounterService', () => {
  const faults: Record<string, Fault> = {
    'the write is unavailable': 'unavailable',
    'its reply is lost': 'lost-reply',
    'the SDK retries it and meets its own write': 'retried',
  };

  it.each(Object.entries(faults))('counts each task once when %s', async (_name, fault) => {
    const { jobs, insist, totals } = setUp();
    for (const [next, ended] of [
      [count(1), false],
      [count(2, 1), false],
      [count(4, 1), true],
    ] as const) {
      jobs.gate.next('count', fault);
      await expect(insist(next, ended)).resolves.toMatchObject({ kind: 'counted' });
    }
    expect(totals()).toEqual([4, 1, 40]);
    expect(jobs.get('job-1').endedBatches).toEqual(new Set([0]));
  });

  it('Count on the old value: goes on from what another write has recorded meanwhile', async () => {
    const { jobs, countUp, totals } = setUp();
    jobs.gate.next('count', async () => void (await countUp(count(2))));
    await expect(countUp(count(3))).resolves.toMatchObject({ kind: 'counted' });
    expect(totals()).toEqual([3, 0, 30]);
  });

  it('A count-up never lowers a number: a late count-up after its holder has counted more changes nothing', async () => {
    const { jobs, countUp, totals } = setUp();
    jobs.gate.next('count', async () => void (await countUp(count(4))));
    await countUp(count(1));
    expect(totals()).toEqual([4, 0, 40]);
    expect(jobs.get('job-1').batchProgress.get(0)).toEqual(count(4));
  });

  it('Not if the batch has ended: an end that two processes count at once is counted once', async () => {
    const { jobs, countUp, totals } = setUp();
    jobs.gate.next('count', async () => void (await countUp(count(5), { ended: true })));
    await countUp(count(5), { ended: true });
    expect(totals()).toEqual([5, 0, 50]);
  });

  it('counts two batches that meet without losing either', async () => {
    const { jobs, countUp, totals } = setUp();
    jobs.gate.next('count', async () => void (await countUp(count(5), { batch: OTHER })));
    await countUp(count(3));
    expect(totals()).toEqual([8, 0, 80]);
  });

  it('gives back the row it has written, so that its caller sees whether the job adds up', async () => {
    const { countUp } = setUp();
    await countUp(count(5), { ended: true });
    const outcome = await countUp(count(4, 1), { ended: true, batch: OTHER });
    expect(outcome).toMatchObject({ kind: 'counted', job: { completedTasks: 9, failedTasks: 1 } });
  });

  it.each([
    ['Only while PROCESSING or DOWNLOADING: the job is being answered', { status: 'FINALIZING' as const }, 'job-not-counting'],
    ['Only into its own run: the job has got another run', { run: 2 }, 'other-run'],
  ])('stops. %s between the look and the write', async (_name, change, reason) => {
    const { jobs, countUp, totals } = setUp();
    jobs.gate.next('count', () => void jobs.put(aJob(change)));
    await expect(countUp(count(1))).resolves.toEqual({ kind: 'stop', reason });
    expect(totals()).toEqual([0, 0, 0]);
  });

  it('stops when there is no such job', async () => {
    const { jobs, countUp } = setUp();
    jobs.rows.clear();
    await expect(countUp(count(1))).resolves.toEqual({ kind: 'stop', reason: 'job-missing' });
  });

  it('throws when the table cannot be asked', async () => {
    const { jobs, countUp } = setUp();
    jobs.gate.next('find', 'unavailable');
    await expect(countUp(count(1))).rejects.toThrow('unavailable');
  });
});
