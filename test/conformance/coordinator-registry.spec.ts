import { GetCommand, PutCommand, ScanCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DynamoDbCoordinatorRegistryAdapter } from '../../src/fleet/adapters/dynamo-db-coordinator-registry.adapter.js';
import type { CoordinatorRegistryPort, Registration } from '../../src/fleet/application/coordinator-registry.port.js';
import { newId } from '../../src/shared/index.js';
import { aCoordinatorRow, coordinatorDetails } from '../support/builders.js';
import { startEmbeddedDynamoDb, type EmbeddedDynamoDb } from '../support/embedded-dynamodb.js';
import { Gate } from '../support/fakes/gate.js';
import { InMemoryCoordinatorRegistry } from '../support/fakes/in-memory-coordinator-registry.js';
import { RecordingLogger } from '../support/fakes/recording-logger.js';
import { FakeClock } from '../support/fake-clock.js';
import { createAwsClients } from '../support/local-aws.js';

let dynamoDb: EmbeddedDynamoDb;
let clock: FakeClock;
let logger: RecordingLogger;
beforeAll(async () => {
  dynamoDb = await startEmbeddedDynamoDb();
});
afterAll(() => dynamoDb.close());
beforeEach(() => {
  clock = new FakeClock();
  logger = new RecordingLogger();
});

const ROW = aCoordinatorRow();
const onTable = () => new DynamoDbCoordinatorRegistryAdapter(dynamoDb.documents, dynamoDb.coordinatorsTable, clock, logger);

describe.each<[string, () => CoordinatorRegistryPort]>([
  ['the fake', () => new InMemoryCoordinatorRegistry(new Gate(), clock)],
  ['DynamoDB', onTable],
])('CoordinatorRegistryPort on %s', (_name, create) => {
  let registry: CoordinatorRegistryPort;
  let first: Registration;

  beforeEach(() => {
    registry = create();
    first = { coordinatorId: newId(), registrationId: newId(), epoch: 1 };
  });

  const anew = (epoch: number): Registration => ({ ...first, registrationId: newId(), epoch });
  const found = async () => (await registry.list()).find(({ coordinatorId }) => coordinatorId === first.coordinatorId);

  it('registers who is not there yet, once', async () => {
    await expect(registry.find(first.coordinatorId)).resolves.toBeUndefined();
    await expect(registry.register(first, undefined, ROW)).resolves.toBe('written');
    expect(await found()).toEqual({ ...ROW, coordinatorId: first.coordinatorId, epoch: 1, sequence: 0, heartbeatAt: clock.nowIso() });
    await expect(registry.find(first.coordinatorId)).resolves.toEqual({ epoch: 1, sequence: 0, registrationId: first.registrationId });
    await expect(registry.register(first, undefined, ROW)).resolves.toBe('refused');
  });

  it('registers anew with the next epoch if the row is as observed: of two that saw the same, one wins', async () => {
    await registry.register(first, undefined, ROW);
    await registry.heartbeat(first, 7, coordinatorDetails({ workLoopAt: clock.nowIso() }));
    const second = anew(2);
    await expect(registry.register(second, 1, ROW)).resolves.toBe('written');
    await expect(registry.register(anew(2), 1, ROW)).resolves.toBe('refused');
    await expect(registry.register(anew(1), undefined, ROW)).resolves.toBe('refused');
    expect(await found()).toEqual({ ...ROW, coordinatorId: first.coordinatorId, epoch: 2, sequence: 0, heartbeatAt: clock.nowIso() });
    await expect(registry.find(first.coordinatorId)).resolves.toMatchObject({ registrationId: second.registrationId });
  });

  it('does not register on a row that was seen and is gone', async () => {
    await expect(registry.register(anew(2), 1, ROW)).resolves.toBe('refused');
    expect(await found()).toBeUndefined();
  });

  it('writes a heartbeat with everything it tells, and keeps the facts', async () => {
    await registry.register(first, undefined, ROW);
    await clock.advance(10_000);
    const details = coordinatorDetails({ phase: 'ready', activeTasks: 5, activeBatches: 2, loopLagMs: 12, workLoopAt: clock.nowIso() });
    await expect(registry.heartbeat(first, 1, details)).resolves.toBe('written');
    expect(await found()).toEqual({
      ...ROW,
      ...details,
      coordinatorId: first.coordinatorId,
      epoch: 1,
      sequence: 1,
      heartbeatAt: '2026-01-01T00:00:10.000Z',
    });
  });

  it('keeps the last sign of work when a heartbeat has none', async () => {
    await registry.register(first, undefined, ROW);
    const workLoopAt = clock.nowIso();
    await registry.heartbeat(first, 1, coordinatorDetails({ workLoopAt }));
    await registry.heartbeat(first, 2, coordinatorDetails());
    expect(await found()).toMatchObject({ sequence: 2, workLoopAt });
  });

  it('Coordinator heartbeat IF sequence < mine: refuses one that was written already, and one that comes late', async () => {
    await registry.register(first, undefined, ROW);
    await registry.heartbeat(first, 2, coordinatorDetails());
    await expect(registry.heartbeat(first, 2, coordinatorDetails())).resolves.toBe('refused');
    await expect(registry.heartbeat(first, 1, coordinatorDetails({ status: 'LEAVING' }))).resolves.toBe('refused');
    await expect(registry.heartbeat(first, 4, coordinatorDetails())).resolves.toBe('written');
    expect(await found()).toMatchObject({ sequence: 4, status: 'ACTIVE' });
  });

  it('Coordinator heartbeat IF epoch = mine: refuses one of another epoch or registration, and of a row that is gone', async () => {
    await expect(registry.heartbeat(first, 1, coordinatorDetails())).resolves.toBe('refused');
    expect(await found()).toBeUndefined();
    await registry.register(first, undefined, ROW);
    await expect(registry.heartbeat(anew(1), 1, coordinatorDetails())).resolves.toBe('refused');
    await expect(registry.heartbeat({ ...first, epoch: 2 }, 1, coordinatorDetails())).resolves.toBe('refused');
    await registry.register(anew(2), 1, ROW);
    await expect(registry.heartbeat(first, 1, coordinatorDetails())).resolves.toBe('refused');
    expect(await found()).toMatchObject({ epoch: 2, sequence: 0 });
  });

  it('marks who leaves, for as long as it beats; a new life is active', async () => {
    await registry.register(first, undefined, ROW);
    await registry.heartbeat(first, 1, coordinatorDetails({ status: 'LEAVING', phase: 'draining' }));
    expect(await found()).toMatchObject({ status: 'LEAVING', phase: 'draining' });
    await registry.register(anew(2), 1, ROW);
    expect(await found()).toMatchObject({ status: 'ACTIVE', phase: 'starting' });
  });

  it('lists everyone', async () => {
    const ids = [newId(), newId(), newId()];
    for (const coordinatorId of ids) await registry.register({ ...first, coordinatorId }, undefined, ROW);
    expect((await registry.list()).map(({ coordinatorId }) => coordinatorId)).toEqual(expect.arrayContaining(ids));
  });
});

describe('the rows of the registry on DynamoDB', () => {
  const TableName = () => dynamoDb.coordinatorsTable;
  const stored = async (coordinatorId: string) =>
    (await dynamoDb.documents.send(new GetCommand({ TableName: TableName(), Key: { coordinatorId } }))).Item;
  const put = (row: Record<string, unknown>) => dynamoDb.documents.send(new PutCommand({ TableName: TableName(), Item: row }));
  const register = async (coordinatorId = newId()) => {
    await onTable().register({ coordinatorId, registrationId: 'mine', epoch: 1 }, undefined, ROW);
    return coordinatorId;
  };

  it('are of version 1 and are forgotten 24 h after the last heartbeat', async () => {
    const coordinatorId = await register();
    const ttl = () => Date.parse(clock.nowIso()) / 1_000 + 86_400;
    expect(await stored(coordinatorId)).toMatchObject({ v: 1, ttl: ttl() });
    await clock.advance(60_000);
    await onTable().heartbeat({ coordinatorId, registrationId: 'mine', epoch: 1 }, 1, coordinatorDetails());
    expect(await stored(coordinatorId)).toMatchObject({ v: 1, ttl: ttl() });
  });

  it('of a newer version, or of something else, are left out with one warning each and hide nobody', async () => {
    const coordinatorId = await register();
    const [newer, broken] = [newId(), newId()];
    await put({ ...(await stored(coordinatorId)), v: 2, coordinatorId: newer });
    await put({ coordinatorId: broken });
    const registry = onTable();
    const ids = async () => (await registry.list()).map((row) => row.coordinatorId);
    for (const listed of [await ids(), await ids()]) {
      expect(listed).toContain(coordinatorId);
      expect(listed).not.toContain(newer);
      expect(listed).not.toContain(broken);
    }
    const warned = logger.events.map(({ fields }) => fields.row);
    expect(warned.filter((row) => row === newer)).toHaveLength(1);
    expect(warned.filter((row) => row === broken)).toHaveLength(1);
  });

  it('may carry what the monitors write', async () => {
    const coordinatorId = await register();
    await dynamoDb.documents.send(
      new UpdateCommand({
        TableName: TableName(),
        Key: { coordinatorId },
        UpdateExpression: 'SET health = :health, consecutiveWarnings = :one',
        ConditionExpression: 'attribute_exists(coordinatorId)',
        ExpressionAttributeValues: { ':health': 'warning', ':one': 1 },
      }),
    );
    const registry = onTable();
    expect((await registry.list()).map((row) => row.coordinatorId)).toContain(coordinatorId);
    await registry.heartbeat({ coordinatorId, registrationId: 'mine', epoch: 1 }, 1, coordinatorDetails());
    expect(await stored(coordinatorId)).toMatchObject({ health: 'warning', consecutiveWarnings: 1, sequence: 1 });
  });

  it('of a newer version are taken over by the next process of that id, which needs their epoch only', async () => {
    const coordinatorId = newId();
    await put({ v: 2, coordinatorId, epoch: 4, sequence: 9 });
    await expect(onTable().find(coordinatorId)).resolves.toEqual({ epoch: 4, sequence: 9, registrationId: undefined });
    await expect(onTable().register({ coordinatorId, registrationId: 'mine', epoch: 5 }, 4, ROW)).resolves.toBe('written');
  });

  it('that are no coordinators say what to do when an id meets them', async () => {
    const coordinatorId = newId();
    await put({ coordinatorId });
    await expect(onTable().find(coordinatorId)).rejects.toThrow(
      `The row ${coordinatorId} of ${TableName()} is no coordinator's: remove it`,
    );
  });

  const calls: [string, (registry: CoordinatorRegistryPort) => Promise<unknown>][] = [
    ['found', (registry) => registry.find('one')],
    ['registered', (registry) => registry.register({ coordinatorId: 'one', registrationId: 'mine', epoch: 1 }, undefined, ROW)],
    ['beaten', (registry) => registry.heartbeat({ coordinatorId: 'one', registrationId: 'mine', epoch: 1 }, 1, coordinatorDetails())],
    ['listed', (registry) => registry.list()],
  ];
  it.each(calls)('cannot be %s without a table: it is no use to try again', async (_how, call) => {
    const registry = new DynamoDbCoordinatorRegistryAdapter(dynamoDb.documents, 'nowhere', clock, logger);
    await expect(call(registry)).rejects.toMatchObject({ code: 'TABLE_UNUSABLE', disposition: 'fatal' });
  });

  it.each(calls)('cannot be %s while nobody answers: it is tried again', async (_how, call) => {
    const clients = createAwsClients({ AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:1' });
    const registry = new DynamoDbCoordinatorRegistryAdapter(clients.documents, TableName(), clock, logger);
    await expect(call(registry)).rejects.toMatchObject({ code: 'TABLE_UNAVAILABLE', disposition: 'retry' });
    clients.destroy();
  });

  it('are all listed, however many pages they fill', async () => {
    const padding = 'x'.repeat(300_000);
    const ids = Array.from({ length: 8 }, () => newId());
    for (const coordinatorId of ids) await put({ ...(await stored(await register())), coordinatorId, padding });
    const { LastEvaluatedKey } = await dynamoDb.documents.send(new ScanCommand({ TableName: TableName() }));
    expect(LastEvaluatedKey).toBeDefined();
    expect((await onTable().list()).map((row) => row.coordinatorId)).toEqual(expect.arrayContaining(ids));
  });
});
