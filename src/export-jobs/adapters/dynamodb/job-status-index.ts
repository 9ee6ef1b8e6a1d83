import { paginateQuery, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { hash32 } from '../../../shared/index.js';
import type { ActiveJobs } from '../../application/job-state-repository.port.js';
import type { ActiveStatus } from '../../domain/export-job.entity.js';

/**
 * `status-index`: partition `<status>#<shard>`, sort `createdAt`, keys only, active jobs only. It lags behind the table, so it
 * finds candidates and decides nothing. The shards spread the writes of a burst of jobs over several partitions.
 */
export class JobStatusIndex {
  constructor(
    private readonly client: DynamoDBDocumentClient,
    private readonly settings: { table: string; statusShards: number },
  ) {}

  /** The attribute that puts a row into the index. */
  shardOf(status: ActiveStatus, jobId: string): string {
    return `${status}#${hash32(jobId) % this.settings.statusShards}`;
  }

  /** By pages, of all shards of each status, oldest first within a shard. */
  async *pages(statuses: readonly ActiveStatus[]): AsyncIterable<ActiveJobs> {
    for (const status of statuses)
      for (const shard of this.shards([status]))
        for await (const jobIds of this.query(shard, { ScanIndexForward: true })) yield { status, jobIds };
  }

  /** At most `limit` ids of each shard, newest first. */
  async newest(statuses: readonly ActiveStatus[], limit: number): Promise<string[]> {
    const ids: string[] = [];
    for (const shard of this.shards(statuses))
      for await (const page of this.query(shard, { ScanIndexForward: false, Limit: limit })) {
        ids.push(...page);
        break;
      }
    return ids;
  }

  private shards(statuses: readonly ActiveStatus[]): string[] {
    return statuses.flatMap((status) => Array.from({ length: this.settings.statusShards }, (_, shard) => `${status}#${shard}`));
  }

  private async *query(statusShard: string, options: { ScanIndexForward: boolean; Limit?: number }): AsyncIterable<string[]> {
    const pages = paginateQuery(
      { client: this.client },
      {
        TableName: this.settings.table,
        IndexName: 'status-index',
        KeyConditionExpression: 'statusShard = :shard',
        ExpressionAttributeValues: { ':shard': statusShard },
        ...options,
      },
    );
    for await (const { Items = [] } of pages) yield Items.map((item) => String(item.jobId));
  }
}
