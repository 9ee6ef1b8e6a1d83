import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { expect, it } from '@jest/globals';
import { batchGet } from '../../../src/platform/dynamodb/index.js';
import { newClock, onEachClock } from '../../support/each-clock.js';

const keys = [1, 2, 3].map((id) => ({ id }));

/** Of each call it answers so many rows and leaves the others unprocessed. */
function aTable(rowsPerCall: readonly number[]): DynamoDBDocumentClient {
  const answers = [...rowsPerCall];
  const send = async ({ input }: { input: { RequestItems: { table: { Keys: object[] } } } }) => {
    const asked = input.RequestItems.table.Keys;
    const given = answers.shift() ?? 0;
    return { Responses: { table: asked.slice(0, given) }, UnprocessedKeys: { table: { Keys: asked.slice(given) } } };
  };
  return { send } as unknown as DynamoDBDocumentClient;
}

onEachClock('many rows by key', () => {
  it('asks again, ever more slowly, for what a call leaves unprocessed', async () => {
    const clock = newClock();
    const rows = batchGet(aTable([1, 0, 2]), 'table', keys, clock);
    await clock.advance(10_000);
    await expect(rows).resolves.toEqual(keys);
  });

  it('gives up on a table that gives nothing, rather than keep its caller waiting', async () => {
    const clock = newClock();
    const rows = batchGet(aTable([1]), 'table', keys, clock);
    const failed = expect(rows).rejects.toMatchObject({ code: 'TABLE_THROTTLED', disposition: 'retry' });
    await clock.advance(20_000);
    await failed;
  });
});
