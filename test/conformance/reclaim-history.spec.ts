import { PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DynamoDbReclaimHistoryAdapter } from '../../src/batches/adapters/dynamo-db-reclaim-history.adapter.js';
import type { ReclaimHistoryPort } from '../../src/batches/application/reclaim-history.port.js';
import type { ReclaimRecord } from '../../src/batches/domain/reclaim-record.js';
import { newId } from '../../src/shared/index.js';
import { aReclaim } from '../support/builders.js';
import { startEmbeddedDynamoDb, type EmbeddedDynamoDb } from '../support/embedded-dynamodb.js';
import { FakeClock } from '../support/fake-clock.js';
import { InMemoryReclaimHistory } from '../support/fakes/in-memory-reclaim-history.js';

let dynamoDb: EmbeddedDynamoDb;
beforeAll(async () => {
  dynamoDb = await startEmbeddedDynamoDb();
});
afterAll(() => dynamoDb.close());

const inTable = () =>
  new DynamoDbReclaimHistoryAdapter(dynamoDb.documents, { table: dynamoDb.reclaimsTable, retentionDays: 30 }, new FakeClock());

describe.each<[string, () => ReclaimHistoryPort]>([
  ['the fake', () => new InMemoryReclaimHistory()],
  ['DynamoDB', inTable],
])('ReclaimHistoryPort on %s', (_name, create) => {
  let history: ReclaimHistoryPort;
  let jobId: string;
  /** Later than those of the tests before: they share a table. */
  let startMs = Date.parse('2026-01-01T00:00:00.000Z');

  beforeEach(() => {
    history = create();
    jobId = newId();
    startMs += 3_600_000;
  });

  const at = (second: number) => new Date(startMs + second * 1_000).toISOString();
  const recorded = async (second: number, over: Partial<ReclaimRecord> = {}): Promise<ReclaimRecord> => {
    const reclaim = aReclaim({ jobId, reclaimedAt: at(second), ...over });
    await history.record(reclaim);
    return reclaim;
  };

  it('gives back what was recorded, with and without what a lease may lack', async () => {
    const { heldBy: _by, lockAgeS: _lock, heartbeatAgeS: _beat, progressAgeS: _progress, lastError: _error, ...bare } = aReclaim();
    const first = await recorded(1);
    const second = { ...bare, jobId, batchNo: 1, reclaimedAt: at(2), outcome: 'given-up' as const };
    await history.record(second);
    await expect(history.ofJob(jobId, 10)).resolves.toEqual([second, first]);
    await expect(history.recent(2)).resolves.toEqual([second, first]);
  });

  it('writes a reclaim once: a repetition leaves the first', async () => {
    const first = await recorded(1);
    await recorded(9, { reclaimId: 'another', reclaimedBy: 'another' });
    await expect(history.ofJob(jobId, 10)).resolves.toEqual([first]);
    await expect(history.recent(1)).resolves.toEqual([first]);
  });

  it('gives up a write whose signal is aborted', async () => {
    await expect(history.record(aReclaim({ jobId }), AbortSignal.abort())).rejects.toThrow(/abort/i);
  });

  it.each<[string, Partial<ReclaimRecord>]>([
    ['batch', { batchNo: 10 }],
    ['attempt', { attempt: 2 }],
    ['lease', { lockToken: 5 }],
  ])('keeps the reclaims of another %s apart', async (_what, over) => {
    const [first, second] = [await recorded(1), await recorded(2, over)];
    await expect(history.ofJob(jobId, 10)).resolves.toEqual([second, first]);
  });

  it('lists the newest of one job first, up to a limit, whatever the order of its batches', async () => {
    for (const [second, batchNo] of [3, 100, 20, 1].entries()) await recorded(second, { batchNo });
    await recorded(99, { jobId: newId() });
    expect((await history.ofJob(jobId, 3)).map(({ batchNo }) => batchNo)).toEqual([1, 20, 100]);
    await expect(history.ofJob('nobody', 3)).resolves.toEqual([]);
  });

  it('lists the newest of all jobs first, from every shard, up to a limit', async () => {
    const all = Array.from({ length: 130 }, (_, second) => second);
    await Promise.all(all.map((second) => recorded(second, { jobId: newId(), batchNo: second })));
    expect((await history.recent(120)).map(({ batchNo }) => batchNo)).toEqual(all.slice(10).toReversed());
    expect((await history.recent(3)).map(({ batchNo }) => batchNo)).toEqual([129, 128, 127]);
  });
});

describe('DynamoDB', () => {
  it('leaves out a row of a newer version, and it alone', async () => {
    const history = inTable();
    await history.record(aReclaim({ jobId: 'job-of-two-versions' }));
    const newer = { ...aReclaim({ jobId: 'job-of-two-versions' }), v: 2, reclaim: '00000000#9#9' };
    await dynamoDb.documents.send(new PutCommand({ TableName: dynamoDb.reclaimsTable, Item: newer }));
    await expect(history.ofJob('job-of-two-versions', 10)).resolves.toHaveLength(1);
  });

  it('forgets a row after the retention, and sorts a job’s rows by their batch', async () => {
    const history = inTable();
    for (const batchNo of [10, 9]) await history.record(aReclaim({ jobId: 'job-of-rows', batchNo }));
    const { Items = [] } = await dynamoDb.documents.send(
      new QueryCommand({
        TableName: dynamoDb.reclaimsTable,
        KeyConditionExpression: 'jobId = :jobId',
        ExpressionAttributeValues: { ':jobId': 'job-of-rows' },
      }),
    );
    expect(Items.map(({ reclaim }) => String(reclaim))).toEqual(['00000009#1#4', '00000010#1#4']);
    expect(Items[0]).toMatchObject({ v: 1, ttl: Date.parse('2026-01-31T00:00:00.000Z') / 1_000 });
    expect(String(Items[0]?.reclaimedShard)).toMatch(/^reclaimed#[0-3]$/);
  });
});
