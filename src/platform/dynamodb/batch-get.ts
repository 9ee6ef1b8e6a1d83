import { BatchGetCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { AppError, fullJitterMs, type Clock } from '../../shared/index.js';

const BATCH_GET_LIMIT = 100;
const BACKOFF = { baseMs: 50, capMs: 2_000 };
/** Calls in a row that left all of theirs unprocessed: the table is throttled for longer than a caller should wait unknowing. */
const MAX_FRUITLESS = 8;

/**
 * Consistent reads of rows by key, 100 a call; what a call leaves unprocessed is asked for again. Rows that are not there are left out.
 * @throws the SDK's errors, and AppError `TABLE_THROTTLED` (retry) when the table gives nothing for several calls in a row
 */
export async function batchGet(
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly Record<string, unknown>[],
  clock: Clock,
): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  let left = [...keys];
  let fruitless = 0;
  while (left.length > 0) {
    const { Responses, UnprocessedKeys } = await client.send(
      new BatchGetCommand({ RequestItems: { [table]: { Keys: left.slice(0, BATCH_GET_LIMIT), ConsistentRead: true } } }),
    );
    items.push(...(Responses?.[table] ?? []));
    const unprocessed = UnprocessedKeys?.[table]?.Keys ?? [];
    fruitless = unprocessed.length === Math.min(left.length, BATCH_GET_LIMIT) ? fruitless + 1 : 0;
    if (fruitless === MAX_FRUITLESS)
      throw new AppError('TABLE_THROTTLED', `${table} gave none of ${left.length} rows in ${MAX_FRUITLESS} calls`, {
        disposition: 'retry',
      });
    if (unprocessed.length > 0) await clock.sleep(fullJitterMs(BACKOFF, fruitless + 1));
    left = [...unprocessed, ...left.slice(BATCH_GET_LIMIT)];
  }
  return items;
}
