import { beforeEach, describe, expect, it } from '@jest/globals';
import type { BatchEntity } from '../../../../src/batches/domain/batch.entity.js';
import { aBatch, aState, leaseOf } from '../../../support/builders.js';
import type { Fault } from '../../../support/fakes/gate.js';
import { aReclaimWorld, aSilent, MAX_ATTEMPTS, RECLAIM_INTERVAL_MS } from '../../../support/reclaimer.js';

let w: ReturnType<typeof aReclaimWorld>;
let me: ReturnType<ReturnType<typeof aReclaimWorld>['reclaimer']>;

beforeEach(() => {
  w = aReclaimWorld();
  me = w.reclaimer();
});

describe('Self-doubt of a reclaimer', () => {
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
    const beat = (seq: number) => me.leases.checkpoint(leaseOf(w.batches.get(1)), seq, aState([]), false);
    await me.watch(aSilent(), aBatch({ batchNo: 1, status: 'running', lockToken: 1, lockedBy: 'me' }));
    w.gate.next('checkpoint', 'unavailable', 'unavailable');
    for (const seq of [1, 2]) {
      await beat(seq);
      await expect(me.nextTurn()).resolves.toMatchObject({ stale: 1, requeued: 0, doubted: true });
    }
    await beat(3);
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1, doubted: false });
  });

  it('costs one turn a process that has no batch in hand any more: no write of its own could clear it', async () => {
    await me.watch(aSilent());
    w.gate.next('checkpoint', 'unavailable');
    await me.leases.checkpoint({ ...leaseOf(aBatch()), batchNo: 1 }, 1, aState([]), false);
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 0, doubted: true });
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1, doubted: false });
  });
});

const statuses = async () => (await w.batches.list('job-1')).map(({ status }) => status);

describe('a batch that cannot be reclaimed', () => {
  const many = (count: number) => Array.from({ length: count }, (_, batchNo) => aSilent({ batchNo }));

  it('does not hide the ones behind it', async () => {
    await me.watch(...many(205));
    w.gate.next('send', 'unavailable');
    w.gate.next('reclaim', 'unavailable');
    await expect(me.nextTurn()).resolves.toMatchObject({ running: 205, stale: 205, requeued: 203 });
    expect((await statuses()).filter((status) => status === 'running')).toHaveLength(1);
    expect(w.logger.messages('error')).toHaveLength(1);
  });

  describe('and takes the whole turn, each time', () => {
    const slowly = async () => {
      await w.clock.advance(9_000);
      throw new Error('S3 does not answer');
    };
    const poisonous = (batch: BatchEntity): BatchEntity => ({ ...batch, attempts: MAX_ATTEMPTS });

    it('does not hide the ones behind it either', async () => {
      w.batches.pageSize = 1;
      w.gate.next('loadSegment', ...Array<Fault>(9).fill(slowly));
      await me.watch(...many(2).map(poisonous), aSilent({ batchNo: 2 }));
      await me.turns(3);
      expect(await statuses()).toEqual(['running', 'running', 'queued']);
    });

    it('takes turns with others of its kind', async () => {
      const eight: Fault[] = [slowly, ...Array<Fault>(7).fill('unavailable')];
      w.gate.next('loadSegment', ...eight, slowly, ...eight, ...eight);
      await me.watch(...many(9).map(poisonous));
      await me.turns(4);
      expect(w.logger.events.filter(({ level, fields }) => level === 'error' && fields.batchNo === 8)).toHaveLength(2);
    });
  });

  it('a turn ends after 8 s, also within one page; the next one goes on', async () => {
    await me.watch(...many(20));
    w.gate.next('reclaim', () => w.clock.advance(8_000));
    await expect(me.nextTurn()).resolves.toMatchObject({ stale: 20, requeued: 8 });
    await expect(me.nextTurn()).resolves.toMatchObject({ stale: 12, requeued: 12 });
  });

  it('an index that cannot be asked fails the turn, and costs the next one nothing', async () => {
    await me.watch(aSilent());
    w.gate.next('listRunning', 'unavailable');
    await expect(me.nextTurn()).rejects.toThrow('unavailable');
    await expect(me.nextTurn()).resolves.toMatchObject({ requeued: 1 });
  });
});
