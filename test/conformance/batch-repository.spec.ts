import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DynamoDbBatchRepositoryAdapter } from '../../src/batches/adapters/dynamo-db-batch-repository.adapter.js';
import type { BatchRepositoryPort, BatchWrite } from '../../src/batches/application/batch-repository.port.js';
import type { BatchEntity } from '../../src/batches/domain/batch.entity.js';
import { newId } from '../../src/shared/index.js';
import { aBatch, aNewBatch, aState, leaseOf, RESULT_KEYS, NOTHING_IN_HAND } from '../support/builders.js';
import { startEmbeddedDynamoDb, type EmbeddedDynamoDb } from '../support/embedded-dynamodb.js';
import { Gate } from '../support/fakes/gate.js';
import { InMemoryBatchRepository } from '../support/fakes/in-memory-batch-repository.js';
import { FakeClock } from '../support/fake-clock.js';

let dynamoDb: EmbeddedDynamoDb;
beforeAll(async () => {
  dynamoDb = await startEmbeddedDynamoDb();
});
afterAll(() => dynamoDb.close());

const REFUSED = { kind: 'refused' };
const CLAIM = { claimId: 'claim-1', lockedBy: 'me' };
const HOLDER = ['lockedBy', 'claimId', 'lockedAt'];

describe.each<[string, (clock: FakeClock) => BatchRepositoryPort]>([
  ['the fake', (clock) => new InMemoryBatchRepository(new Gate(), clock)],
  [
    'DynamoDB',
    (clock) => new DynamoDbBatchRepositoryAdapter(dynamoDb.documents, { table: dynamoDb.batchesTable, retentionDays: 30 }, clock),
  ],
])('BatchRepositoryPort on %s', (_name, create) => {
  let batches: BatchRepositoryPort;
  let clock: FakeClock;
  let jobId: string;
  let batch: { jobId: string; batchNo: number; run: number };

  beforeEach(async () => {
    clock = new FakeClock();
    batches = create(clock);
    jobId = newId();
    batch = { jobId, batchNo: 0, run: 1 };
    await batches.createIfAbsent(aNewBatch({ jobId }));
  });

  const found = async (): Promise<BatchEntity> => {
    const row = await batches.find(jobId, 0);
    if (row === undefined) throw new Error('no row');
    return row;
  };
  const written = (write: BatchWrite): BatchEntity => {
    if (write.kind === 'refused') throw new Error('refused');
    return write.batch;
  };
  const claimed = async () => written(await batches.claim(batch, CLAIM));
  const ALL = aState([0, 1, 2, 3], [4]);

  it('creates a batch once, queued and never held', async () => {
    await expect(batches.createIfAbsent(aNewBatch({ jobId, totalTasks: 9 }))).resolves.toBe('exists');
    expect(await found()).toEqual(aBatch({ jobId }));
    await expect(batches.find(jobId, 7)).resolves.toBeUndefined();
  });

  it('lists the batches of a job in order, and of no other', async () => {
    for (const batchNo of [10, 2, 1]) await batches.createIfAbsent(aNewBatch({ jobId, batchNo }));
    await batches.createIfAbsent(aNewBatch({ jobId: newId() }));
    expect((await batches.list(jobId)).map(({ batchNo }) => batchNo)).toEqual([0, 1, 2, 10]);
  });

  it('is claimed once, with the next lockToken and a new count of checkpoints', async () => {
    const now = clock.nowIso();
    const row = await claimed();
    expect(row).toEqual(aBatch({ jobId, ...CLAIM, status: 'running', lockToken: 1, lockedAt: now, heartbeatAt: now, progressedAt: now }));
    await expect(batches.claim(batch, { claimId: 'claim-2', lockedBy: 'another' })).resolves.toEqual(REFUSED);
    expect(await found()).toEqual(row);
  });

  it('Claim IF run = the message’s', async () => {
    await expect(batches.claim({ ...batch, run: 2 }, CLAIM)).resolves.toEqual(REFUSED);
    await expect(batches.claim({ ...batch, batchNo: 7 }, CLAIM)).resolves.toEqual(REFUSED);
    expect((await found()).status).toBe('queued');
    await expect(batches.find(jobId, 7)).resolves.toBeUndefined();
  });

  it('keeps a checkpoint: bitmap, failures and numbers', async () => {
    const lease = leaseOf(await claimed());
    await clock.advance(10_000);
    const row = written(await batches.checkpoint(lease, 1, aState([0, 2], [3]), true, NOTHING_IN_HAND));
    expect(row).toMatchObject({ ...aState([0, 2], [3]), seq: 1, heartbeatAt: clock.nowIso(), progressedAt: clock.nowIso() });
    expect(await found()).toEqual(row);
  });

  it('tells what has arrived of the files in hand, and for whom they wait and how much longer', async () => {
    const lease = leaseOf(await claimed());
    const waiting = { bytesInHand: 60_000_000, pausedMs: 300_000, pausedHost: 'h.test' };
    expect(written(await batches.checkpoint(lease, 1, aState([]), false, waiting))).toMatchObject(waiting);
    expect((await batches.list(jobId))[0]).toMatchObject({ ...waiting, completed: 0, bytes: 0 });
    const { pausedHost, ...row } = written(await batches.checkpoint(lease, 2, aState([]), false, { bytesInHand: 7, pausedMs: 0 }));
    expect([row.bytesInHand, row.pausedMs, pausedHost]).toEqual([7, 0, undefined]);
  });

  it.each<[string, (held: BatchEntity) => Promise<BatchWrite>]>([
    ['is released', (held) => batches.release(leaseOf(held))],
    ['ends', (held) => batches.end(leaseOf(held), 2, ALL, RESULT_KEYS)],
    ['is cancelled', () => batches.cancel(batch, 1)],
    ['is reclaimed', (held) => batches.reclaim(held, { reclaimId: 'r', attempts: 1, lastError: 'silent' })],
    ['is given up', (held) => batches.giveUp(held, { reclaimId: 'r', state: ALL, resultKeys: RESULT_KEYS, lastError: 'silent' })],
    ['is moved', (held) => batches.move(held, 2)],
  ])('has nothing in hand and waits for nobody once it %s', async (_how, leave) => {
    const waiting = { bytesInHand: 60_000_000, pausedMs: 300_000, pausedHost: 'h.test' };
    const left = written(await leave(written(await batches.checkpoint(leaseOf(await claimed()), 1, aState([]), true, waiting))));
    expect(left).not.toHaveProperty('bytesInHand');
    expect(left).not.toHaveProperty('pausedMs');
    expect(left).not.toHaveProperty('pausedHost');
  });

  it('Re-send IF enqueuedAt as observed: of two who look one marks it sent', async () => {
    const observed = await found();
    const marked = written(await batches.markSent(observed, 'later'));
    expect(marked).toEqual({ ...observed, enqueuedAt: 'later' });
    await expect(batches.markSent(observed, 'later still')).resolves.toEqual(REFUSED);
    await expect(batches.markSent({ ...marked, run: 2 }, 'later still')).resolves.toEqual(REFUSED);
    const { enqueuedAt } = await claimed();
    await expect(batches.markSent({ ...marked, enqueuedAt }, 'later still')).resolves.toEqual(REFUSED);
  });

  it('says progress only when it is told so', async () => {
    const { progressedAt, ...row } = await claimed();
    await clock.advance(10_000);
    const beaten = written(await batches.checkpoint(leaseOf({ ...row }), 1, aState([]), false, NOTHING_IN_HAND));
    expect(beaten).toMatchObject({ progressedAt, heartbeatAt: clock.nowIso() });
  });

  describe.each<[string, (lease: ReturnType<typeof leaseOf>, seq: number) => Promise<BatchWrite>]>([
    ['a checkpoint', (lease, seq) => batches.checkpoint(lease, seq, ALL, true, NOTHING_IN_HAND)],
    ['an end', (lease, seq) => batches.end(lease, seq, ALL, RESULT_KEYS)],
  ])('%s', (_write, write) => {
    it('Checkpoint IF lockToken = mine: is refused for a former holder', async () => {
      const lease = leaseOf(await claimed());
      await batches.release(lease);
      await batches.claim(batch, { claimId: 'claim-2', lockedBy: 'another' });
      const before = await found();
      await expect(write(lease, 5)).resolves.toEqual(REFUSED);
      expect(await found()).toEqual(before);
    });

    it('Checkpoint IF run = mine', async () => {
      await expect(write({ ...leaseOf(await claimed()), run: 2 }, 1)).resolves.toEqual(REFUSED);
    });

    it('Checkpoint IF seq < :seq: a delayed first try does not undo a newer one', async () => {
      const lease = leaseOf(await claimed());
      await batches.checkpoint(lease, 2, aState([0, 1]), true, NOTHING_IN_HAND);
      await expect(write(lease, 2)).resolves.toEqual(REFUSED);
      await expect(write(lease, 1)).resolves.toEqual(REFUSED);
      expect(await found()).toMatchObject({ status: 'running', ...aState([0, 1]) });
    });

    it('is refused unless the batch runs', async () => {
      const lease = leaseOf(await claimed());
      await batches.cancel(batch, 1);
      await expect(write(lease, 1)).resolves.toEqual(REFUSED);
      expect((await found()).status).toBe('cancelled');
    });

    it('is refused once the batch has ended', async () => {
      const lease = leaseOf(await claimed());
      await batches.end(lease, 1, ALL, RESULT_KEYS);
      const before = await found();
      await expect(write(lease, 2)).resolves.toEqual(REFUSED);
      expect(await found()).toEqual(before);
    });
  });

  it('ends with its last checkpoint and its results; heartbeat and lockToken stay as evidence', async () => {
    const lease = leaseOf(await claimed());
    await clock.advance(1_000);
    const row = written(await batches.end(lease, 1, ALL, RESULT_KEYS));
    expect(row).toMatchObject({ ...ALL, status: 'succeeded', resultKeys: RESULT_KEYS, lockToken: 1, heartbeatAt: clock.nowIso() });
    for (const field of HOLDER) expect(row).not.toHaveProperty(field);
    await expect(batches.claim(batch, CLAIM)).resolves.toEqual(REFUSED);
  });

  it('is released to the queue with its checkpoint, and neither attempts nor lockToken change', async () => {
    const lease = leaseOf(await claimed());
    await batches.checkpoint(lease, 1, aState([0]), true, NOTHING_IN_HAND);
    await clock.advance(1_000);
    const row = written(await batches.release(lease));
    expect(row).toMatchObject({ status: 'queued', attempts: 0, lockToken: 1, enqueuedAt: clock.nowIso(), ...aState([0]) });
    for (const field of HOLDER) expect(row).not.toHaveProperty(field);
    await expect(batches.release(lease)).resolves.toEqual(REFUSED);
  });

  it('Release: row queued, then the message: only by its holder', async () => {
    const lease = leaseOf(await claimed());
    await expect(batches.release({ ...lease, lockToken: 2 })).resolves.toEqual(REFUSED);
    await expect(batches.release({ ...lease, run: 2 })).resolves.toEqual(REFUSED);
    expect((await found()).status).toBe('running');
  });

  it('lockToken never removed or reset: it grows over claim, release and claim', async () => {
    const first = await claimed();
    await batches.checkpoint(leaseOf(first), 3, aState([0]), true, NOTHING_IN_HAND);
    await batches.release(leaseOf(first));
    const second = await claimed();
    expect([first.lockToken, second.lockToken]).toEqual([1, 2]);
    expect(second).toMatchObject({ seq: 0, ...aState([0]) });
    await batches.cancel(batch, 1);
    expect((await found()).lockToken).toBe(2);
  });

  it('is cancelled from queued and from running, once', async () => {
    expect(written(await batches.cancel(batch, 1)).status).toBe('cancelled');
    await expect(batches.cancel(batch, 1)).resolves.toEqual(REFUSED);
    await expect(batches.claim(batch, CLAIM)).resolves.toEqual(REFUSED);
    await batches.createIfAbsent(aNewBatch({ jobId, batchNo: 1 }));
    await batches.claim({ ...batch, batchNo: 1 }, CLAIM);
    const running = written(await batches.cancel({ jobId, batchNo: 1 }, 1));
    expect(running).toMatchObject({ status: 'cancelled', lockToken: 1 });
    for (const field of HOLDER) expect(running).not.toHaveProperty(field);
  });

  it('Batches cancelled IF their run is not newer', async () => {
    await batches.createIfAbsent(aNewBatch({ jobId, batchNo: 1, run: 2 }));
    await expect(batches.cancel({ jobId, batchNo: 1 }, 1)).resolves.toEqual(REFUSED);
    await expect(batches.cancel({ jobId, batchNo: 1 }, 2)).resolves.toMatchObject({ kind: 'written' });
    await expect(batches.cancel({ jobId, batchNo: 0 }, 2)).resolves.toMatchObject({ kind: 'written' });
  });

  it('is not cancelled once it has ended', async () => {
    await batches.end(leaseOf(await claimed()), 1, ALL, RESULT_KEYS);
    await expect(batches.cancel(batch, 1)).resolves.toEqual(REFUSED);
    expect((await found()).status).toBe('succeeded');
  });
});
