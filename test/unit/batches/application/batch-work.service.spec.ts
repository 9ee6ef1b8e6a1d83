import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aBatch, aState } from '../../../support/builders.js';
import { aBatchWorld, BATCH_BEAT_MS, WORK_LIMIT_MS } from '../../../support/batch-holder.js';
import { deferred } from '../../../support/deferred.js';
import { HAIR_MS, onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';

let w: ReturnType<typeof aBatchWorld>;
let me: ReturnType<ReturnType<typeof aBatchWorld>['process']>;

beforeEach(() => {
  w = aBatchWorld();
  me = w.process('me', 2);
});

/** A paused host opens up to a second late, and keeps its next starts apart. */
const JITTER_AND_STEP_MS = 4_000;

const row = () => w.batches.get(0);

onEachClock('the report of batch work', () => {
  it('tells what is in hand', async () => {
    expect(me.work.report()).toEqual({ activeTasks: 0, activeBatches: 0, lastSign: undefined });
    const { run } = await me.begin();
    expect(me.work.report()).toMatchObject({ activeTasks: 2, activeBatches: 1 });
    await me.pool.succeedAll();
    await run;
    expect(me.work.report()).toEqual({
      activeTasks: 0,
      activeBatches: 0,
      lastSign: { at: w.clock.about(0), atIso: '2026-01-01T00:00:00.000Z' },
    });
  });

  it('has no sign of work of tasks that all hang, though their batch beats on', async () => {
    await me.begin();
    await w.clock.advance(10 * BATCH_BEAT_MS + 2 * HAIR_MS);
    expect(row().seq).toBe(10);
    expect(me.work.report()).toMatchObject({ activeTasks: 2, lastSign: undefined });
    me.work.abandon();
  });

  describe('while all tasks wait for their sources', () => {
    const waitFor = async (retryAfterMs: number) => {
      me = w.process('me', 1);
      await me.begin();
      await w.clock.advance(1_000);
      await me.pool.fail({ code: 'HTTP_429', retryable: true, retryAfterMs, retryAfterHost: 'origin.test' });
    };
    afterEach(() => me.work.abandon());

    it('counts the wait as work for as long as it lasts, and keeps nothing of it', async () => {
      await waitFor(300_000);
      await w.clock.advance(299_999);
      const now = { at: w.clock.about(300_999), atIso: expect.stringMatching(/^2026-01-01T00:05:0[01]/) };
      expect(me.work.report()).toEqual({ activeTasks: 0, activeBatches: 1, lastSign: now });
      expect(me.signs.last).toMatchObject({ at: w.clock.about(1_000) });
      await w.clock.advance(JITTER_AND_STEP_MS);
      expect(me.work.report()).toMatchObject({ activeTasks: 1, lastSign: { at: w.clock.about(1_000) } });
    });

    it('counts the end of the first attempt after the wait, be it the next wait', async () => {
      await waitFor(300_000);
      await w.clock.advance(301_000);
      await me.pool.fail({ code: 'HTTP_429', retryable: true, retryAfterMs: 300_000, retryAfterHost: 'origin.test' });
      await w.clock.advance(200_000);
      expect(me.signs.last).toMatchObject({ at: w.clock.about(302_000) });
      expect(me.work.report()).toMatchObject({ lastSign: { at: w.clock.about(502_000) } });
    });

    it('believes no wait that goes on for longer than a host may ask for: it hangs', async () => {
      await waitFor(3_600_000);
      await w.clock.advance(300_000 + WORK_LIMIT_MS - HAIR_MS);
      expect(me.work.report()).toMatchObject({ lastSign: { at: w.clock.about(301_000 + WORK_LIMIT_MS - HAIR_MS) } });
      await w.clock.advance(2 * HAIR_MS);
      expect(me.work.report()).toMatchObject({ lastSign: { at: w.clock.about(1_000) } });
    });
  });

  it('has no sign of work of tasks that hang once the wait of the one beside them is over', async () => {
    await me.begin();
    await me.pool.fail({ code: 'HTTP_429', retryable: true, retryAfterMs: 300_000, retryAfterHost: 'origin.test' });
    await w.clock.advance(299_999);
    expect(me.work.report()).toMatchObject({ activeTasks: 1, lastSign: { at: w.clock.about(299_999) } });
    await w.clock.advance(JITTER_AND_STEP_MS);
    expect(me.work.report()).toMatchObject({ activeTasks: 2, lastSign: { at: w.clock.about(0) } });
    me.work.abandon();
  });
});

onEachClock('a process that was given up', () => {
  it('lets every batch in hand go at once and writes nothing more of it', async () => {
    const { run } = await me.begin();
    await me.pool.succeed();
    const before = { row: row(), job: w.jobs.get('job-1'), calls: w.gate.calls.length };
    me.work.abandon();
    await expect(run).resolves.toBe('lost');
    expect(me.pool.running).toEqual([]);
    await w.clock.advance(10 * BATCH_BEAT_MS);
    expect([row(), w.jobs.get('job-1')]).toEqual([before.row, before.job]);
    expect(w.gate.calls).toHaveLength(before.calls);
    expect(w.queue.sent).toEqual([]);
    expect(w.clock.sleepers).toBe(0);
  });

  it('does not count what its last checkpoint, under way at that time, wrote', async () => {
    const { run } = await me.begin();
    await me.pool.succeed();
    const gate = deferred();
    w.gate.next('checkpoint', () => gate.promise);
    await w.clock.advance(BATCH_BEAT_MS);
    me.work.abandon();
    gate.resolve();
    await expect(run).resolves.toBe('lost');
    expect(row()).toMatchObject({ status: 'running', ...aState([0]) });
    expect(w.jobs.get('job-1').completedTasks).toBe(0);
    expect(w.gate.calls).not.toContain('count');
  });

  it('does not end a batch whose results it was writing', async () => {
    const { run } = await me.begin();
    const gate = deferred();
    w.gate.next('writeResults', () => gate.promise);
    await me.pool.succeedAll();
    me.work.abandon();
    gate.resolve();
    await expect(run).resolves.toBe('lost');
    expect(row().status).toBe('running');
    expect(w.gate.calls).not.toContain('endBatch');
  });

  it('runs what it receives next', async () => {
    const { run } = await me.begin();
    me.work.abandon();
    await run;
    w.batches.put(aBatch());
    const again = await me.begin();
    await me.pool.succeedAll();
    await settled();
    await expect(again.run).resolves.toBe('ended');
  });

  it('hands back all the same what it had begun to hand back', async () => {
    const { run } = await me.begin();
    const drained = me.drain(15_000);
    await w.clock.advance(15_000);
    me.work.abandon();
    await drained;
    await expect(run).resolves.toBe('draining');
    expect(row().status).toBe('queued');
  });
});
