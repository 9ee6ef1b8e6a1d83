import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { DynamoDbBatchRepositoryAdapter } from '../../src/batches/adapters/dynamo-db-batch-repository.adapter.js';
import type { BatchKey, BatchRepositoryPort, BatchWrite } from '../../src/batches/application/batch-repository.port.js';
import type { BatchEntity } from '../../src/batches/domain/batch.entity.js';
import { startEmbeddedDynamoDb, type EmbeddedDynamoDb } from './embedded-dynamodb.js';
import { Gate } from './fakes/gate.js';
import { InMemoryBatchRepository } from './fakes/in-memory-batch-repository.js';
import type { FakeClock } from './fake-clock.js';

export interface BatchRows {
  batches: BatchRepositoryPort;
  /** Sets one attribute behind the port's back, or removes it. */
  change: (key: BatchKey, field: string, value: string | number | undefined) => Promise<unknown>;
}

/** One suite on every implementation of the port: the fake, and the adapter on the embedded DynamoDB. */
export function describeBatchRows(name: string, suite: (create: (clock: FakeClock) => BatchRows) => void): void {
  let dynamoDb: EmbeddedDynamoDb;
  beforeAll(async () => {
    dynamoDb = await startEmbeddedDynamoDb();
  });
  afterAll(() => dynamoDb.close());

  describe.each<[string, (clock: FakeClock) => BatchRows]>([
    ['the fake', fakeRows],
    ['DynamoDB', (clock) => tableRows(dynamoDb, clock)],
  ])(`${name} by the BatchRepositoryPort on %s`, (_name, create) => suite(create));
}

/** @throws when the write was refused */
export function writtenBatch(write: BatchWrite): BatchEntity {
  if (write.kind === 'refused') throw new Error('refused');
  return write.batch;
}

function fakeRows(clock: FakeClock): BatchRows {
  const batches = new InMemoryBatchRepository(new Gate(), clock);
  const change = ({ jobId, batchNo }: BatchKey, field: string, value: string | number | undefined) => {
    const row = Object.entries(batches.get(batchNo, jobId)).filter(([name]) => name !== field);
    const changed = value === undefined ? row : [...row, [field, value]];
    return Promise.resolve(batches.put(Object.fromEntries(changed) as unknown as BatchEntity));
  };
  return { batches, change };
}

export function tableRows(dynamoDb: EmbeddedDynamoDb, clock: FakeClock): BatchRows {
  const table = dynamoDb.batchesTable;
  const batches = new DynamoDbBatchRepositoryAdapter(dynamoDb.documents, { table, retentionDays: 30 }, clock);
  const change = ({ jobId, batchNo }: BatchKey, field: string, value: string | number | undefined) =>
    dynamoDb.documents.send(
      new UpdateCommand({
        TableName: table,
        Key: { jobId, batchNo },
        ExpressionAttributeNames: { '#field': field },
        ...(value === undefined
          ? { UpdateExpression: 'REMOVE #field' }
          : { UpdateExpression: 'SET #field = :value', ExpressionAttributeValues: { ':value': value } }),
      }),
    );
  return { batches, change };
}
