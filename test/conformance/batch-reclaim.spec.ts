import { beforeEach, describe, expect, it } from '@jest/globals';
import type { BatchKey, BatchRepositoryPort, BatchWrite } from '../../src/batches/application/batch-repository.port.js';
import type { BatchEntity } from '../../src/batches/domain/batch.entity.js';
import { newId } from '../../src/shared/index.js';
import { describeBatchRows, tableRows, writtenBatch, type BatchRows } from '../support/batch-rows.js';
import { aNewBatch, aState, leaseOf, RESULT_KEYS, NOTHING_IN_HAND } from '../support/builders.js';
import { startEmbeddedDynamoDb } from '../support/embedded-dynamodb.js';
import { FakeClock } from '../support/fake-clock.js';

const REFUSED = { kind: 'refused' };
const CLAIM = { claimId: 'claim-1', lockedBy: 'me' };
const LATER = '2026-01-01T00:01:00.000Z';
const RECLAIM = { reclaimId: 'reclaim-1', attempts: 3, lastError: 'RECLAIMED_TTL: Exceeded TTL (90 s)' };
const END = { reclaimId: 'reclaim-1', state: aState([0, 2], [1, 3, 4]), resultKeys: RESULT_KEYS, lastError: 'RECLAIMED_TTL: Max attempts' };

describeBatchRows('Reclaim', (create) => {
  let rows: BatchRows;
  let batches: BatchRepositoryPort;
  let clock: FakeClock;
  let batch: BatchKey & { run: number };
  /** A running batch with a checkpoint of two tasks, as a reclaimer sees it. */
  let observed: BatchEntity;

  beforeEach(async () => {
    clock = new FakeClock();
    rows = create(clock);
    batches = rows.batches;
    batch = { jobId: newId(), batchNo: 0, run: 1 };
    await batches.createIfAbsent(aNewBatch({ jobId: batch.jobId }));
    const lease = leaseOf(writtenBatch(await batches.claim(batch, CLAIM)));
    await clock.advance(10_000);
    observed = writtenBatch(await batches.checkpoint(lease, 1, aState([0, 2], [1]), true, NOTHING_IN_HAND));
    await clock.advance(100_000);
  });

  const found = async (): Promise<BatchEntity> => {
    const row = await batches.find(batch.jobId, 0);
    if (row === undefined) throw new Error('no row');
    return row;
  };
  const runningOfThisJob = async (): Promise<number[]> => {
    const numbers: number[] = [];
    for await (const page of batches.listRunning())
      numbers.push(...page.filter(({ jobId }) => jobId === batch.jobId).map(({ batchNo }) => batchNo));
    return numbers.sort((a, b) => a - b);
  };

  it('takes a batch to the queue: attempts set, the holder’s fields gone; checkpoint, lockToken and heartbeat stay. Moved means done or failures since its mark', async () => {
    const row = writtenBatch(await batches.reclaim(observed, RECLAIM));
    const { lockedBy: _by, claimId: _claim, lockedAt: _at, bytesInHand: _bytes, pausedMs: _ms, ...kept } = observed;
    expect(row).toEqual({ ...kept, ...RECLAIM, status: 'queued', reclaimMark: 3, enqueuedAt: clock.nowIso() });
    expect(await found()).toEqual(row);
  });

  it('sets a task apart, which is no progress, and sets how many are run first; both stay with a reclaim that says nothing of them', async () => {
    const failures = new Map(observed.failures).set(3, 'RECLAIMED_TTL');
    const row = writtenBatch(await batches.reclaim(observed, { ...RECLAIM, trialSize: 2, failures }));
    expect(row).toMatchObject({ status: 'queued', trialSize: 2, failures, failed: 2, completed: 2, reclaimMark: 4 });
    const held = writtenBatch(await batches.claim(batch, { claimId: 'claim-2', lockedBy: 'another' }));
    const again = writtenBatch(await batches.reclaim(held, { ...RECLAIM, reclaimId: 'reclaim-2' }));
    expect(again).toMatchObject({ trialSize: 2, failures, failed: 2, reclaimMark: 4 });
    expect(await found()).toEqual(again);
  });

  it('gives a batch up: dead with every task recorded and its results; attempts, lockToken and heartbeat stay', async () => {
    const row = writtenBatch(await batches.giveUp(observed, END));
    const { lockedBy: _by, claimId: _claim, lockedAt: _at, bytesInHand: _bytes, pausedMs: _ms, ...kept } = observed;
    const { state, ...end } = END;
    expect(row).toEqual({ ...kept, ...end, status: 'dead', failures: state.failures, failed: 3 });
    expect(await found()).toEqual(row);
    await expect(batches.claim(batch, CLAIM)).resolves.toEqual(REFUSED);
  });

  it('lockToken never removed or reset: the next claim gets a higher one, and the former holder writes nothing', async () => {
    writtenBatch(await batches.reclaim(observed, RECLAIM));
    const zombie = () => batches.checkpoint(leaseOf(observed), 9, aState([0, 1, 2]), true, NOTHING_IN_HAND);
    await expect(zombie()).resolves.toEqual(REFUSED);
    const next = writtenBatch(await batches.claim(batch, { claimId: 'claim-2', lockedBy: 'another' }));
    expect(next).toMatchObject({ status: 'running', lockToken: 2, attempts: 3, reclaimMark: 3, ...aState([0, 2], [1]) });
    await expect(zombie()).resolves.toEqual(REFUSED);
    await expect(batches.end(leaseOf(observed), 9, aState([0, 1, 2, 3, 4]), RESULT_KEYS)).resolves.toEqual(REFUSED);
    await expect(batches.release(leaseOf(observed))).resolves.toEqual(REFUSED);
    expect(await found()).toEqual(next);
  });

  describe.each<[string, (from: BatchEntity) => Promise<BatchWrite>]>([
    ['a reclaim', (from) => batches.reclaim(from, RECLAIM)],
    ['a giving up', (from) => batches.giveUp(from, END)],
  ])('%s', (_write, write) => {
    it.each([
      ['status', 'queued'],
      ['status', 'succeeded'],
      ['run', 2],
      ['lockToken', 2],
      ['attempts', 1],
      ['lockedAt', LATER],
      ['heartbeatAt', LATER],
      ['heartbeatAt', undefined],
    ])('Everything observed is in the condition: is refused once %s is %p', async (field, value) => {
      await rows.change(batch, field, value);
      const moved = await found();
      await expect(write(observed)).resolves.toEqual(REFUSED);
      expect(await found()).toEqual(moved);
    });

    it('is refused after a late heartbeat, which changes nothing else that it observed', async () => {
      const beaten = writtenBatch(await batches.checkpoint(leaseOf(observed), 2, aState([0, 2], [1]), false, NOTHING_IN_HAND));
      await expect(write(observed)).resolves.toEqual(REFUSED);
      expect(await found()).toEqual(beaten);
    });

    it('happens once, whoever else has seen the same', async () => {
      await write(observed);
      const taken = await found();
      await expect(batches.reclaim(observed, { ...RECLAIM, reclaimId: 'another' })).resolves.toEqual(REFUSED);
      await expect(batches.giveUp(observed, { ...END, reclaimId: 'another' })).resolves.toEqual(REFUSED);
      expect(await found()).toEqual(taken);
    });

    it('is written for a batch without a heartbeat, unless one came since', async () => {
      await rows.change(batch, 'heartbeatAt', undefined);
      const silent = await found();
      await rows.change(batch, 'heartbeatAt', LATER);
      await expect(write(silent)).resolves.toEqual(REFUSED);
      await rows.change(batch, 'heartbeatAt', undefined);
      await expect(write(silent)).resolves.toMatchObject({ kind: 'written' });
    });

    it('writes no row that is not there', async () => {
      await expect(write({ ...observed, batchNo: 7 })).resolves.toEqual(REFUSED);
      await expect(batches.find(batch.jobId, 7)).resolves.toBeUndefined();
    });
  });

  it('lists only what runs, of every shard', async () => {
    const numbers = Array.from({ length: 16 }, (_, batchNo) => batchNo);
    for (const batchNo of numbers.slice(1)) {
      await batches.createIfAbsent(aNewBatch({ jobId: batch.jobId, batchNo }));
      await batches.claim({ ...batch, batchNo }, CLAIM);
    }
    await batches.createIfAbsent(aNewBatch({ jobId: batch.jobId, batchNo: 16 }));
    expect(await runningOfThisJob()).toEqual(numbers);

    const rowOf = async (batchNo: number) => (await batches.findMany([{ jobId: batch.jobId, batchNo }]))[0] ?? observed;
    await batches.end(leaseOf(await rowOf(1)), 1, aState([0, 1, 2, 3, 4]), RESULT_KEYS);
    await batches.release(leaseOf(await rowOf(2)));
    await batches.cancel({ jobId: batch.jobId, batchNo: 3 }, 1);
    await batches.reclaim(await rowOf(4), RECLAIM);
    await batches.giveUp(await rowOf(5), END);
    expect(await runningOfThisJob()).toEqual([0, ...numbers.slice(6)]);
  });

  it('lists what runs by pages of 100 at most, and leaves nobody out', async () => {
    // Four shards: one of them has more than a page.
    const numbers = Array.from({ length: 410 }, (_, batchNo) => batchNo);
    for (const batchNo of numbers.slice(1)) {
      await batches.createIfAbsent(aNewBatch({ jobId: batch.jobId, batchNo }));
      await batches.claim({ ...batch, batchNo }, CLAIM);
    }
    const sizes: number[] = [];
    for await (const page of batches.listRunning()) sizes.push(page.length);
    expect(Math.max(...sizes)).toBe(100);
    expect(await runningOfThisJob()).toEqual(numbers);
  });

  it('finds many rows, more than one call holds, and leaves out those that are not there', async () => {
    const keys = Array.from({ length: 205 }, (_, batchNo) => ({ jobId: batch.jobId, batchNo }));
    await Promise.all(keys.slice(0, 203).map((key) => batches.createIfAbsent(aNewBatch(key))));
    const all = await batches.findMany(keys);
    expect(all.map(({ batchNo }) => batchNo).sort((a, b) => a - b)).toEqual(keys.slice(0, 203).map(({ batchNo }) => batchNo));
    expect(all.find(({ batchNo }) => batchNo === 0)).toEqual(observed);
    await expect(batches.findMany([])).resolves.toEqual([]);
  });
});

it('DynamoDB: findMany leaves out a row of a newer version, and it alone', async () => {
  const dynamoDb = await startEmbeddedDynamoDb();
  const { batches, change } = tableRows(dynamoDb, new FakeClock());
  const keys = [0, 1].map((batchNo) => ({ jobId: 'job-of-two-versions', batchNo }));
  for (const key of keys) await batches.createIfAbsent(aNewBatch(key));
  await change({ jobId: 'job-of-two-versions', batchNo: 0 }, 'v', 2);
  expect((await batches.findMany(keys)).map(({ batchNo }) => batchNo)).toEqual([1]);
  await dynamoDb.close();
});
