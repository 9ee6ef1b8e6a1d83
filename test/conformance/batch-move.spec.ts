import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { BatchKey, BatchRepositoryPort } from '../../src/batches/application/batch-repository.port.js';
import type { BatchEntity } from '../../src/batches/domain/batch.entity.js';
import { newId } from '../../src/shared/index.js';
import { aNewBatch, aState, leaseOf, RESULT_KEYS, NOTHING_IN_HAND } from '../support/builders.js';
import { describeBatchRows, tableRows, writtenBatch, type BatchRows } from '../support/batch-rows.js';
import { startEmbeddedDynamoDb } from '../support/embedded-dynamodb.js';
import { FakeClock } from '../support/fake-clock.js';

const REFUSED = { kind: 'refused' };
const CLAIM = { claimId: 'claim-1', lockedBy: 'me' };
const RECLAIM = { reclaimId: 'reclaim-1', attempts: 9, lastError: 'RECLAIMED_TTL: Exceeded TTL (90 s)' };
const WHOLE = aState([0, 1, 2, 3, 4]);
const WITH_FAILURE = aState([0, 1, 3, 4], [2]);
const PARTLY = aState([0, 2], [1]);

describeBatchRows('The move of a batch', (create) => {
  let rows: BatchRows;
  let batches: BatchRepositoryPort;
  let clock: FakeClock;
  let batch: BatchKey & { run: number };

  beforeEach(async () => {
    clock = new FakeClock();
    rows = create(clock);
    batches = rows.batches;
    batch = { jobId: newId(), batchNo: 0, run: 1 };
    await batches.createIfAbsent(aNewBatch({ jobId: batch.jobId }));
  });

  const found = async (): Promise<BatchEntity> => {
    const row = await batches.find(batch.jobId, 0);
    if (row === undefined) throw new Error('no row');
    return row;
  };
  const claimed = async () => leaseOf(writtenBatch(await batches.claim(batch, CLAIM)));
  const running = async () => writtenBatch(await batches.checkpoint(await claimed(), 1, PARTLY, true, NOTHING_IN_HAND));
  const ended = async (state = WHOLE) => writtenBatch(await batches.end(await claimed(), 1, state, RESULT_KEYS));

  it('Reopen moves every batch row, wholly done ones too: such a one stays succeeded, with its results, in the new run', async () => {
    const observed = await ended();
    expect(writtenBatch(await batches.move(observed, 2))).toEqual({ ...observed, run: 2 });
    expect(await found()).toEqual({ ...observed, run: 2 });
    await expect(batches.claim({ ...batch, run: 2 }, CLAIM)).resolves.toEqual(REFUSED);
  });

  it('Reopen forgets failures: one that ended with some is queued, with what is done and without results', async () => {
    const { resultKeys: _keys, ...observed } = await ended(WITH_FAILURE);
    await clock.advance(5_000);
    const row = writtenBatch(await batches.move(observed, 2));
    const { failures: _failures, ...done } = WITH_FAILURE;
    const anew = { run: 2, status: 'queued', failures: new Map(), failed: 0, attempts: 0, lockToken: 2, reclaimMark: 4 };
    expect(row).toEqual({ ...observed, ...done, ...anew, enqueuedAt: clock.nowIso() });
    expect(await found()).toEqual(row);
  });

  it('queues a running one and takes it from its holder', async () => {
    const observed = await running();
    const row = writtenBatch(await batches.move(observed, 2));
    expect(row).toMatchObject({ status: 'queued', run: 2, lockToken: 2, completed: 2, failed: 0, done: PARTLY.done, bytes: 20 });
    for (const field of ['lockedBy', 'claimId', 'lockedAt', 'lastError']) expect(row).not.toHaveProperty(field);
    for await (const page of batches.listRunning()) expect(page.map(({ jobId }) => jobId)).not.toContain(batch.jobId);
  });

  it('lockToken never removed or reset: no write of a former holder lands, and the next claim gets a higher one', async () => {
    const observed = await running();
    await batches.move(observed, 2);
    const zombie = leaseOf(observed);
    for (const lease of [zombie, { ...zombie, run: 2 }]) {
      await expect(batches.checkpoint(lease, 9, WITH_FAILURE, true, NOTHING_IN_HAND)).resolves.toEqual(REFUSED);
      await expect(batches.end(lease, 9, WITH_FAILURE, RESULT_KEYS)).resolves.toEqual(REFUSED);
      await expect(batches.release(lease)).resolves.toEqual(REFUSED);
    }
    await expect(batches.reclaim(observed, RECLAIM)).resolves.toEqual(REFUSED);
    const next = writtenBatch(await batches.claim({ ...batch, run: 2 }, CLAIM));
    expect(next).toMatchObject({ lockToken: 3, seq: 0, completed: 2 });
  });

  it('Claim IF run = the message’s: a message of the former run claims nothing', async () => {
    await batches.move(await found(), 2);
    await expect(batches.claim(batch, CLAIM)).resolves.toEqual(REFUSED);
  });

  it('Batches cancelled IF their run is not newer: a canceller of the former run takes nothing down', async () => {
    await batches.move(await found(), 2);
    await expect(batches.cancel(batch, 1)).resolves.toEqual(REFUSED);
    expect((await found()).status).toBe('queued');
  });

  it('Reopen sets attempts to 0, and what counts as progress begins at what is done', async () => {
    await batches.reclaim(await running(), { ...RECLAIM, trialSize: 2 });
    const observed = await found();
    expect(observed).toMatchObject({ attempts: 9, trialSize: 2, lastError: RECLAIM.lastError });
    const row = writtenBatch(await batches.move(observed, 2));
    expect(row).toMatchObject({ attempts: 0, reclaimMark: 2 });
    for (const field of ['lastError', 'trialSize']) expect(row).not.toHaveProperty(field);
  });

  it.each(['dead', 'cancelled'])('queues one that is %s', async (status) => {
    if (status === 'cancelled') await batches.cancel(batch, 1);
    else
      await batches.giveUp(await running(), {
        reclaimId: 'r',
        state: aState([0, 2], [1, 3, 4]),
        resultKeys: RESULT_KEYS,
        lastError: 'gone',
      });
    expect((await found()).status).toBe(status);
    expect(writtenBatch(await batches.move(await found(), 2))).toMatchObject({ status: 'queued', run: 2, failed: 0, failures: new Map() });
    await expect(batches.claim({ ...batch, run: 2 }, CLAIM)).resolves.toMatchObject({ kind: 'written' });
  });

  describe.each<[string, () => Promise<BatchEntity>]>([
    ['a running batch', running],
    ['a wholly done batch', ended],
  ])('of %s', (_name, reach) => {
    it.each([
      ['status', 'cancelled'],
      ['run', 2],
      ['run', 3],
      ['lockToken', 2],
      ['seq', 2],
      ['completed', 3],
    ])('The move is conditional on status, run, lockToken, done: is refused once %s is %p', async (field, value) => {
      const observed = await reach();
      await rows.change(batch, field, value);
      const moved = await found();
      await expect(batches.move(observed, 2)).resolves.toEqual(REFUSED);
      expect(await found()).toEqual(moved);
    });

    it('happens once, whoever else has seen the same', async () => {
      const observed = await reach();
      const row = writtenBatch(await batches.move(observed, 2));
      await expect(batches.move(observed, 2)).resolves.toEqual(REFUSED);
      await expect(batches.move(observed, 3)).resolves.toEqual(REFUSED);
      expect(await found()).toEqual(row);
    });

    it('writes no row that is not there', async () => {
      await expect(batches.move({ ...(await reach()), batchNo: 7 }, 2)).resolves.toEqual(REFUSED);
      await expect(batches.find(batch.jobId, 7)).resolves.toBeUndefined();
    });
  });

  it('is refused after a checkpoint that brought done bits, and after a claim', async () => {
    const observed = await running();
    await batches.checkpoint(leaseOf(observed), 2, WITH_FAILURE, true, NOTHING_IN_HAND);
    await expect(batches.move(observed, 2)).resolves.toEqual(REFUSED);
    await batches.release(leaseOf(observed));
    const released = await found();
    await batches.claim(batch, CLAIM);
    await expect(batches.move(released, 2)).resolves.toEqual(REFUSED);
  });

  it('needs no more of a row than its listing tells', async () => {
    await ended(WITH_FAILURE);
    const [summary] = await batches.list(batch.jobId);
    if (summary === undefined) throw new Error('not listed');
    expect(summary).toMatchObject({ bytes: 40, completed: 4, failed: 1, lockToken: 1, seq: 1, totalTasks: 5 });
    expect(writtenBatch(await batches.move({ jobId: batch.jobId, ...summary }, 2))).toMatchObject({ run: 2, ...aState([0, 1, 3, 4]) });
  });
});

it('DynamoDB: a moved row is kept as long as its job runs, a wholly done one as if it had just ended', async () => {
  const dynamoDb = await startEmbeddedDynamoDb();
  const clock = new FakeClock();
  const { batches } = tableRows(dynamoDb, clock);
  const attributes = async (batchNo: number) => {
    const { Item = {} } = await dynamoDb.documents.send(
      new GetCommand({ TableName: dynamoDb.batchesTable, Key: { jobId: 'job-1', batchNo }, ConsistentRead: true }),
    );
    return Item as { ttl?: number; runningShard?: string };
  };
  const ends = [WHOLE, WITH_FAILURE];
  for (const [batchNo, state] of ends.entries()) {
    await batches.createIfAbsent(aNewBatch({ batchNo }));
    const row = writtenBatch(await batches.claim({ jobId: 'job-1', batchNo, run: 1 }, CLAIM));
    await batches.end(leaseOf(row), 1, state, RESULT_KEYS);
  }
  const { ttl = 0 } = await attributes(0);
  await clock.advance(3_600_000);
  for (const { batchNo, ...row } of await batches.list('job-1')) await batches.move({ ...row, jobId: 'job-1', batchNo }, 2);
  expect((await attributes(0)).ttl).toBe(ttl + 3_600);
  expect(await attributes(1)).not.toHaveProperty('ttl');
  await dynamoDb.close();
});
