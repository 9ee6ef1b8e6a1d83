import { paginateQuery, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { batchGet, conditionalPut } from '../../platform/dynamodb/index.js';
import { expiryS, hash32, type Clock } from '../../shared/index.js';
import { ReclaimHistoryPort } from '../application/reclaim-history.port.js';
import type { ReclaimRecord } from '../domain/reclaim-record.js';
import { RECLAIM_ROW_VERSION, toReclaimRecord } from './reclaim-row.schema.js';

const SHARDS = 4;
/** Up to 10,000,000 batches: numbers of one length sort as text. */
const BATCH_NO_DIGITS = 8;

interface ReclaimKey {
  jobId: string;
  reclaim: string;
}

/**
 * Key `jobId` + `reclaim` (`batchNo#attempt#lockToken`); `recent-index`: partition `reclaimed#<shard>`, sort `reclaimedAt`, keys only.
 * The shards spread the writes when a whole fleet's batches are reclaimed at once.
 */
export class DynamoDbReclaimHistoryAdapter extends ReclaimHistoryPort {
  constructor(
    private readonly client: DynamoDBDocumentClient,
    private readonly settings: { table: string; retentionDays: number },
    private readonly clock: Clock,
  ) {
    super();
  }

  async record(record: ReclaimRecord, signal?: AbortSignal): Promise<void> {
    const reclaim = sortKeyOf(record);
    // Refused: a repetition, or a retry whose first reply was lost. A lease is taken once, so what is there is the same.
    await conditionalPut(
      this.client,
      {
        TableName: this.settings.table,
        Item: {
          ...record,
          v: RECLAIM_ROW_VERSION,
          reclaim,
          reclaimedShard: `reclaimed#${hash32(`${record.jobId}#${reclaim}`) % SHARDS}`,
          ttl: expiryS(this.clock, this.settings.retentionDays),
        },
        ConditionExpression: 'attribute_not_exists(jobId)',
      },
      signal,
    );
  }

  async ofJob(jobId: string, limit: number): Promise<ReclaimRecord[]> {
    const pages = paginateQuery(
      { client: this.client },
      {
        TableName: this.settings.table,
        KeyConditionExpression: 'jobId = :jobId',
        ExpressionAttributeValues: { ':jobId': jobId },
        ConsistentRead: true,
      },
    );
    let newest: ReclaimRecord[] = [];
    for await (const { Items = [] } of pages) newest = newestFirst([...newest, ...known(Items)]).slice(0, limit);
    return newest;
  }

  async recent(limit: number): Promise<ReclaimRecord[]> {
    const shards = await Promise.all(Array.from({ length: SHARDS }, (_, shard) => this.newestKeys(`reclaimed#${shard}`, limit)));
    const keys = newestFirst(shards.flat()).slice(0, limit);
    const items = await batchGet(
      this.client,
      this.settings.table,
      keys.map(({ jobId, reclaim }) => ({ jobId, reclaim })),
      this.clock,
    );
    return newestFirst(known(items));
  }

  private async newestKeys(shard: string, limit: number): Promise<(ReclaimKey & { reclaimedAt: string })[]> {
    const pages = paginateQuery(
      { client: this.client },
      {
        TableName: this.settings.table,
        IndexName: 'recent-index',
        KeyConditionExpression: 'reclaimedShard = :shard',
        ExpressionAttributeValues: { ':shard': shard },
        ScanIndexForward: false,
        Limit: limit,
      },
    );
    const keys: (ReclaimKey & { reclaimedAt: string })[] = [];
    for await (const { Items = [] } of pages) {
      for (const { jobId, reclaim, reclaimedAt } of Items)
        keys.push({ jobId: String(jobId), reclaim: String(reclaim), reclaimedAt: String(reclaimedAt) });
      if (keys.length >= limit) break;
    }
    return keys;
  }
}

/** Deterministic, so that a reclaim is written once: each lease has its own lockToken, and is taken at most once. */
function sortKeyOf({ batchNo, attempt, lockToken }: ReclaimRecord): string {
  return `${String(batchNo).padStart(BATCH_NO_DIGITS, '0')}#${attempt}#${lockToken}`;
}

function known(items: readonly unknown[]): ReclaimRecord[] {
  return items.map(toReclaimRecord).filter((record) => record !== undefined);
}

function newestFirst<T extends { reclaimedAt: string }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => (a.reclaimedAt < b.reclaimedAt ? 1 : a.reclaimedAt > b.reclaimedAt ? -1 : 0));
}
