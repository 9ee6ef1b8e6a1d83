import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DescribeTableCommand, DescribeTimeToLiveCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { BatchGetCommand, BatchWriteCommand, GetCommand, PutCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { createTable, startDynamoDb, type DynamoDbEndpoint } from '../../../infra/local-aws/dynamodb.js';
import { FaultRules } from '../../../infra/local-aws/gateway-faults.js';
import { RequestLog } from '../../../infra/local-aws/request-log.js';
import { defineResources } from '../../../infra/resources.js';
import { createAwsClients, type AwsClients } from '../../support/local-aws.js';

const { jobs, batches } = defineResources('test').tables;
const tables = [jobs, batches];

describe('DynamoDB of the embedded AWS', () => {
  let log: RequestLog;
  let faults: FaultRules;
  let endpoint: DynamoDbEndpoint;
  let clients: AwsClients;

  beforeEach(async () => {
    log = new RequestLog();
    faults = new FaultRules();
    await start();
  });

  afterEach(async () => {
    clients.destroy();
    await endpoint.close();
  });

  async function start(dataDir?: string): Promise<void> {
    endpoint = await startDynamoDb({ log, faults, tables, ...(dataDir === undefined ? {} : { dataDir }) });
    clients = createAwsClients({ AWS_ENDPOINT_URL_DYNAMODB: endpoint.url });
    for (const table of tables) await createTable(clients.dynamodb, table);
    log.records.length = 0;
  }

  it('creates a table with its keys, index and TTL as defined, ready for use', async () => {
    const { Table } = await clients.dynamodb.send(new DescribeTableCommand({ TableName: batches.name }));
    expect(Table).toMatchObject({
      TableStatus: 'ACTIVE',
      KeySchema: [
        { AttributeName: 'jobId', KeyType: 'HASH' },
        { AttributeName: 'batchNo', KeyType: 'RANGE' },
      ],
      GlobalSecondaryIndexes: [
        {
          IndexName: 'running-index',
          KeySchema: [
            { AttributeName: 'runningShard', KeyType: 'HASH' },
            { AttributeName: 'lockedAt', KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: 'KEYS_ONLY' },
        },
      ],
    });
    const types = Object.fromEntries((Table?.AttributeDefinitions ?? []).map((a) => [a.AttributeName, a.AttributeType]));
    expect(types).toEqual({ jobId: 'S', batchNo: 'N', runningShard: 'S', lockedAt: 'S' });
  });

  it('remembers time to live, which dynalite does not know', async () => {
    const ask = async () => (await clients.dynamodb.send(new DescribeTimeToLiveCommand({ TableName: jobs.name }))).TimeToLiveDescription;
    const set = (Enabled: boolean, TableName = jobs.name) =>
      clients.dynamodb.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName: 'ttl', Enabled } }));

    expect(await ask()).toEqual({ AttributeName: 'ttl', TimeToLiveStatus: 'ENABLED' });
    await set(false);
    expect(await ask()).toEqual({ TimeToLiveStatus: 'DISABLED' });
    await expect(set(true, 'nowhere')).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });

  it('logs table, key and condition of a write, and how a read was made, but no values', async () => {
    await clients.documents.send(
      new PutCommand({
        TableName: batches.name,
        Item: { jobId: 'j', batchNo: 3, status: 'secret' },
        ConditionExpression: 'attribute_not_exists(jobId)',
      }),
    );
    const update = {
      TableName: jobs.name,
      Key: { jobId: 'j' },
      UpdateExpression: 'SET #s = :s',
      ExpressionAttributeNames: { '#s': 'status' },
    };
    await clients.documents.send(new UpdateCommand({ ...update, ExpressionAttributeValues: { ':s': 'secret' } }));
    const conditional = { ...update, ConditionExpression: '#s = :t', ExpressionAttributeValues: { ':s': 'x', ':t': 'other' } };
    await expect(clients.documents.send(new UpdateCommand(conditional))).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    await clients.documents.send(new GetCommand({ TableName: jobs.name, Key: { jobId: 'j' }, ConsistentRead: true }));
    await clients.documents.send(
      new QueryCommand({
        TableName: batches.name,
        IndexName: 'running-index',
        KeyConditionExpression: 'runningShard = :s',
        ExpressionAttributeValues: { ':s': 'r' },
      }),
    );

    const key = { jobId: 'j' };
    expect(log.records.map(({ operation, resource, status, error, detail }) => ({ operation, resource, status, error, detail }))).toEqual([
      { operation: 'PutItem', resource: batches.name, status: 200, detail: { condition: true, key: { jobId: 'j', batchNo: 3 } } },
      { operation: 'UpdateItem', resource: jobs.name, status: 200, detail: { condition: false, key } },
      {
        operation: 'UpdateItem',
        resource: jobs.name,
        status: 400,
        error: 'ConditionalCheckFailedException',
        detail: { condition: true, key },
      },
      { operation: 'GetItem', resource: jobs.name, status: 200, detail: { key, consistent: true } },
      { operation: 'Query', resource: batches.name, status: 200, detail: { index: 'running-index' } },
    ]);
    expect(JSON.stringify(log.records)).not.toContain('secret');
  });

  it('logs batch reads and writes by their number of rows', async () => {
    const requests = [1, 2].map((batchNo) => ({ PutRequest: { Item: { jobId: 'j', batchNo } } }));
    await clients.documents.send(new BatchWriteCommand({ RequestItems: { [batches.name]: requests } }));
    const Keys = [1, 2, 3].map((batchNo) => ({ jobId: 'j', batchNo }));
    await clients.documents.send(new BatchGetCommand({ RequestItems: { [batches.name]: { Keys, ConsistentRead: true } } }));

    expect(log.records).toMatchObject([
      { operation: 'BatchWriteItem', resource: batches.name, detail: { rows: 2, condition: false } },
      { operation: 'BatchGetItem', resource: batches.name, detail: { rows: 3, consistent: true } },
    ]);
  });

  it('keeps an update whose reply was dropped', async () => {
    faults.add({ service: 'dynamodb', operation: 'UpdateItem', times: 1, action: { kind: 'drop-reply' } });
    const count = new UpdateCommand({
      TableName: jobs.name,
      Key: { jobId: 'j' },
      UpdateExpression: 'ADD n :one',
      ExpressionAttributeValues: { ':one': 1 },
    });

    await expect(clients.documents.send(count)).rejects.toThrow();

    const { Item } = await clients.documents.send(new GetCommand({ TableName: jobs.name, Key: { jobId: 'j' } }));
    expect(Item).toEqual({ jobId: 'j', n: 1 });
  });

  it('finds its rows again in its data directory', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'dynamodb-'));
    const restart = async () => {
      clients.destroy();
      await endpoint.close();
      await start(dataDir);
    };
    try {
      await restart();
      await clients.documents.send(new PutCommand({ TableName: jobs.name, Item: { jobId: 'kept' } }));
      await restart();
      const { Item } = await clients.documents.send(new GetCommand({ TableName: jobs.name, Key: { jobId: 'kept' } }));
      expect(Item).toEqual({ jobId: 'kept' });
    } finally {
      await rm(dataDir, { recursive: true });
    }
  });
});
