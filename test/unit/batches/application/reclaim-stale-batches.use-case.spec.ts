import { beforeEach, expect, it, jest } from '@jest/globals';
import type { BatchQueuePort } from '../../../../src/batches/application/batch-queue.port.js';
import type { BatchEntity } from '../../../../src/batches/domain/batch.entity.js';
import { Checkpoint } from '../../../../src/batches/domain/checkpoint.js';
import { aBatch, aState, leaseOf, NOTHING_IN_HAND } from '../../../support/builders.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { aReclaimWorld, aHopeless, aSilent, MAX_ATTEMPTS, RECLAIM_INTERVAL_MS } from '../../../support/reclaimer.js';

const IN_HOURS = '2026-01-01T03:00:00.000Z';

let w: ReturnType<typeof aReclaimWorld>;
let me: ReturnType<ReturnType<typeof aReclaimWorld>['reclaimer']>;

beforeEach(() => {
  w = aReclaimWorld();
  me = w.reclaimer();
});

onEachClock('what it takes for a holder that is gone', () => {
  it('Stale (a): unchanged for a TTL on its own clock, though the holder’s clock is hours ahead', async () => {
    w.batches.put(aSilent({ lockedAt: IN_HOURS, heartbeatAt: IN_HOURS }));
    await me.turns(6);
    expect(w.batches.get(0).status).toBe('running');
    // It is silent for a TTL at the seventh turn, give or take a hair.
    expect(await me.turns(2)).toContainEqual(expect.objectContaining({ stale: 1, requeued: 1 }));
    expect(w.batches.get(0).status).toBe('queued');
  });

  it('Stale (b): stored times alone never condemn; with four intervals of silence they do', async () => {
    w.batches.put(aSilent());
    expect((await me.turns(3)).map(({ running, stale }) => [running, stale])).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
    expect(w.batches.get(0)).toEqual(aSilent());
    await expect(me.nextTurn()).resolves.toMatchObject({ stale: 1, requeued: 1 });
  });

  it.each([-3, 3])('never a holder that beats, with a clock %i h off', async (hours) => {
    const skewed = newClock(new Date(Date.parse('2026-01-01T00:00:00.000Z') + hours * 3_600_000).toISOString());
    const other = w.reclaimer(skewed);
    const holder = w.process('the living');
    await holder.begin();
    for (let turn = 0; turn < 40; turn++) {
      await skewed.advance(RECLAIM_INTERVAL_MS);
      await expect(other.nextTurn()).resolves.toMatchObject({ running: 1, stale: 0, doubted: false });
    }
    expect(w.batches.get(0)).toMatchObject({ status: 'running', lockToken: 1, lockedBy: 'the living' });
    await holder.pool.succeedAll();
  });

  it('begins to count anew with each sign of life', async () => {
    await me.watch(aSilent());
    w.batches.put(aSilent({ heartbeatAt: '2025-12-31T21:00:10.000Z' }));
    expect((await me.turns(3)).map(({ stale }) => stale)).toEqual([0, 0, 0]);
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1 });
  });

  it('begins to count anew with the next holder', async () => {
    await me.watch(aSilent());
    w.batches.put(aSilent({ lockToken: 5 }));
    expect((await me.turns(3)).map(({ stale }) => stale)).toEqual([0, 0, 0]);
  });

  it('goes by 300 s for a type without a TTL of its own', async () => {
    const other = w.reclaimer(w.clock, { ttlMs: {} });
    w.batches.put(aSilent({ lockedAt: IN_HOURS, heartbeatAt: IN_HOURS }));
    for (let turn = 0; turn < 20; turn++) await expect(other.nextTurn()).resolves.toMatchObject({ stale: 0 });
    // It is silent for so long at the next turn, give or take a hair.
    expect(await other.turns(2)).toContainEqual(expect.objectContaining({ requeued: 1 }));
  });

  it('nothing that has stopped running since the index was written', async () => {
    await me.watch(aSilent());
    w.gate.next('findBatches', () => void w.batches.put(aSilent({ status: 'queued' })));
    await expect(me.nextTurn()).resolves.toMatchObject({ stale: 0 });
    expect(w.queue.sent).toEqual([]);
  });
});

const outcomes = () => me.metrics.increments.filter(({ name }) => name === 'batches_reclaimed_total').map(({ labels }) => labels.outcome);

onEachClock('a reclaim', () => {
  it('Who reclaims, sends: the message after the row is queued; and says who was silent for how long', async () => {
    await me.watch(aSilent());
    await me.nextTurn();
    expect(w.gate.calls.slice(-3)).toEqual(['reclaim', 'send', 'recordReclaim']);
    expect(w.queue.sent).toEqual([{ jobId: 'job-1', batchNo: 0, run: 1 }]);
    const lastError = 'RECLAIMED_TTL: Exceeded TTL (90 s); held by the dead, silent for 10860 s';
    expect(w.batches.get(0)).toMatchObject({ status: 'queued', attempts: 1, lockToken: 4, lastError });
    expect(me.metrics.increments).toContainEqual({
      name: 'batches_reclaimed_total',
      value: 1,
      labels: { type: 'download', outcome: 'requeued' },
    });
  });

  it.each([
    [0, 0],
    [1, 5],
    [2, 10],
    [9, 45],
    [500, 900],
  ])('after %i attempts without progress delays the message by %i s', async (attempts, delayS) => {
    const send = jest.spyOn(w.queue as BatchQueuePort, 'send');
    me = w.reclaimer(w.clock, { maxAttempts: 1_000 });
    await me.watch(aSilent({ attempts, reclaimMark: 0 }));
    await me.nextTurn();
    expect(send).toHaveBeenCalledWith([{ jobId: 'job-1', batchNo: 0, run: 1 }], delayS);
    expect(w.batches.get(0).attempts).toBe(attempts + 1);
  });

  it.each(['lost-reply', 'retried'] as const)(
    'reclaimId recognises a retried or unknown write: its fate is %s, and it sends',
    async (fault) => {
      await me.watch(aSilent());
      w.gate.next('reclaim', fault);
      await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1 });
      expect(w.queue.sent).toHaveLength(1);
    },
  );

  it('that did not get through is no batch that moved, and is tried again in the next turn', async () => {
    await me.watch(aSilent());
    w.gate.next('reclaim', 'unavailable');
    await expect(me.nextTurn()).resolves.toMatchObject({ stale: 1, requeued: 0, moved: 0, failed: 1 });
    expect(outcomes()).toEqual(['failed']);
    expect(w.logger.messages('error')).toEqual([expect.stringMatching(/^the reclaim of a stale batch failed .*; retrying$/)]);
    expect(w.batches.get(0)).toEqual(aSilent());
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1 });
    expect(w.queue.sent).toHaveLength(1);
  });

  it.each<[string, Partial<BatchEntity>]>([
    ['beaten', { heartbeatAt: '2026-01-01T00:00:50.000Z' }],
    ['released', { status: 'queued' }],
    ['taken by another reclaimer', { status: 'queued', attempts: 1, reclaimId: 'another' }],
    ['claimed by another holder', { lockToken: 5 }],
    ['cancelled', { status: 'cancelled' }],
  ])(
    'Everything observed is in the condition: leaves a batch as it is that was %s since the look, and sends nothing',
    async (_case, change) => {
      await me.watch(aSilent());
      w.gate.next('reclaim', () => void w.batches.put(aSilent(change)));
      await expect(me.nextTurn()).resolves.toMatchObject({ stale: 1, requeued: 0, givenUp: 0, moved: 1, failed: 0, reclaims: [] });
      expect(w.batches.get(0)).toEqual(aSilent(change));
      expect([w.queue.sent, w.history.records, outcomes()]).toEqual([[], [], ['moved']]);
    },
  );

  it('reclaimId recognises a retried or unknown write, and no other: of two reclaimers at once one sends', async () => {
    const other = w.reclaimer().reclaim;
    w.batches.put(aSilent());
    for (let turn = 0; turn < 4; turn++) {
      await w.clock.advance(RECLAIM_INTERVAL_MS);
      await Promise.all([me.reclaim.runOnce(), other.runOnce()]);
    }
    expect(w.batches.get(0)).toMatchObject({ status: 'queued', attempts: 1 });
    expect(w.queue.sent).toHaveLength(1);
  });

  it('Who reclaims, sends; if he dies in between, repair sends: the batch is left queued', async () => {
    await me.watch(aSilent());
    w.gate.next('send', () => w.gate.crashAfter(0));
    await w.clock.advance(RECLAIM_INTERVAL_MS);
    await me.reclaim.runOnce();
    w.gate.restart();
    const queued = w.batches.get(0);
    expect(queued).toMatchObject({ status: 'queued', attempts: 1 });
    await w.reclaimer().turns(10);
    expect(w.batches.get(0)).toEqual(queued);
  });

  it('whose message cannot be sent is told apart from one that moved, and from one that was not taken', async () => {
    await me.watch(aSilent());
    w.gate.next('send', 'unavailable');
    const turn = await me.nextTurn();
    expect(turn).toMatchObject({ stale: 1, requeued: 0, moved: 0, failed: 1, reclaims: [{ outcome: 'requeued' }] });
    expect(w.batches.get(0).status).toBe('queued');
    expect([outcomes(), w.history.records]).toEqual([['failed'], turn.reclaims]);
    expect(w.logger.messages('error')).toEqual(['A reclaimed batch lacks its message, or its counts; the repair of its job brings them']);
  });
});

onEachClock('attempts', () => {
  const deathAfter = async (state: Partial<BatchEntity>) => {
    await me.watch(aSilent(state));
    await me.nextTurn();
    return w.batches.get(0);
  };

  it.each([3, MAX_ATTEMPTS])('start again at 1 when tasks were recorded since the last reclaim, after %i too', async (attempts) => {
    const row = await deathAfter({ attempts, reclaimMark: 2, ...aState([0, 1, 2]) });
    expect(row).toMatchObject({ status: 'queued', attempts: 1, reclaimMark: 3 });
  });

  it('Moved means done or failures: they grow when only heartbeats and bytes came', async () => {
    const row = await deathAfter({ attempts: 3, reclaimMark: 2, ...aState([0, 1]), bytes: 999, seq: 7 });
    expect(row).toMatchObject({ status: 'queued', attempts: 4, reclaimMark: 2 });
  });

  it('at the limit without progress: the batch is dead and its job ends', async () => {
    await me.watch(aHopeless());
    await expect(me.nextTurn()).resolves.toMatchObject({ stale: 1, requeued: 0, givenUp: 1 });
    const lastError = 'RECLAIMED_TTL: Max attempts reached; held by the dead, silent for 10860 s';
    expect(w.batches.get(0)).toMatchObject({ status: 'dead', attempts: MAX_ATTEMPTS, completed: 4, failed: 1, lastError });
    expect(w.jobs.get('job-1')).toMatchObject({ status: 'FAILED', completedTasks: 4, failedTasks: 1 });
    expect(w.queue.sent).toEqual([]);
  });

  it('of a poison batch end it: each holder dies before it records anything', async () => {
    w.batches.put(aBatch());
    // Ten in a row for each of the three tasks that may be set apart, and for what is left.
    for (let death = 0; death <= 4 * MAX_ATTEMPTS; death++) {
      await w.batches.claim({ jobId: 'job-1', batchNo: 0, run: 1 }, { claimId: `claim-${death}`, lockedBy: 'the next' });
      const row = w.batches.get(0);
      await w.batches.checkpoint(leaseOf(row), 1, new Checkpoint(5, row).whole(), true, NOTHING_IN_HAND);
      await me.turns(9);
    }
    expect(w.batches.get(0)).toMatchObject({ status: 'dead', lockToken: 4 * MAX_ATTEMPTS + 1, failed: 5 });
    expect(w.queue.sent).toHaveLength(4 * MAX_ATTEMPTS);
    expect(w.jobs.get('job-1').status).toBe('FAILED');
  });
});
