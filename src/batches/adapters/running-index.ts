import { paginateQuery, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { hash32 } from '../../shared/index.js';
import type { BatchKey } from '../application/batch-repository.port.js';

const SHARDS = 4;
/** What one BatchGetItem reads. */
const PAGE_SIZE = 100;

/**
 * `running-index`: partition `running#<shard>`, sort `lockedAt`, keys only, running batches only. It lags behind the table, so it finds
 * candidates and decides nothing. A heartbeat never writes to it: `heartbeatAt` is no key of it.
 */
export class RunningIndex {
  constructor(
    private readonly client: DynamoDBDocumentClient,
    private readonly table: string,
  ) {}

  /** The attribute that puts a row into the index. */
  shardOf({ jobId, batchNo }: BatchKey): string {
    return `running#${hash32(`${jobId}#${batchNo}`) % SHARDS}`;
  }

  /** Keys by pages of 100 at most, longest held first within a shard. */
  async *pages(): AsyncIterable<BatchKey[]> {
    for (let shard = 0; shard < SHARDS; shard++) {
      const pages = paginateQuery(
        { client: this.client, pageSize: PAGE_SIZE },
        {
          TableName: this.table,
          IndexName: 'running-index',
          KeyConditionExpression: 'runningShard = :shard',
          ExpressionAttributeValues: { ':shard': `running#${shard}` },
        },
      );
      for await (const { Items = [] } of pages)
        yield Items.map(({ jobId, batchNo }) => ({ jobId: String(jobId), batchNo: Number(batchNo) }));
    }
  }
}
