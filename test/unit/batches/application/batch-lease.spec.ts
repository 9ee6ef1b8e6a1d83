import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aBatch, aJob, aPlan, aSegment } from '../../../support/builders.js';
import { aBatchWorld, aHolder, BATCH_BEAT_MS, BATCH_TTL_MS } from '../../../support/batch-holder.js';
import { deferred } from '../../../support/deferred.js';
import { settled } from '../../../support/fake-clock.js';
import { FakeBatchFiles } from '../../../support/fakes/fake-batch-ports.js';
import type { Fault } from '../../../support/fakes/gate.js';
import { HAIR_MS, onEachClock } from '../../../support/each-clock.js';

/** A batch of five tasks in hand, of which two are done. */
let w: ReturnType<typeof aBatchWorld>;
let me: ReturnType<ReturnType<typeof aBatchWorld>['process']>;
let run: Promise<string>;

beforeEach(async () => {
  w = aBatchWorld();
  me = w.process();
  ({ run } = await me.begin());
  await me.pool.succeed('file-0');
  await me.pool.succeed('file-1');
});

afterEach(async () => {
  await me.pool.succeedAll();
  await w.clock.advance(1_000);
  await run;
  expect(w.clock.sleepers).toBe(0);
});

const row = () => w.batches.get(0);
const always = (fault: Fault, times = 200) => Array.from({ length: times }, () => fault);

onEachClock('a batch heartbeat', () => {
  it('carries checkpoint and counters every interval', async () => {
    await w.clock.advance(BATCH_BEAT_MS - 1);
    expect(row().completed).toBe(0);
    await w.clock.advance(1);
    expect(row()).toMatchObject({ completed: 2, seq: 1, heartbeatAt: '2026-01-01T00:00:10.000Z' });
    expect(w.jobs.get('job-1')).toMatchObject({ completedTasks: 2, bytesProcessed: 20 });
  });

  it('looks at the job when it has nothing to count', async () => {
    await w.clock.advance(BATCH_BEAT_MS);
    const counted = w.gate.calls.filter((call) => call === 'count').length;
    const finds = w.gate.calls.filter((call) => call === 'find').length;
    await w.clock.advance(BATCH_BEAT_MS);
    expect(w.gate.calls.filter((call) => call === 'count')).toHaveLength(counted);
    expect(w.gate.calls.filter((call) => call === 'find')).toHaveLength(finds + 1);
  });

  it('says progress only when bytes or results moved', async () => {
    await w.clock.advance(2 * BATCH_BEAT_MS + HAIR_MS);
    expect(row()).toMatchObject({
      heartbeatAt: expect.stringContaining('00:00:20.0'),
      progressedAt: expect.stringContaining('00:00:10.0'),
    });
    me.pool.progress(1_000);
    await w.clock.advance(BATCH_BEAT_MS);
    expect(row().progressedAt).toContain('00:00:30.0');
  });

  it('tells what has arrived of the files in hand, and of none twice', async () => {
    me.pool.progress(1_000);
    await w.clock.advance(BATCH_BEAT_MS);
    expect(row()).toMatchObject({ bytes: 20, bytesInHand: 3_000 });
    await me.pool.succeed('file-2');
    await me.pool.fail({ code: 'HTTP_503', retryable: true, bytesProcessed: 1_000 }, 'file-3');
    await w.clock.advance(BATCH_BEAT_MS);
    // The third is recorded; the fourth begins anew.
    expect(row()).toMatchObject({ bytes: 30, bytesInHand: 1_000 });
    expect(w.jobs.get('job-1').bytesProcessed).toBe(30);
  });

  it('tells the bytes of the last file, which it leaves out of the checkpoint, as in hand', async () => {
    const results = deferred();
    w.gate.next('writeResults', () => results.promise);
    me.pool.progress(1_000);
    await me.pool.succeedAll();
    await w.clock.advance(BATCH_BEAT_MS);
    expect(row()).toMatchObject({ status: 'running', completed: 4, bytes: 40, bytesInHand: 10 });
    results.resolve();
  });

  it('says for which host its files wait, and until when', async () => {
    const error = { code: 'HTTP_429', retryable: true, httpStatus: 429, retryAfterMs: 300_000, retryAfterHost: 'origin.test' };
    while (me.pool.running.length > 0) await me.pool.fail(error);
    await w.clock.advance(BATCH_BEAT_MS);
    const { pausedHost, pausedMs = 0 } = row();
    expect([pausedHost, Math.round(pausedMs / 10_000)]).toEqual(['origin.test', 29]);
    await w.clock.advance(301_000 + BATCH_BEAT_MS);
    expect(row()).toMatchObject({ pausedMs: 0 });
    expect(row()).not.toHaveProperty('pausedHost');
  });

  it('A batch whose host is full is alive while others’ tasks move, and only then', async () => {
    const files = new FakeBatchFiles((jobId) => aSegment(5, { jobId }), w.gate);
    const crowded = aHolder({ ...w, files }, 'crowded', 9, 3);
    const receive = async (jobId: string) => {
      w.jobs.put(aJob({ jobId, plan: aPlan({ totalTasks: 5, batchCount: 1 }) }));
      w.batches.put(aBatch({ jobId, segmentKey: jobId }));
      const ended = crowded.receive({ jobId, batchNo: 0, run: 1 });
      await settled();
      return { ended };
    };
    const holder = await receive('has all connections');
    const waiting = await receive('waits');
    const progressedAt = () => w.batches.get(0, 'waits').progressedAt;
    await w.clock.advance(2 * BATCH_BEAT_MS + HAIR_MS);
    expect(progressedAt()).toContain('00:00:00.0');
    crowded.pool.progress(1_000);
    await w.clock.advance(BATCH_BEAT_MS);
    expect(progressedAt()).toContain('00:00:30.0');
    await w.clock.advance(BATCH_BEAT_MS);
    expect(progressedAt()).toContain('00:00:30.0');
    while (crowded.pool.running.length > 0) await crowded.pool.succeedAll();
    await Promise.all([holder.ended, waiting.ended]);
  });

  it('goes on when the counters cannot be brought up, and brings them up next time', async () => {
    w.gate.next('count', 'unavailable');
    await w.clock.advance(BATCH_BEAT_MS);
    expect(w.jobs.get('job-1').completedTasks).toBe(0);
    await w.clock.advance(BATCH_BEAT_MS);
    expect(w.jobs.get('job-1').completedTasks).toBe(2);
  });

  it('recognises its own checkpoint after a lost reply, and goes on', async () => {
    w.gate.next('checkpoint', 'retried', 'lost-reply');
    await w.clock.advance(3 * BATCH_BEAT_MS);
    expect(me.pool.running).toHaveLength(3);
    expect(w.jobs.get('job-1').completedTasks).toBe(2);
  });
});

onEachClock('a lost lease', () => {
  it('aborts the work at once and writes nothing more', async () => {
    const taken = { ...row(), lockToken: 2, lockedBy: 'another', claimId: 'of another' };
    w.batches.put(taken);
    const writes = w.gate.calls.length;
    await w.clock.advance(BATCH_BEAT_MS);
    await expect(run).resolves.toBe('lost');
    expect(me.pool.running).toEqual([]);
    expect(row()).toEqual(taken);
    await w.clock.advance(BATCH_TTL_MS);
    expect(w.gate.calls.slice(writes)).toEqual(['checkpoint', 'findBatch']);
    expect(w.queue.sent).toEqual([]);
  });

  it('ends the batch as lost when it is noticed at the end: results that nobody lists, no count', async () => {
    const taken = { ...row(), lockToken: 2, lockedBy: 'another', claimId: 'of another' };
    w.gate.next('writeResults', () => void w.batches.put(taken));
    await me.pool.succeedAll();
    await expect(run).resolves.toBe('lost');
    expect(row()).toEqual(taken);
    expect(w.jobs.get('job-1').completedTasks).toBe(0);
  });
});

onEachClock('Unknown is not lost; the local fence ends it at 2/3 TTL', () => {
  it('works on while a renewal is unknown, and tries again soon', async () => {
    w.gate.next('checkpoint', ...always('unavailable', 20));
    await w.clock.advance(BATCH_BEAT_MS + 20_000);
    expect(me.pool.running).toHaveLength(3);
    await w.clock.advance(1_000);
    expect(row().completed).toBe(2);
  });

  it('aborts 60 s after the start of the last renewal that succeeded, the claim included', async () => {
    w.gate.next('checkpoint', ...always('unavailable'));
    await w.clock.advance((BATCH_TTL_MS * 2) / 3 - 1);
    expect(me.pool.running).toHaveLength(3);
    await w.clock.advance(HAIR_MS);
    expect(me.pool.running).toEqual([]);
    await expect(run).resolves.toBe('fenced');
    expect(row()).toMatchObject({ status: 'running', completed: 0 });
  });

  it('aborts then also while a write hangs in the network', async () => {
    const hanging = deferred();
    w.gate.next('checkpoint', () => hanging.promise, 'unavailable');
    await w.clock.advance((BATCH_TTL_MS * 2) / 3 - 1);
    expect(me.pool.running).toHaveLength(3);
    await w.clock.advance(HAIR_MS);
    expect(me.pool.running).toEqual([]);
    hanging.resolve();
    await expect(run).resolves.toBe('fenced');
  });

  it('counts from the last renewal also while the counters hang', async () => {
    const hanging = deferred();
    w.gate.next('count', () => hanging.promise);
    await w.clock.advance(BATCH_BEAT_MS + (BATCH_TTL_MS * 2) / 3 - 1);
    expect(me.pool.running).toHaveLength(3);
    await w.clock.advance(HAIR_MS);
    expect(me.pool.running).toEqual([]);
    hanging.resolve();
    await expect(run).resolves.toBe('fenced');
  });

  it('counts from the last renewal', async () => {
    await w.clock.advance(BATCH_BEAT_MS);
    w.gate.next('checkpoint', ...always('unavailable'));
    await w.clock.advance((BATCH_TTL_MS * 2) / 3 - 1);
    expect(me.pool.running).toHaveLength(3);
    await w.clock.advance(HAIR_MS);
    expect(me.pool.running).toEqual([]);
    await expect(run).resolves.toBe('fenced');
  });
});

onEachClock('a job that is over', () => {
  it.each([
    ['is being answered', { status: 'FINALIZING' as const }],
    ['was cancelled', { status: 'CANCELLED' as const }],
    ['lives another run (Only into its own run)', { run: 2 }],
  ])('stops the work within one batch heartbeat when it %s', async (_name, change) => {
    w.jobs.put(aJob(change));
    await w.clock.advance(BATCH_BEAT_MS);
    await expect(run).resolves.toBe('job-over');
    expect(me.pool.running).toEqual([]);
    expect(w.jobs.get('job-1').completedTasks).toBe(0);
    expect(w.queue.sent).toEqual([]);
  });

  it('stops the work also when there was nothing to count', async () => {
    await w.clock.advance(BATCH_BEAT_MS);
    w.jobs.put(aJob({ status: 'CANCELLED' }));
    await w.clock.advance(BATCH_BEAT_MS);
    await expect(run).resolves.toBe('job-over');
  });
});
