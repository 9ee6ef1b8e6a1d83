import { paginateScan, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { JobFilter } from '../../application/job-state-repository.port.js';

/** The rows of all jobs, page by page: ended jobs are in no index. */
export async function* scanJobs(
  client: DynamoDBDocumentClient,
  table: string,
  { statuses, createdSince, idPrefix }: JobFilter,
): AsyncIterable<Record<string, unknown>[]> {
  const values: Record<string, string> = {};
  const conditions: string[] = [];
  if (statuses !== undefined) {
    for (const status of statuses) values[`:${status}`] = status;
    conditions.push(`#status IN (${statuses.map((status) => `:${status}`).join(', ')})`);
  }
  if (createdSince !== undefined) {
    values[':since'] = createdSince;
    conditions.push('createdAt >= :since');
  }
  if (idPrefix !== undefined) {
    values[':begin'] = idPrefix;
    conditions.push('begins_with(jobId, :begin)');
  }
  const filter = {
    FilterExpression: conditions.join(' AND '),
    ExpressionAttributeValues: values,
    ...(statuses === undefined ? {} : { ExpressionAttributeNames: { '#status': 'status' } }),
  };
  const pages = paginateScan({ client }, { TableName: table, ...(conditions.length === 0 ? {} : filter) });
  for await (const { Items = [] } of pages) yield Items;
}
