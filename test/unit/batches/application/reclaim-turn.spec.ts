import { beforeEach, expect, it } from '@jest/globals';
import { aBatch, aState, leaseOf, NOTHING_IN_HAND } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { HAIR_MS, onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import type { Fault } from '../../../support/fakes/gate.js';
import { aReclaimWorld, aHopeless, aSilent, MAX_ATTEMPTS, RECLAIM_INTERVAL_MS } from '../../../support/reclaimer.js';

let w: ReturnType<typeof aReclaimWorld>;
let me: ReturnType<ReturnType<typeof aReclaimWorld>['reclaimer']>;

beforeEach(() => {
  w = aReclaimWorld();
  me = w.reclaimer();
});

onEachClock('Self-doubt: no turn after an own late turn or a failed own write: a reclaimer', () => {
  it('takes none in a turn that comes more than two intervals late, and goes on with the next', async () => {
    await me.watch(aSilent());
    await w.clock.advance(RECLAIM_INTERVAL_MS * 3 + 1);
    await expect(me.reclaim.runOnce()).resolves.toMatchObject({ stale: 1, requeued: 0, doubted: true });
    expect(w.batches.get(0).status).toBe('running');
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1, doubted: false });
  });

  it('does not doubt a turn that is one interval late', async () => {
    await me.watch(aSilent());
    await w.clock.advance(RECLAIM_INTERVAL_MS * 2);
    await expect(me.reclaim.runOnce()).resolves.toMatchObject({ requeued: 1, doubted: false });
  });

  it('takes none in a turn after its own last lease write failed, until one gets through', async () => {
    const beat = (seq: number) => me.leases.checkpoint(leaseOf(w.batches.get(1)), seq, aState([]), false, NOTHING_IN_HAND);
    await me.watch(aSilent(), aBatch({ batchNo: 1, status: 'running', lockToken: 1, lockedBy: 'me' }));
    w.gate.next('checkpoint', 'unavailable', 'unavailable');
    for (const seq of [1, 2]) {
      await beat(seq);
      await expect(me.nextTurn()).resolves.toMatchObject({ stale: 1, requeued: 0, doubted: true });
    }
    await beat(3);
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1, doubted: false });
  });

  it('takes none in a turn after its own last heartbeat to the fleet failed, until one gets through', async () => {
    await me.watch(aSilent());
    me.ownHeartbeat.lastWriteFailed = true;
    for (let turn = 0; turn < 2; turn++) await expect(me.nextTurn()).resolves.toMatchObject({ stale: 1, requeued: 0, doubted: true });
    me.ownHeartbeat.lastWriteFailed = false;
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1, doubted: false });
  });

  it('doubts itself for six turns in a row for that reason, not for ever: the fleet’s table may be away by itself', async () => {
    await me.watch(aSilent());
    me.ownHeartbeat.lastWriteFailed = true;
    for (let turn = 0; turn < 6; turn++) await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 0, doubted: true });
    expect(w.logger.messages('warn')).toEqual(['Own heartbeat to the fleet failed: this coordinator reclaims nothing for up to 6 turns']);
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1, doubted: false });
  });

  it('costs one turn a process that has no batch in hand any more: no write of its own could clear it', async () => {
    await me.watch(aSilent());
    w.gate.next('checkpoint', 'unavailable');
    await me.leases.checkpoint({ ...leaseOf(aBatch()), batchNo: 1 }, 1, aState([]), false, NOTHING_IN_HAND);
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 0, doubted: true });
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1, doubted: false });
  });
});

const statuses = async () => (await w.batches.list('job-1')).map(({ status }) => status);

onEachClock('a batch that cannot be reclaimed', () => {
  const many = (count: number) => Array.from({ length: count }, (_, batchNo) => aSilent({ batchNo }));

  it('does not hide the ones behind it', async () => {
    await me.watch(...many(205));
    w.gate.next('send', 'unavailable');
    w.gate.next('reclaim', 'unavailable');
    await expect(me.nextTurn()).resolves.toMatchObject({ running: 205, stale: 205, requeued: 203, failed: 2 });
    expect((await statuses()).filter((status) => status === 'running')).toHaveLength(1);
    expect(w.logger.messages('error')).toHaveLength(2);
  });

  it('and takes the whole turn, each time, does not hide the ones behind it', async () => {
    w.batches.pageSize = 1;
    const slowly: Fault = async () => {
      await w.clock.advance(9_000);
      throw new Error('the table does not answer');
    };
    await me.watch(...many(3));
    w.gate.next('reclaim', slowly);
    await expect(me.nextTurn()).resolves.toMatchObject({ failed: 1, endsLook: false });
    w.gate.next('reclaim', () => undefined, () => undefined, slowly); // prettier-ignore
    await me.nextTurn();
    expect(await statuses()).toEqual(['running', 'queued', 'queued']);
  });

  it('a turn ends after 8 s, also within one page; the next one goes on', async () => {
    await me.watch(...many(20));
    w.gate.next('reclaim', () => w.clock.advance(8_000));
    await expect(me.nextTurn()).resolves.toMatchObject({ stale: 20, requeued: 8, left: 12 });
    await expect(me.nextTurn()).resolves.toMatchObject({ stale: 12, requeued: 12 });
  });

  it('an index that cannot be asked fails the turn, and costs the next one nothing', async () => {
    await me.watch(aSilent());
    w.gate.next('listRunning', 'unavailable');
    await expect(me.nextTurn()).rejects.toThrow('unavailable');
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1 });
  });
});

onEachClock('a look that finds more than a turn has time for', () => {
  const many = (count: number) => Array.from({ length: count }, (_, batchNo) => aSilent({ batchNo }));
  const slowly: Fault = () => w.clock.advance(2_000);
  /** Reads that take 2 s each, a page: three pages a turn. */
  const slowReads = (pages: number) => w.gate.next('findBatches', ...Array<Fault>(pages).fill(slowly));

  beforeEach(() => {
    w.batches.pageSize = 1;
  });

  it('goes on in the next turn where it stopped, is late never, and comes by everyone', async () => {
    w.batches.put(...many(7));
    const parts: unknown[] = [];
    for (let turn = 0; turn < 6; turn++) {
      slowReads(7);
      const { beginsLook, endsLook, running, doubted } = await me.nextTurn();
      parts.push([running, beginsLook, endsLook, doubted]);
    }
    const look = [
      [3, true, false, false],
      [3, false, false, false],
      [1, false, true, false],
    ];
    expect(parts).toEqual([...look, ...look]);
  });

  it('takes what it finds silent in its last part as in its first, though the turns between looked at others', async () => {
    w.batches.put(...many(7));
    for (let turn = 0; turn < 12; turn++) {
      slowReads(7);
      await me.nextTurn();
    }
    expect(await statuses()).toEqual(Array(7).fill('queued'));
  });

  it('tells how many are overdue when it is through, of all its parts', async () => {
    w.batches.put(...many(7));
    const told: unknown[] = [];
    for (let turn = 0; turn < 6; turn++) {
      slowReads(7);
      await me.nextTurn();
      told.push(me.metrics.last('batches_overdue'));
    }
    expect(told).toEqual([undefined, undefined, 0, 0, 0, 7]);
  });

  it('leaves the rest of the turn to those whose reclaim failed before', async () => {
    await me.watch(...many(1));
    w.gate.next('reclaim', 'unavailable');
    await expect(me.nextTurn()).resolves.toMatchObject({ failed: 1 });
    w.batches.put(...many(9).slice(1));
    slowReads(9);
    await expect(me.nextTurn()).resolves.toMatchObject({ running: 3, endsLook: false, requeued: 1 });
    expect((await statuses())[0]).toBe('queued');
  });

  it('and fails midway is begun again, and has not forgotten whom it saw', async () => {
    await me.watch(...many(3));
    w.gate.next('findBatches', () => undefined, 'unavailable');
    await expect(me.nextTurn()).rejects.toThrow('unavailable');
    await expect(me.nextTurn()).resolves.toMatchObject({ beginsLook: true, endsLook: true, requeued: 2 });
    expect(await statuses()).toEqual(Array(3).fill('queued'));
  });

  it('keeps what its first part is to give up when the next part finds more', async () => {
    const gate = deferred();
    await me.watch(...Array.from({ length: 10 }, (_, batchNo) => aHopeless({ batchNo })));
    w.gate.next('loadSegment', ...Array<Fault>(8).fill(() => gate.promise));
    const runOnce = async () => {
      await w.clock.advance(RECLAIM_INTERVAL_MS);
      return me.reclaim.runOnce();
    };
    w.gate.next('findBatches', ...Array<Fault>(8).fill(() => undefined), () => w.clock.advance(6_000));
    await expect(runOnce()).resolves.toMatchObject({ stale: 9, endsLook: false });
    await expect(runOnce()).resolves.toMatchObject({ stale: 1, endsLook: true });
    gate.resolve();
    await me.reclaim.idle();
    expect(await statuses()).toEqual(Array(10).fill('dead'));
  });
});

onEachClock('a batch that is given up', () => {
  const poisonous = (count: number, from = 0) => Array.from({ length: count }, (_, index) => aHopeless({ batchNo: from + index }));
  const runOnce = async () => {
    await w.clock.advance(RECLAIM_INTERVAL_MS);
    return me.reclaim.runOnce();
  };
  const begun = () => w.gate.calls.filter((call) => call === 'loadSegment').length;

  it('holds up neither the requeues behind it, nor the turn, nor the next one, and is not begun twice', async () => {
    const gate = deferred();
    w.batches.pageSize = 1;
    w.gate.next('loadSegment', () => gate.promise);
    await me.watch(...poisonous(1), aSilent({ batchNo: 1 }));
    const turn = await runOnce();
    expect(turn).toMatchObject({ stale: 2, requeued: 1, givenUp: 0 });
    await expect(runOnce()).resolves.toMatchObject({ stale: 1, givenUp: 0, doubted: false });
    expect(begun()).toBe(0);
    gate.resolve();
    await me.reclaim.idle();
    expect([begun(), turn.givenUp]).toEqual([1, 1]);
    expect(await statuses()).toEqual(['dead', 'queued']);
  });

  it('waits when eight others are given up, and is begun when one of them is through', async () => {
    const gates = Array.from({ length: 9 }, () => deferred());
    w.gate.next(
      'loadSegment',
      ...gates.map(
        ({ promise }): Fault =>
          () =>
            promise,
      ),
    );
    await me.watch(...poisonous(10));
    await runOnce();
    gates[0]?.resolve();
    await settled();
    expect(begun()).toBe(1);
    expect(await statuses()).toEqual(['dead', ...Array<string>(9).fill('running')]);
    gates[8]?.resolve();
    await settled();
    expect(await statuses()).toEqual(['dead', ...Array<string>(7).fill('running'), 'dead', 'dead']);
    for (const gate of gates) gate.resolve();
    await me.reclaim.idle();
    expect(await statuses()).toEqual(Array(10).fill('dead'));
  });

  it('and failed before comes after those that did not', async () => {
    const gate = deferred();
    const hanging: Fault = () => gate.promise;
    w.batches.put(...poisonous(9));
    await me.turns(1);
    w.batches.put(...poisonous(1, 9));
    await me.turns(2);
    w.gate.next('loadSegment', 'unavailable', ...Array<Fault>(7).fill(hanging), 'unavailable');
    await runOnce();
    await settled();
    expect(w.logger.events.filter(({ level }) => level === 'error').map(({ fields }) => fields.batchNo)).toEqual([0, 8]);
    w.gate.next('loadSegment', () => undefined, hanging);
    await runOnce();
    await settled();
    expect(await statuses()).toEqual([...Array<string>(9).fill('running'), 'dead']);
    gate.resolve();
    await me.reclaim.idle();
    expect(await statuses()).toEqual(Array(10).fill('dead'));
  });

  it('waits no longer once the reclaimer stops', async () => {
    const gate = deferred();
    w.gate.next('loadSegment', ...Array<Fault>(8).fill(() => gate.promise));
    await me.watch(...poisonous(9));
    await runOnce();
    const stopped = me.reclaim.stop();
    gate.resolve();
    await stopped;
    expect((await statuses()).filter((status) => status === 'running')).toHaveLength(1);
  });

  it('whose counts cannot be brought up is dead all the same, in the history too', async () => {
    await me.watch(...poisonous(1));
    w.gate.next('count', 'unavailable');
    await expect(me.nextTurn()).resolves.toMatchObject({ givenUp: 0, moved: 0, failed: 1, reclaims: [{ outcome: 'given-up' }] });
    expect(w.history.records).toMatchObject([{ batchNo: 0, outcome: 'given-up', attempt: MAX_ATTEMPTS, failed: 1 }]);
    expect(w.logger.messages('error')).toEqual(['A reclaimed batch lacks its message, or its counts; the repair of its job brings them']);
  });
});

onEachClock('the history of a turn', () => {
  it('has a line for each batch that was taken, with the ages of its lease', async () => {
    const at = { lockedAt: '2025-12-31T21:00:00.000Z', heartbeatAt: '2025-12-31T23:00:00.000Z', progressedAt: '2025-12-31T22:00:00.000Z' };
    await me.watch(aSilent({ ...at, ...aState([0, 1], [2]) }), aBatch({ batchNo: 1 }));
    const { reclaims } = await me.nextTurn();
    expect(w.history.records).toEqual(reclaims);
    expect(reclaims).toEqual([
      {
        jobId: 'job-1',
        batchNo: 0,
        run: 1,
        attempt: 1,
        lockToken: 4,
        outcome: 'requeued',
        reclaimedAt: '2026-01-01T00:01:00.000Z',
        reclaimedBy: 'me',
        heldBy: 'the dead',
        lockAgeS: 10_860,
        heartbeatAgeS: 3_660,
        progressAgeS: 7_260,
        lastError: w.batches.get(0).lastError,
        reclaimId: w.batches.get(0).reclaimId,
        completed: 2,
        failed: 1,
      },
    ]);
  });

  it('is written a moment later when it cannot be written at once, and holds nobody up', async () => {
    await me.watch(aSilent(), aSilent({ batchNo: 1 }));
    w.gate.next('recordReclaim', 'unavailable', 'unavailable');
    await w.clock.advance(RECLAIM_INTERVAL_MS);
    await expect(me.reclaim.runOnce()).resolves.toMatchObject({ requeued: 2, failed: 0 });
    expect(w.history.records).toEqual([]);
    await w.clock.advance(500 + HAIR_MS);
    await me.reclaim.idle();
    expect(w.history.records.map(({ batchNo }) => batchNo).toSorted((a, b) => a - b)).toEqual([0, 1]);
    expect(w.logger.messages('error')).toEqual([]);
  });

  it('that cannot be written after three tries is told, and undoes nothing', async () => {
    await me.watch(aSilent());
    w.gate.next('recordReclaim', ...Array<Fault>(3).fill('unavailable'));
    await w.clock.advance(RECLAIM_INTERVAL_MS);
    await me.reclaim.runOnce();
    await w.clock.advance(1_500 + HAIR_MS);
    await me.reclaim.idle();
    expect(w.history.records).toEqual([]);
    expect(w.logger.messages('warn')).toContain('A reclaim is missing in the history');
    expect(w.batches.get(0).status).toBe('queued');
    expect(me.metrics.increments.map(({ labels }) => labels.outcome)).toEqual(['requeued']);
  });

  it('keeps a reclaimer that stops for a second at most', async () => {
    await me.watch(aSilent());
    w.gate.next('recordReclaim', () => deferred().promise);
    await w.clock.advance(RECLAIM_INTERVAL_MS);
    await me.reclaim.runOnce();
    let isStopped = false;
    const stopped = me.reclaim.stop().then(() => (isStopped = true));
    await w.clock.advance(1_000 - HAIR_MS);
    expect(isStopped).toBe(false);
    await w.clock.advance(2 * HAIR_MS);
    await stopped;
  });

  it.each(['lost-reply', 'retried'] as const)('has one line also when the fate of its write is %s', async (fault) => {
    await me.watch(aSilent());
    w.gate.next('recordReclaim', fault);
    await w.clock.advance(RECLAIM_INTERVAL_MS);
    await me.reclaim.runOnce();
    await w.clock.advance(500 + HAIR_MS);
    await me.reclaim.idle();
    expect(w.history.records).toHaveLength(1);
  });
});

onEachClock('a look', () => {
  it('A turn counts what was silent for more than its TTL and a minute, taken or not', async () => {
    const ago = (seconds: number) => new Date(Date.parse(w.clock.nowIso()) - seconds * 1_000).toISOString();
    const silentFor = (batchNo: number, seconds: number) => aSilent({ batchNo, lockedAt: ago(900), heartbeatAt: ago(seconds) });
    w.batches.put(silentFor(0, 80), silentFor(1, 100), silentFor(2, 10));
    await me.turns(4);
    expect(me.metrics.last('batches_overdue')).toBe(1);
    w.batches.rows.clear();
    await me.nextTurn();
    expect(me.metrics.last('batches_overdue')).toBe(0);
  });

  it('A turn counts no batch whose holder beats, and whose clock is ten minutes slow', async () => {
    for (let turn = 0; turn < 8; turn++) {
      const heartbeatAt = new Date(Date.parse(w.clock.nowIso()) - 600_000).toISOString();
      w.batches.put(aSilent({ lockedAt: heartbeatAt, heartbeatAt }));
      await me.nextTurn();
      expect(me.metrics.last('batches_overdue')).toBe(0);
    }
  });
});
