import { beforeEach, expect, it } from '@jest/globals';
import type { ExportJobEntity } from '../../../../src/export-jobs/domain/export-job.entity.js';
import { aNewBatch, aState, leaseOf, RESULT_KEYS, TOKEN, NOTHING_IN_HAND } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import type { Fault } from '../../../support/fakes/gate.js';
import { aReopeningWorld, SECOND, TOTAL_TASKS } from '../../../support/reopening.js';

const FAILING = ['file-10', 'file-11', 'file-7'];
const THIRD = 'token-of-the-third-attempt';
const ALL_LINES = Array.from({ length: TOTAL_TASKS }, (_, index) => [index, true]);

let w: ReturnType<typeof aReopeningWorld>;
beforeEach(() => {
  w = aReopeningWorld();
});

/** Run 1: batch 0 is wholly done, batch 1 lacks one file, batch 2 both of its. */
async function failed(): Promise<ExportJobEntity> {
  await w.take();
  await w.work(...FAILING);
  return w.job();
}

/**
 * Run 1: batch 0 is wholly done, batch 1 has recorded two files and is held, batch 2 is queued; then the execution is stopped.
 * `batchesToo`: whether the canceller came as far as the batches.
 */
async function cancelled({ batchesToo }: { batchesToo: boolean }) {
  await w.take();
  const messages = w.received();
  const { receive, pool } = w.holder('the holder of run 1');
  for (const message of messages.slice(0, 2)) void receive(message);
  await settled();
  for (const index of [0, 1, 2, 3, 4, 5, 6]) await pool.succeed(`/file-${index}`);
  await w.clock.advance(10_000);
  const lease = leaseOf(w.batches.get(1));
  w.stepFunctions.close(TOKEN);
  if (!batchesToo) w.gate.next('listBatches', 'unavailable');
  await w.cancelJob.cancelDead('job-1', 1, TOKEN).catch(() => undefined);
  expect([w.job().status, w.job().completedTasks, w.batches.get(1).status]).toEqual(['CANCELLED', 7, batchesToo ? 'cancelled' : 'running']);
  return { lease, pool, messages };
}

/** Holds the next call of this name back, or one behind these earlier ones, until it is released. */
function pauseAt(call: string, ...earlier: Fault[]): { reached: Promise<void>; release: () => void } {
  const [reached, hold] = [deferred(), deferred()];
  w.gate.next(call, ...earlier, () => {
    reached.resolve();
    return hold.promise;
  });
  return { reached: reached.promise, release: () => hold.resolve() };
}

function expectWhole(run = 2, token = SECOND): void {
  const { status, completedTasks, failedTasks, bytesProcessed, batchProgress, endedBatches } = w.job();
  expect({ status, run: w.job().run, completedTasks, failedTasks, bytesProcessed }).toEqual({
    status: 'COMPLETED',
    run,
    completedTasks: TOTAL_TASKS,
    failedTasks: 0,
    bytesProcessed: TOTAL_TASKS * 10,
  });
  expect([batchProgress.size, endedBatches]).toEqual([0, new Set([0, 1, 2])]);
  expect(w.lines(run)).toEqual(ALL_LINES);
  expect(w.stepFunctions.answers.filter(({ taskToken }) => taskToken === token)).toMatchObject([{ kind: 'success' }]);
}

onEachClock('a failed job that gets another live token', () => {
  it('runs only what failed, and completes with exact counters and one line for each task in the manifest of run 2', async () => {
    expect(await failed()).toMatchObject({ status: 'FAILED', completedTasks: 9, failedTasks: 3 });
    await w.take(SECOND);
    expect(w.job()).toMatchObject({ status: 'DOWNLOADING', run: 2, attempt: 2, taskToken: SECOND, completedTasks: 9, failedTasks: 0 });
    await expect(w.work()).resolves.toEqual(FAILING);
    expectWhole();
    expect(w.stepFunctions.answers).toMatchObject([
      { taskToken: TOKEN, kind: 'failure', error: 'JobCompletedWithFailures' },
      { taskToken: SECOND, kind: 'success' },
    ]);
    expect(w.lines(1).filter(([, success]) => !success)).toHaveLength(3);
  });

  it('has only its last failures in the end, run after run', async () => {
    await failed();
    await w.take(SECOND);
    await w.work('file-11');
    expect(w.job()).toMatchObject({ status: 'FAILED', run: 2, completedTasks: 11, failedTasks: 1 });
    await w.take(THIRD);
    await expect(w.work()).resolves.toEqual(['file-11']);
    expectWhole(3, THIRD);
  });

  it('is expanded again when it had ended before it was expanded', async () => {
    w.gate.next('spool', () => w.completeJob.fail('job-1', { code: 'ExportIntakeFailed', message: 'on purpose' }).then(() => undefined));
    await w.take();
    expect(w.job()).toMatchObject({ status: 'FAILED' });
    expect(w.job()).not.toHaveProperty('plan');
    await w.take(SECOND);
    await w.work();
    expectWhole();
  });

  it('is taken up by two deliveries of the message at once as by one', async () => {
    await failed();
    await Promise.all([w.take(SECOND), w.take(SECOND)]);
    expect(w.job()).toMatchObject({ run: 2, attempt: 2 });
    await w.work();
    expectWhole();
  });

  it.each(['reopen', 'move', 'send', 'startDownloading'])('goes on when %s was applied and its reply lost', async (call) => {
    await failed();
    w.gate.next(call, 'lost-reply');
    await w.take(SECOND).catch(() => undefined);
    await w.take(SECOND);
    await w.work();
    expectWhole();
  });

  it.each(['reopen', 'move'])('recognises %s that the SDK’s own retry met', async (call) => {
    await failed();
    w.gate.next(call, 'retried');
    await w.take(SECOND);
    expect(w.job()).toMatchObject({ status: 'DOWNLOADING', run: 2, attempt: 2 });
    await w.work();
    expectWhole();
  });
});

onEachClock('a crash between the reopening and its moves', () => {
  // find … reopen … list, 3 moves, send, startDownloading: the crash wanders behind each of them.
  const steps = Array.from({ length: 24 }, (_, index) => index + 1);

  it.each(steps)('behind call %i: the message comes again first, then the batches run', async (step) => {
    await failed();
    w.gate.crashAfter(step);
    await w.take(SECOND).catch(() => undefined);
    w.gate.restart();
    await w.take(SECOND);
    await expect(w.work()).resolves.toEqual(FAILING);
    expectWhole();
  });

  it.each(steps)('behind call %i: batches that were sent run first, then the message comes again', async (step) => {
    await failed();
    w.gate.crashAfter(step);
    await w.take(SECOND).catch(() => undefined);
    w.gate.restart();
    const first = await w.work();
    await w.take(SECOND);
    expect([...first, ...(await w.work())].sort()).toEqual(FAILING);
    expectWhole();
  });

  it('lasts longer than the token: the next attempt goes on in the same run', async () => {
    await failed();
    w.gate.next('move', 'unavailable');
    await expect(w.take(SECOND)).rejects.toThrow('unavailable');
    w.stepFunctions.close(SECOND);
    await w.take(THIRD);
    await w.work();
    expectWhole(2, THIRD);
    expect(w.job().attempt).toBe(3);
  });

  it('lasts until the job is cancelled: the next run finds rows of two former ones', async () => {
    await failed();
    // The first row is in run 2 already when the process dies.
    w.gate.next('move', () => undefined, 'unavailable');
    await expect(w.take(SECOND)).rejects.toThrow('unavailable');
    await w.cancelJob.cancel('job-1', 'enough');
    expect(new Set([0, 1, 2].map((batchNo) => w.batches.get(batchNo).run))).toEqual(new Set([1, 2]));
    await w.take(THIRD);
    await expect(w.work()).resolves.toEqual(FAILING);
    expectWhole(3, THIRD);
  });
});

onEachClock('Finisher gives up unless all rows are final and of its run: a late finisher of the former run', () => {
  it.each([
    ['before it reads the rows', 'listBatches'],
    ['before the manifest', 'writeManifest'],
    ['before the answer', 'answerToken'],
    ['before the end', 'end'],
  ])('that was paused %s changes nothing', async (_when, call) => {
    await w.take();
    // The last count finds the job whole: its finisher is paused, and another one ends the job.
    const isPaused = new Promise<ReturnType<typeof pauseAt>>((resolve) => {
      w.gate.next('beginFinalizing', () => resolve(pauseAt(call)));
    });
    const late = w.work(...FAILING);
    const paused = await isPaused;
    await paused.reached;
    await w.finisher().takeOver(w.job());
    const manifest = w.results.objects.get('run-1/manifest.json');
    expect(w.job().status).toBe('FAILED');
    await w.take(SECOND);
    const reopened = w.job();
    const messages = w.received();

    paused.release();
    await late;
    expect(w.job()).toEqual(reopened);
    expect(w.results.objects.get('run-1/manifest.json')).toBe(manifest);
    w.queue.sent.push(...messages);
    await w.work();
    expectWhole();
    expect(w.stepFunctions.answers).toHaveLength(2);
  });
});

onEachClock('a late canceller of the former run', () => {
  const nothing = () => undefined;

  it.each([
    ['before it reads the rows for the manifest', 'listBatches', [nothing]],
    ['before the manifest', 'writeManifest', []],
    ['before the answer', 'answerToken', []],
    ['before the end', 'end', []],
  ])(
    'Finisher gives up unless all rows are final and of its run: one that an operator started and that was paused %s changes nothing',
    async (_when, call, earlier) => {
      await w.take();
      w.received();
      const paused = pauseAt(call, ...earlier);
      const late = w.cancelJob.cancel('job-1', 'enough');
      await paused.reached;
      await w.finisher().takeOver(w.job());
      const manifest = w.results.objects.get('run-1/manifest.json');
      expect(w.job()).toMatchObject({ status: 'CANCELLED', run: 1 });
      await w.take(SECOND);
      const reopened = w.job();
      paused.release();
      await late;
      expect(w.job()).toEqual(reopened);
      expect(w.results.objects.get('run-1/manifest.json')).toBe(manifest);
      await w.work();
      expectWhole();
    },
  );

  it.each([
    ['before it lists the batches', 'listBatches'],
    ['before it cancels the first', 'cancelBatch'],
  ])('Batches cancelled IF their run is not newer: one that was paused %s takes nothing of the new run down', async (_when, call) => {
    await w.take();
    w.received();
    w.stepFunctions.close(TOKEN);
    const paused = pauseAt(call);
    const canceller = w.cancelJob.cancelDead('job-1', 1, TOKEN);
    await paused.reached;
    await w.take(SECOND);
    paused.release();
    await canceller;
    expect([0, 1, 2].map((batchNo) => w.batches.get(batchNo).status)).toEqual(['queued', 'queued', 'queued']);
    await w.work();
    expectWhole();
  });

  it('that an operator started is about the run he saw', async () => {
    await w.take();
    const paused = pauseAt('beginFinalizing');
    const canceller = w.cancelJob.cancel('job-1', 'enough');
    await paused.reached;
    await w.cancelJob.cancelDead('job-1', 1, TOKEN);
    await w.take(SECOND);
    paused.release();
    await expect(canceller).resolves.toBe('not-yet');
    await w.work();
    expectWhole();
  });
});

onEachClock('a holder of the former run that does not know yet', () => {
  it('has its last checkpoint between the reopening and the move taken over, and nothing is fetched again', async () => {
    const { lease } = await cancelled({ batchesToo: false });
    w.gate.next('move', () => void w.batches.checkpoint(lease, 9, aState([0, 1, 3]), true, NOTHING_IN_HAND));
    await w.take(SECOND);
    expect(w.batches.get(1)).toMatchObject({ status: 'queued', run: 2, completed: 3, lockToken: 2, reclaimMark: 3 });
    await expect(w.work()).resolves.toEqual(['file-10', 'file-11', 'file-7', 'file-9']);
    expectWhole();
  });

  it.each([
    ['the look and the reopening', 'reopen'],
    ['the reopening and the move', 'move'],
  ])('ends its batch between %s: it stays succeeded and is counted', async (_when, call) => {
    const { lease } = await cancelled({ batchesToo: false });
    const state = aState([0, 1, 2, 3, 4]);
    const keys = { succeeded: { key: 'SUCCEEDED_1_1', size: 1 }, failed: { key: 'FAILED_1_1', size: 0 } };
    w.files.results.set('1_1', [0, 1, 2, 3, 4].map((position) => ({ success: true, position, size: 10, etag: '', sha256: null, attempts: 1, durationMs: 1 }))); // prettier-ignore
    w.gate.next(call, () => void w.batches.end(lease, 9, state, keys));
    await w.take(SECOND);
    expect(w.batches.get(1)).toMatchObject({ status: 'succeeded', run: 2, lockToken: 1 });
    expect(w.job()).toMatchObject({ completedTasks: 10, endedBatches: new Set([0, 1]) });
    await expect(w.work()).resolves.toEqual(['file-10', 'file-11']);
    expectWhole();
  });

  it('ends its batch and the process dies between the move and the count: the next delivery counts it', async () => {
    const { lease } = await cancelled({ batchesToo: false });
    w.gate.next('move', () => void w.batches.end(lease, 9, aState([0, 1, 2, 3, 4]), RESULT_KEYS));
    w.gate.next('count', 'unavailable');
    await expect(w.take(SECOND)).rejects.toThrow('unavailable');
    expect(w.job().endedBatches).toEqual(new Set([0]));
    await w.take(SECOND);
    expect(w.job()).toMatchObject({ completedTasks: 10, endedBatches: new Set([0, 1]) });
  });

  it('writes nothing after the move', async () => {
    const { lease, pool } = await cancelled({ batchesToo: false });
    await w.take(SECOND);
    const row = w.batches.get(1);
    await pool.succeedAll();
    await w.clock.advance(30_000);
    await expect(w.batches.end(lease, 99, aState([0, 1, 2, 3, 4]), RESULT_KEYS)).resolves.toEqual({ kind: 'refused' });
    expect(w.batches.get(1)).toEqual(row);
    await w.work();
    expectWhole();
  });

  it('Only into its own run: counts nothing into the new run', async () => {
    await w.take();
    const messages = w.received();
    const { receive, pool } = w.holder('the holder of run 1');
    const batch = receive(messages[0]);
    await settled();
    const paused = pauseAt('count');
    await pool.succeed('/file-0');
    await w.clock.advance(10_000);
    w.stepFunctions.close(TOKEN);
    await w.cancelJob.cancelDead('job-1', 1, TOKEN);
    await w.take(SECOND);
    const counted = w.job();
    paused.release();
    await expect(batch).resolves.toBe('job-over');
    expect(w.job()).toEqual(counted);
    expect(counted).toMatchObject({ completedTasks: 1, batchProgress: new Map([[0, { completed: 1, failed: 0, bytes: 10 }]]) });
    await w.work();
    expectWhole();
  });

  it('leaves its message behind: in run 2 it claims nothing', async () => {
    const { messages } = await cancelled({ batchesToo: true });
    await w.take(SECOND);
    const before = [0, 1, 2].map((batchNo) => w.batches.get(batchNo));
    for (const message of messages) await expect(w.holder('late').receive(message)).resolves.toBe('dropped');
    expect([0, 1, 2].map((batchNo) => w.batches.get(batchNo))).toEqual(before);
    await w.work();
    expectWhole();
  });
});

onEachClock('a late expander of the former run', () => {
  it('that creates a row after the reopening looked, has it moved; its messages and its start change nothing', async () => {
    const paused = pauseAt('createBatch');
    const late = w.take();
    await paused.reached;
    w.stepFunctions.close(TOKEN);
    await w.cancelJob.cancelDead('job-1', 1, TOKEN);
    // It creates batch 0 of run 1 right before the expander of run 2 would.
    w.gate.next('createBatch', async () => {
      paused.release();
      await late;
    });
    await w.take(SECOND);
    expect([0, 1, 2].map((batchNo) => w.batches.get(batchNo).run)).toEqual([2, 2, 2]);
    await w.work();
    expectWhole();
  });

  it('moves no row out of a newer run', async () => {
    await failed();
    await w.take(SECOND);
    w.received();
    w.batches.put({ ...w.batches.get(1), run: 1 });
    const paused = pauseAt('move');
    const late = w.enqueueBatches.enqueue(w.job());
    await paused.reached;
    await w.cancelJob.cancel('job-1', 'enough');
    await w.take(THIRD);
    paused.release();
    await late;
    expect([0, 1, 2].map((batchNo) => w.batches.get(batchNo).run)).toEqual([3, 3, 3]);
    await w.work();
    expectWhole(3, THIRD);
  });

  it('gives up, and its message comes again, when a row moves faster than it', async () => {
    await failed();
    const raise = () => void w.batches.put({ ...w.batches.get(0), ...aNewBatch({ totalTasks: 5 }), seq: w.batches.get(0).seq + 1 });
    w.gate.next('move', ...Array.from({ length: 30 }, () => raise));
    await expect(w.take(SECOND)).rejects.toMatchObject({ code: 'BATCH_NOT_MOVED', disposition: 'retry' });
  });
});

onEachClock('an operator’s cancel of a job at work', () => {
  it('keeps what was done: the next run fetches the rest', async () => {
    await cancelled({ batchesToo: true });
    await w.take(SECOND);
    await expect(w.work()).resolves.toEqual(['file-10', 'file-11', 'file-7', 'file-8', 'file-9']);
    expectWhole();
  });
});
