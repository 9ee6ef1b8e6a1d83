import {
  CreateTableCommand,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
import type { KeyAttribute, TableDefinition } from '../resources.js';
import { errorReply, Gateway, jsonReply, type ApiCall, type ApiReply, type Forward, type JsonObject } from './gateway.js';
import type { FaultRules } from './gateway-faults.js';
import { listen } from './listen.js';
import type { RequestLog, RequestRecord } from './request-log.js';

export interface DynamoDbOptions {
  /** Directory of the database; in memory without one. */
  dataDir?: string;
  port?: number;
  log: RequestLog;
  faults: FaultRules;
  /** The log shows the keys of rows put into these. */
  tables: readonly TableDefinition[];
}

export interface DynamoDbEndpoint {
  url: string;
  close(): Promise<void>;
}

/** dynalite behind the gateway, which answers the two TTL operations that it lacks. Rows are never deleted by TTL. */
export async function startDynamoDb({ dataDir, port, log, faults, tables }: DynamoDbOptions): Promise<DynamoDbEndpoint> {
  const server = dynalite({ ...(dataDir === undefined ? {} : { path: dataDir }), createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  const upstream = await listen(server);
  const stopUpstream = () => new Promise<void>((resolve) => server.close(() => resolve()));
  try {
    const gateway = await Gateway.start({
      service: 'dynamodb',
      upstream,
      faults,
      log,
      ...(port === undefined ? {} : { port }),
      describe: (call) => describe(call, tables),
      handle: answerTimeToLive(new Map()),
    });
    return {
      url: gateway.url,
      close: async () => {
        await gateway.close();
        await stopUpstream();
      },
    };
  } catch (error) {
    await stopUpstream();
    throw error;
  }
}

/** Creates the table unless it is there (a data directory used before), and waits until it can be used. */
export async function createTable(client: DynamoDBClient, table: TableDefinition): Promise<void> {
  const keys = [table, ...table.indexes].flatMap(keyAttributes);
  const types = new Map(keys.map(({ name, type }) => [name, type]));
  try {
    await client.send(
      new CreateTableCommand({
        TableName: table.name,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [...types].map(([name, type]) => ({ AttributeName: name, AttributeType: type })),
        KeySchema: keySchema(table),
        ...(table.indexes.length === 0
          ? {}
          : {
              GlobalSecondaryIndexes: table.indexes.map((index) => ({
                IndexName: index.name,
                KeySchema: keySchema(index),
                Projection: { ProjectionType: index.projection },
              })),
            }),
      }),
    );
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 0.005, maxDelay: 0.1 }, { TableName: table.name });
  await client.send(
    new UpdateTimeToLiveCommand({ TableName: table.name, TimeToLiveSpecification: { AttributeName: table.ttlAttribute, Enabled: true } }),
  );
}

type Keyed = { partitionKey: KeyAttribute; sortKey?: KeyAttribute };

function keyAttributes({ partitionKey, sortKey }: Keyed): KeyAttribute[] {
  return sortKey === undefined ? [partitionKey] : [partitionKey, sortKey];
}

function keySchema(keyed: Keyed) {
  return keyAttributes(keyed).map(({ name }, position) => ({
    AttributeName: name,
    KeyType: position === 0 ? ('HASH' as const) : ('RANGE' as const),
  }));
}

function answerTimeToLive(attributes: Map<string, string>) {
  return async ({ operation, body }: ApiCall, forward: Forward): Promise<ApiReply> => {
    if (operation !== 'UpdateTimeToLive' && operation !== 'DescribeTimeToLive') return forward();
    const table = String(body['TableName']);
    const known = await forward({ operation: 'DescribeTimeToLive', body: { TableName: table } });
    if (known.status !== 200) return known;
    if (operation === 'DescribeTimeToLive') {
      const attribute = attributes.get(table);
      return attribute === undefined
        ? known
        : jsonReply({ TimeToLiveDescription: { AttributeName: attribute, TimeToLiveStatus: 'ENABLED' } });
    }
    const wanted = (body['TimeToLiveSpecification'] ?? {}) as { AttributeName?: string; Enabled?: boolean };
    if (wanted.AttributeName === undefined || wanted.Enabled === undefined)
      return errorReply('dynamodb', 400, 'ValidationException', 'TimeToLiveSpecification needs AttributeName and Enabled');
    if (wanted.Enabled) attributes.set(table, wanted.AttributeName);
    else attributes.delete(table);
    return jsonReply({ TimeToLiveSpecification: wanted });
  };
}

const WRITES = new Set(['PutItem', 'UpdateItem', 'DeleteItem']);

/** `condition` and `key` of a write, `key` and `consistent` of a read, `index` of a query: what tests ask of the log. */
function describe({ operation, body }: ApiCall, tables: readonly TableDefinition[]): Pick<RequestRecord, 'resource' | 'detail'> {
  if (body['RequestItems'] !== undefined) return describeBatch(operation, body['RequestItems'] as BatchItems);
  const name = body['TableName'];
  if (typeof name !== 'string') return {};
  const key = keyOf(
    body,
    tables.find((table) => table.name === name),
  );
  return {
    resource: name,
    detail: {
      ...(WRITES.has(operation) ? { condition: body['ConditionExpression'] !== undefined } : {}),
      ...(key === undefined ? {} : { key }),
      ...(body['ConsistentRead'] === true ? { consistent: true } : {}),
      ...(body['IndexName'] === undefined ? {} : { index: body['IndexName'] }),
    },
  };
}

/** By table: a list of writes, or the keys of a read. */
type BatchItems = Record<string, unknown[] | { Keys: unknown[]; ConsistentRead?: boolean }>;

/** Batch writes cannot have conditions. */
function describeBatch(operation: string, requests: BatchItems): Pick<RequestRecord, 'resource' | 'detail'> {
  const perTable = Object.values(requests);
  const consistent = perTable.every((request) => !Array.isArray(request) && request.ConsistentRead === true);
  return {
    resource: Object.keys(requests).join(','),
    detail: {
      rows: perTable.reduce((rows, request) => rows + (Array.isArray(request) ? request : request.Keys).length, 0),
      ...(operation === 'BatchWriteItem' ? { condition: false } : { consistent }),
    },
  };
}

function keyOf(body: JsonObject, table: TableDefinition | undefined): JsonObject | undefined {
  if (body['Key'] !== undefined) return plain(body['Key'] as KeyValues);
  if (body['Item'] === undefined || table === undefined) return undefined;
  const item = body['Item'] as KeyValues;
  return plain(Object.fromEntries(keyAttributes(table).map(({ name }) => [name, item[name] ?? {}])));
}

/** As the API writes the values of keys. */
type KeyValues = Record<string, { S?: string; N?: string }>;

function plain(key: KeyValues): JsonObject {
  return Object.fromEntries(Object.entries(key).map(([name, { S, N }]) => [name, S ?? Number(N)]));
}
