import { beforeEach, describe, expect, it } from '@jest/globals';
import { isDue } from '../../../../src/export-jobs/domain/decide-send.js';
import { aHolder } from '../../../support/batch-holder.js';
import { aRequest, aSegment } from '../../../support/builders.js';
import { settled } from '../../../support/fake-clock.js';
import { FakeBatchFiles } from '../../../support/fakes/fake-batch-ports.js';
import { anIntake } from '../../../support/intake.js';

const BATCH_SIZE = 5;
const BATCHES = 12;
const TOTAL_TASKS = BATCHES * BATCH_SIZE;
const running = new AbortController().signal;

/** A job of twelve batches, eight of which may be out, from its message to its end. */
function aWorld() {
  const intake = anIntake({ heartbeatEnabled: false });
  const { gate, jobs, batches, queue, segments, manifest } = intake;
  manifest.totalTasks = TOTAL_TASKS;
  const files = new FakeBatchFiles((segmentKey) => {
    const { firstIndex = 0, tasks = [] } = segments.segments.get(segmentKey) ?? {};
    return aSegment(0, { batchNo: firstIndex / BATCH_SIZE, firstIndex, tasks });
  }, gate);
  const job = () => jobs.get('job-1');
  const take = async () => {
    if ((await intake.acceptAndAnswer(aRequest(), running)) === 'expand')
      await intake.expandJob.expand(aRequest(), running, () => Promise.resolve(false));
  };
  /** One process that takes in whatever is sent, until nothing is. One that has died tries for ever, in a time that does not pass. */
  const work = async () => {
    const holder = aHolder({ ...intake, files }, 'me', 1_000);
    for (let messages = queue.sent.splice(0); messages.length > 0; messages = queue.sent.splice(0)) {
      for (const message of messages) holder.receive(message).catch(() => undefined);
      await settled();
      await holder.pool.succeedAll();
      await settled();
    }
  };
  /** What other processes do once they see that a holder is dead: its batches are queued again, with their messages. */
  const reclaim = async () => {
    for (const row of await batches.list('job-1')) {
      if (row.status !== 'running') continue;
      await batches.reclaim(row, { reclaimId: 'r', attempts: 1, lastError: 'silent' });
      await queue.send([{ jobId: 'job-1', batchNo: row.batchNo, run: row.run }]);
    }
  };
  /** What the orchestrator does for a job: counts that lag behind, messages that are lost, a window that is not full. */
  const lookAfter = async () => {
    const { topUpJob, counter } = aHolder({ ...intake, files }, 'another', 1_000);
    for (const row of await batches.list('job-1')) if (row.status === 'succeeded') await counter.countUp('job-1', row, row, true);
    const lost = (await batches.list('job-1')).filter(({ batchNo, status }) => status === 'queued' && isDue(job(), batchNo));
    await queue.send(lost.map(({ batchNo, run }) => ({ jobId: 'job-1', batchNo, run })));
    await topUpJob.topUp(job());
    await intake.completeJob.complete('job-1');
  };
  return { ...intake, job, take, work, reclaim, lookAfter };
}

let w: ReturnType<typeof aWorld>;
beforeEach(() => {
  w = aWorld();
});

function expectWhole(): void {
  const { status, completedTasks, failedTasks, endedBatches } = w.job();
  expect({ status, completedTasks, failedTasks, ended: endedBatches.size }).toEqual({
    status: 'COMPLETED',
    completedTasks: TOTAL_TASKS,
    failedTasks: 0,
    ended: BATCHES,
  });
  expect(w.stepFunctions.answers).toHaveLength(1);
}

describe('The window of batches', () => {
  it('is never exceeded, and brings every batch of a job by and by', async () => {
    const out: number[] = [];
    const send = w.queue.send.bind(w.queue);
    w.queue.send = async (messages, delayS) => {
      await send(messages, delayS);
      out.push((await w.batches.list('job-1')).filter(({ status }) => status === 'running').length + w.queue.sent.length);
    };
    await w.take();
    expect(w.job()).toMatchObject({ status: 'DOWNLOADING', sentBatches: 8 });
    await w.work();
    expectWhole();
    expect(Math.max(...out)).toBeLessThanOrEqual(8);
  });

  it('costs a job that fits into it no write', async () => {
    w.manifest.totalTasks = 8 * BATCH_SIZE;
    await w.take();
    await w.work();
    expect(w.job().status).toBe('COMPLETED');
    expect(w.gate.calls).not.toContain('recordSent');
  });

  it('Only its expander sends while it is PROCESSING: what ended meanwhile is made up for when it is DOWNLOADING', async () => {
    const before: number[] = [];
    w.gate.next('startDownloading', async () => {
      await w.work();
      before.push(w.job().endedBatches.size, w.job().sentBatches, w.queue.sent.length);
    });
    await w.take();
    expect(before).toEqual([8, 0, 0]);
    expect(w.queue.sent.map(({ batchNo }) => batchNo)).toEqual([8, 9, 10, 11]);
    expect(w.job()).toMatchObject({ status: 'DOWNLOADING', sentBatches: 12 });
    await w.work();
    expectWhole();
  });

  it('is made up for by the expander that was too late, when the other one died before it', async () => {
    w.gate.next('startDownloading', async () => {
      await w.work();
      const { run } = w.job();
      await w.jobs.startDownloading('job-1', run, 8);
    });
    await w.take();
    await w.work();
    expectWhole();
  });

  it('is refilled by the next look when a message cannot be sent as a batch ends', async () => {
    await w.take();
    w.gate.next('send', ...Array.from({ length: 8 }, () => 'unavailable' as const));
    await w.work();
    expect(w.job()).toMatchObject({ status: 'DOWNLOADING', sentBatches: 8, completedTasks: 8 * BATCH_SIZE });
    await w.lookAfter();
    expect(w.job().sentBatches).toBe(12);
    await w.work();
    expectWhole();
  });

  it('is refilled when the messages of all that is out are lost', async () => {
    await w.take();
    w.queue.sent.splice(0);
    await w.lookAfter();
    await w.work();
    expectWhole();
  });

  it('begins anew with a reopened job', async () => {
    await w.take();
    await w.work();
    w.jobs.put({ ...w.job(), status: 'FAILED', sentBatches: 12 });
    await w.reopenJob.reopen(w.job());
    expect(w.job()).toMatchObject({ status: 'PROCESSING', run: 2, sentBatches: 0 });
  });
});

describe('No job waits for ever: a process that dies', () => {
  it('behind any of its calls leaves nothing that is not looked after', async () => {
    let hasDied = true;
    for (let step = 1; hasDied; step++) {
      w = aWorld();
      w.gate.crashAfter(step);
      await w.take().catch(() => undefined);
      await w.work();
      hasDied = w.gate.crashed;
      w.gate.restart();
      // The job's message comes again, unless the job has ended by then.
      await w.take();
      for (let look = 0; look < BATCHES && w.job().status === 'DOWNLOADING'; look++) {
        await w.reclaim();
        await w.work();
        await w.lookAfter();
      }
      await w.completeJob.complete('job-1');
      // The finisher that died holds the answer until its lease has stood still for a minute.
      if (w.job().status === 'FINALIZING') await w.completeJob.takeOver(w.job());
      const { status, completedTasks, endedBatches } = w.job();
      expect([step, status, completedTasks, endedBatches.size]).toEqual([step, 'COMPLETED', TOTAL_TASKS, BATCHES]);
    }
  });
});
