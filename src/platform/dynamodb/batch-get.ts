import { BatchGetCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../../shared/index.js';

const BATCH_GET_LIMIT = 100;
const PAUSE_MS = 50;

/** Consistent reads of rows by key, 100 a call; what a call leaves unprocessed is asked for again. Rows that are not there are left out. */
export async function batchGet(
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly Record<string, unknown>[],
  clock: Clock,
): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  let left = [...keys];
  while (left.length > 0) {
    const { Responses, UnprocessedKeys } = await client.send(
      new BatchGetCommand({ RequestItems: { [table]: { Keys: left.slice(0, BATCH_GET_LIMIT), ConsistentRead: true } } }),
    );
    items.push(...(Responses?.[table] ?? []));
    const unprocessed = UnprocessedKeys?.[table]?.Keys ?? [];
    if (unprocessed.length > 0) await clock.sleep(PAUSE_MS);
    left = [...unprocessed, ...left.slice(BATCH_GET_LIMIT)];
  }
  return items;
}
