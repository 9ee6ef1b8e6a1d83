import { beforeEach, expect, it } from '@jest/globals';
import { aState } from '../../../support/builders.js';
import { aBatchWorld, BATCH_MESSAGE } from '../../../support/batch-holder.js';
import { deferred } from '../../../support/deferred.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';

let w: ReturnType<typeof aBatchWorld>;
let me: ReturnType<ReturnType<typeof aBatchWorld>['process']>;

beforeEach(() => {
  w = aBatchWorld();
  me = w.process('me', 2);
});

const row = () => w.batches.get(0);
const isHandedBackOrEnded = () => (row().status === 'queued' && w.queue.sent.length > 0) || row().status === 'succeeded';

onEachClock('a drain', () => {
  it('lets running tasks finish, starts no others. Release: row queued, then the message', async () => {
    const { run } = await me.begin();
    const drained = me.drain();
    await me.pool.succeedAll();
    await drained;
    await expect(run).resolves.toBe('draining');
    expect(me.pool.started).toHaveLength(2);
    expect(row()).toMatchObject({ status: 'queued', attempts: 0, lockToken: 1, ...aState([0, 1]) });
    expect(w.queue.sent).toEqual([BATCH_MESSAGE]);
    expect(w.gate.calls.indexOf('release')).toBeLessThan(w.gate.calls.indexOf('send'));
    expect(w.jobs.get('job-1').completedTasks).toBe(2);
    expect(w.clock.sleepers).toBeLessThanOrEqual(2);
  });

  it('Release: row queued, then the message: who receives it at once claims the batch', async () => {
    const { run } = await me.begin();
    let received: Promise<string> | undefined;
    w.gate.next('send', async () => {
      received = w.process('another', 2).receive();
      await settled();
    });
    const drained = me.drain(0);
    await w.clock.advance(5_000);
    await Promise.all([drained, run]);
    expect(row()).toMatchObject({ status: 'running', lockedBy: 'another', lockToken: 2 });
    await expect(Promise.race([received, settled().then(() => 'runs')])).resolves.toBe('runs');
  });

  it('is not over before the batch is handed back', async () => {
    const sending = deferred();
    w.gate.next('send', () => sending.promise);
    const { run } = await me.begin();
    const drained = me.drain(0);
    await w.clock.advance(5_000);
    expect(row().status).toBe('queued');
    await expect(Promise.race([drained, settled().then(() => 'goes on')])).resolves.toBe('goes on');
    sending.resolve();
    await Promise.all([drained, run]);
    expect(w.queue.sent).toEqual([BATCH_MESSAGE]);
  });

  it('aborts what still runs when its time to finish is over', async () => {
    const { run } = await me.begin();
    const drained = me.drain(15_000);
    await w.clock.advance(14_999);
    expect(me.pool.running).toHaveLength(2);
    await w.clock.advance(1);
    await drained;
    await expect(run).resolves.toBe('draining');
    expect(row()).toMatchObject({ status: 'queued', completed: 0 });
  });

  it('leaves a hung thread behind and hands the batch back all the same', async () => {
    me.pool.ignoresAbort = true;
    const { run } = await me.begin();
    const drained = me.drain(15_000, 21_000);
    await w.clock.advance(21_000);
    await drained;
    await expect(run).resolves.toBe('draining');
    expect(row().status).toBe('queued');
    expect(w.queue.sent).toHaveLength(1);
  });

  it('is followed by a holder that goes on from the checkpoint', async () => {
    const { run } = await me.begin();
    const drained = me.drain();
    await me.pool.succeedAll();
    await Promise.all([drained, run]);
    const other = w.process('another');
    const again = await other.begin();
    expect(other.pool.running).toHaveLength(3);
    await other.pool.succeedAll();
    await expect(again.run).resolves.toBe('ended');
    expect(w.jobs.get('job-1')).toMatchObject({ status: 'COMPLETED', completedTasks: 5, bytesProcessed: 50 });
  });

  it.each(['retried', 'lost-reply', 'unavailable'] as const)(
    'A release whose write fails re-reads: the message is sent when its fate is %s',
    async (fault) => {
      w.gate.next('release', fault);
      const { run } = await me.begin();
      const drained = me.drain(0);
      await w.clock.advance(5_000);
      await Promise.all([drained, run]);
      expect(row().status).toBe('queued');
      expect(w.queue.sent).toEqual([BATCH_MESSAGE]);
    },
  );

  it('sends no message when the row could not be queued', async () => {
    w.gate.next('release', ...Array.from({ length: 5 }, () => 'unavailable' as const));
    const { run } = await me.begin();
    const drained = me.drain(0);
    await w.clock.advance(10_000);
    await Promise.all([drained, run]);
    expect(row().status).toBe('running');
    expect(w.queue.sent).toEqual([]);
  });

  it('tries the message again when the queue is unavailable', async () => {
    w.gate.next('send', 'unavailable', 'unavailable');
    const { run } = await me.begin();
    const drained = me.drain(0);
    await w.clock.advance(5_000);
    await Promise.all([drained, run]);
    expect(w.queue.sent).toEqual([BATCH_MESSAGE]);
  });

  it('leaves a batch to whoever has taken it over', async () => {
    const { run } = await me.begin();
    w.batches.put({ ...row(), lockToken: 2, lockedBy: 'another', claimId: 'of another' });
    const drained = me.drain(0);
    await w.clock.advance(5_000);
    await Promise.all([drained, run]);
    expect(row()).toMatchObject({ status: 'running', lockedBy: 'another' });
    expect(w.queue.sent).toEqual([]);
  });

  it('hands a batch back whose claim was under way when it began', async () => {
    const claim = deferred();
    w.gate.next('claim', () => claim.promise);
    const { run } = await me.begin();
    const drained = me.drain();
    await settled();
    claim.resolve();
    await w.clock.advance(5_000);
    await expect(Promise.race([run, settled().then(() => 'still held')])).resolves.toBe('draining');
    await drained;
    expect(row().status).toBe('queued');
    expect(w.queue.sent).toEqual([BATCH_MESSAGE]);
  });
});

onEachClock('a drain that meets a job that is being answered', () => {
  const beginAndEnd = async () => {
    const answering = deferred();
    w.gate.next('answerToken', () => answering.promise);
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await run;
    const drained = me.drain(15_000, 21_000);
    await settled();
    return { answering, drained, isOver: () => Promise.race([drained.then(() => true), settled().then(() => false)]) };
  };

  it('waits for the answer', async () => {
    const { answering, drained, isOver } = await beginAndEnd();
    await w.clock.advance(20_999);
    await expect(isOver()).resolves.toBe(false);
    answering.resolve();
    await drained;
    expect(w.jobs.get('job-1').status).toBe('COMPLETED');
  });

  it('but not for longer than it has', async () => {
    const { answering, isOver } = await beginAndEnd();
    await w.clock.advance(21_000);
    await expect(isOver()).resolves.toBe(true);
    answering.resolve();
    await settled();
  });
});

onEachClock('a drain that meets a batch whose tasks are all done', () => {
  const beginAndReach = async (step: string) => {
    const held = deferred();
    w.gate.next(step, () => held.promise);
    const { run } = await me.begin();
    await me.pool.succeedAll();
    const drained = me.drain();
    await settled();
    held.resolve();
    await w.clock.advance(30_000);
    await Promise.all([drained, run]);
  };

  it('ends it or hands it back when its results are being written', async () => {
    await beginAndReach('writeResults');
    expect(isHandedBackOrEnded()).toBe(true);
  });

  it('ends it or hands it back when the write of its end is under way', async () => {
    await beginAndReach('endBatch');
    expect(isHandedBackOrEnded()).toBe(true);
  });

  it('counts it although the write of its end was under way: nobody else would', async () => {
    await beginAndReach('endBatch');
    expect(row().status).toBe('succeeded');
    expect(w.jobs.get('job-1').completedTasks).toBe(5);
  });

  it('hands it back, or ends and counts it, when the first try of its end failed', async () => {
    w.gate.next('endBatch', 'unavailable');
    const { run } = await me.begin();
    await me.pool.succeedAll();
    const drained = me.drain();
    await w.clock.advance(30_000);
    await Promise.all([drained, run]);
    expect(isHandedBackOrEnded()).toBe(true);
  });
});
