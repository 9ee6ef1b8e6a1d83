import { beforeEach, describe, expect, it } from '@jest/globals';
import { aJob, aPlan } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { settled } from '../../../support/fake-clock.js';
import { aFinisher } from '../../../support/finisher.js';
import { aJobWindow } from '../../../support/job-window.js';

let f: ReturnType<typeof aFinisher>;
let process: () => ReturnType<typeof aJobWindow>;
let me: ReturnType<typeof aJobWindow>;

/** A job of a hundred batches, the first eight of them due. */
beforeEach(() => {
  f = aFinisher();
  f.jobs.put(aJob({ plan: aPlan({ totalTasks: 500, batchCount: 100 }), sentBatches: 8 }));
  process = () => aJobWindow({ jobs: f.jobs, jobBatches: f.batches, logger: f.logger });
  me = process();
});

const job = () => f.jobs.get('job-1');
const sent = () => f.batches.sent.map(({ batchNo }) => batchNo);
/** The row after the last count of this batch. */
const end = (...batchNos: number[]) => {
  f.jobs.put({ ...job(), endedBatches: new Set([...job().endedBatches, ...batchNos]) });
  return job();
};
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

describe('TopUpJobUseCase', () => {
  it('One for each that ended: sends the next message, of the job’s run', async () => {
    f.jobs.put({ ...job(), run: 3 });
    await me.topUpJob.topUp(end(4));
    expect(f.batches.sent).toEqual([{ batchNo: 8, run: 3 }]);
    expect(job().sentBatches).toBe(9);
  });

  it('costs no call while the window is full, nor when all of the job is due', async () => {
    await me.topUpJob.topUp(job());
    f.jobs.put({ ...job(), sentBatches: 100 });
    await me.topUpJob.topUp(end(4));
    expect(f.gate.calls).toEqual([]);
  });

  it('Messages first, then due: a crash in between sends them again', async () => {
    const row = end(4);
    f.gate.crashAfter(1);
    await me.topUpJob.topUp(row);
    f.gate.restart();
    expect([sent(), job().sentBatches]).toEqual([[8], 8]);
    await process().topUpJob.topUp(job());
    expect([sent(), job().sentBatches]).toEqual([[8, 8], 9]);
  });

  it('leaves batches that are not due when their messages cannot be sent, says so, and sends them at the next call', async () => {
    f.gate.next('sendBatches', 'unavailable');
    await me.topUpJob.topUp(end(4));
    expect([sent(), job().sentBatches]).toEqual([[], 8]);
    expect(f.logger.messages('error')).toEqual([expect.stringMatching(/^the messages of waiting batches failed .*; retrying$/)]);
    await me.topUpJob.topUp(end(5));
    expect([sent(), job().sentBatches]).toEqual([[8, 9], 10]);
  });

  it.each([
    ['lost-reply', [8], 9],
    ['retried', [8], 9],
    ['unavailable', [8], 8],
  ] as const)('sends nothing twice by itself when the fate of its write is %s', async (fault, numbers, sentBatches) => {
    f.gate.next('recordSent', fault);
    await me.topUpJob.topUp(end(4));
    expect([sent(), job().sentBatches]).toEqual([numbers, sentBatches]);
  });

  it('makes up for eight ends at once with two writes', async () => {
    const sending = deferred();
    f.gate.next('sendBatches', () => sending.promise);
    const rows = range(0, 8).map((batchNo) => end(batchNo));
    const calls = rows.map((row) => me.topUpJob.topUp(row));
    await settled();
    sending.resolve();
    await Promise.all(calls);
    expect(sent()).toEqual(range(8, 16));
    expect(f.gate.calls.filter((call) => call === 'recordSent')).toHaveLength(2);
    expect(job().sentBatches).toBe(16);
  });

  it('goes on with rows that come in the wrong order', async () => {
    const [first, second] = [end(0), end(1)];
    const sending = deferred();
    f.gate.next('sendBatches', () => sending.promise);
    const calls = [second, first].map((row) => me.topUpJob.topUp(row));
    sending.resolve();
    await Promise.all(calls);
    expect([sent(), job().sentBatches]).toEqual([[8, 9], 10]);
    expect(f.gate.calls).not.toContain('find');
  });

  it('begins anew after it was through, and is idle then', async () => {
    await me.topUpJob.topUp(end(0));
    await me.topUpJob.idle();
    await me.topUpJob.topUp(end(1));
    expect(sent()).toEqual([8, 9]);
  });

  it('sends as many more as the fleet has grown by', async () => {
    me.coordinators.others = ['b', 'c'];
    await me.topUpJob.topUp(end(0));
    expect([sent(), job().sentBatches]).toEqual([range(8, 25), 25]);
  });

  it('sends nothing more until the job is down to its share when many jobs have become active', async () => {
    me.window.noteDownloadingJobs(32);
    for (const batchNo of range(0, 6)) await me.topUpJob.topUp(end(batchNo));
    expect(sent()).toEqual([]);
    await me.topUpJob.topUp(end(6));
    expect(sent()).toEqual([8]);
  });

  it('tops up one job while another one’s messages hang', async () => {
    f.jobs.put({ ...job(), jobId: 'job-2' });
    const hanging = deferred();
    f.gate.next('sendBatches', () => hanging.promise);
    const first = me.topUpJob.topUp(end(0));
    await me.topUpJob.topUp({ ...f.jobs.get('job-2'), endedBatches: new Set([0]) });
    expect(f.jobs.get('job-2').sentBatches).toBe(9);
    hanging.resolve();
    await first;
  });
});

describe('Due IF sentBatches as observed: two processes that top a job up at once', () => {
  it('send every batch, and none is hidden by the slower one’s number', async () => {
    const another = process();
    const [first, second] = [end(0), end(1)];
    // The slower one has seen the first end only, and sends while the faster one is through.
    f.gate.next('sendBatches', () => another.topUpJob.topUp(second));
    await me.topUpJob.topUp(first);
    expect(job().sentBatches).toBe(10);
    expect(new Set(sent())).toEqual(new Set([8, 9]));
  });

  it('end after a few tries when others are always faster', async () => {
    const faster = () => void f.jobs.put({ ...job(), sentBatches: job().sentBatches + 1, endedBatches: new Set(range(0, 20)) });
    f.gate.next('recordSent', ...Array.from({ length: 10 }, () => faster));
    await me.topUpJob.topUp(end(0));
    expect(f.gate.calls.filter((call) => call === 'recordSent')).toHaveLength(4);
  });

  it('Only into its own run: a late one writes nothing into a job that was reopened meanwhile', async () => {
    const row = end(0);
    f.gate.next('recordSent', () => void f.jobs.put({ ...job(), run: 2, status: 'PROCESSING', sentBatches: 0, endedBatches: new Set() }));
    await me.topUpJob.topUp(row);
    expect([job().run, job().sentBatches, sent()]).toEqual([2, 0, [8]]);
  });
});
