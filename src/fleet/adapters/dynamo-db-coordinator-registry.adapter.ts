import { GetCommand, paginateScan, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { conditionalPut, conditionalUpdate, toDynamoDbError } from '../../platform/dynamodb/index.js';
import { AppError, expiryS, type AppLogger, type Clock } from '../../shared/index.js';
import {
  CoordinatorRegistryPort,
  type RegisteredRow,
  type Registration,
  type RegistryWrite,
} from '../application/coordinator-registry.port.js';
import type { CoordinatorDetails, CoordinatorEntity, CoordinatorFacts } from '../domain/coordinator.entity.js';
import { ROW_VERSION, toCoordinatorIfKnown, toRegisteredRow } from './coordinator-row.schema.js';

// The parts of the conditions; each write below says which race its own closes.
const NO_ROW_YET = 'attribute_not_exists(coordinatorId)';
const EPOCH_AS_OBSERVED = 'epoch = :observed';
const MY_REGISTRATION = 'registrationId = :registrationId';
const MY_EPOCH = 'epoch = :epoch';
const NEWER_THAN_WRITTEN = '#sequence < :sequence';

/** After its last heartbeat a row is forgotten: tidiness, never a judgement. */
const RETENTION_DAYS = 1;

export class DynamoDbCoordinatorRegistryAdapter extends CoordinatorRegistryPort {
  /** Rows that a warning has been given of: one of a newer version stays for as long as its process lives. */
  private unreadable = new Set<string>();

  constructor(
    private readonly client: DynamoDBDocumentClient,
    private readonly table: string,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {
    super();
  }

  async find(coordinatorId: string): Promise<RegisteredRow | undefined> {
    const get = new GetCommand({ TableName: this.table, Key: { coordinatorId }, ConsistentRead: true });
    const { Item } = await translated('GetItem', () => this.client.send(get));
    if (Item === undefined) return undefined;
    const row = toRegisteredRow(Item);
    if (row === undefined)
      throw new AppError('COORDINATOR_ROW_UNREADABLE', `The row ${coordinatorId} of ${this.table} is no coordinator's: remove it`, {
        disposition: 'fatal',
      });
    return row;
  }

  async register(
    { coordinatorId, registrationId, epoch }: Registration,
    observedEpoch: number | undefined,
    row: CoordinatorFacts & CoordinatorDetails,
  ): Promise<RegistryWrite> {
    // Two processes that start under one id get different epochs: the second writer meets the first one's. A whole row, so that nothing
    // of the former life, its warnings included, speaks for the new one.
    const put = {
      TableName: this.table,
      Item: {
        ...row,
        v: ROW_VERSION,
        coordinatorId,
        registrationId,
        epoch,
        sequence: 0,
        heartbeatAt: this.clock.nowIso(),
        ttl: this.expiryS(),
      },
      ...(observedEpoch === undefined
        ? { ConditionExpression: NO_ROW_YET }
        : { ConditionExpression: EPOCH_AS_OBSERVED, ExpressionAttributeValues: { ':observed': observedEpoch } }),
    };
    return (await translated('PutItem', () => conditionalPut(this.client, put))).kind;
  }

  async heartbeat(
    { coordinatorId, registrationId, epoch }: Registration,
    sequence: number,
    details: CoordinatorDetails,
  ): Promise<RegistryWrite> {
    // Registration: a process that slept through its own death does not bring the row back to life. Sequence: a first try that the network
    // held back does not undo a newer heartbeat.
    const { status, phase, activeTasks, activeBatches, loopLagMs, workLoopAt } = details;
    const work =
      workLoopAt === undefined ? { set: '', values: {} } : { set: ', workLoopAt = :workLoopAt', values: { ':workLoopAt': workLoopAt } };
    const update = {
      TableName: this.table,
      Key: { coordinatorId },
      UpdateExpression:
        'SET #sequence = :sequence, heartbeatAt = :now, #status = :status, phase = :phase, activeTasks = :activeTasks, ' +
        `activeBatches = :activeBatches, loopLagMs = :loopLagMs, #ttl = :ttl${work.set}`,
      ConditionExpression: [MY_REGISTRATION, MY_EPOCH, NEWER_THAN_WRITTEN].join(' AND '),
      ExpressionAttributeNames: { '#sequence': 'sequence', '#status': 'status', '#ttl': 'ttl' },
      ExpressionAttributeValues: {
        ':registrationId': registrationId,
        ':epoch': epoch,
        ':sequence': sequence,
        ':now': this.clock.nowIso(),
        ':status': status,
        ':phase': phase,
        ':activeTasks': activeTasks,
        ':activeBatches': activeBatches,
        ':loopLagMs': loopLagMs,
        ':ttl': this.expiryS(),
        ...work.values,
      },
    };
    return (await translated('UpdateItem', () => conditionalUpdate(this.client, update))).kind;
  }

  list(): Promise<CoordinatorEntity[]> {
    return translated('Scan', () => this.scan());
  }

  private async scan(): Promise<CoordinatorEntity[]> {
    const coordinators: CoordinatorEntity[] = [];
    const unreadable = new Set<string>();
    // A handful of rows, all of which are wanted: the one table that may be scanned.
    for await (const { Items = [] } of paginateScan({ client: this.client }, { TableName: this.table, ConsistentRead: true })) {
      for (const item of Items) {
        const coordinator = toCoordinatorIfKnown(item);
        if (coordinator === undefined) unreadable.add(String(item.coordinatorId));
        else coordinators.push(coordinator);
      }
    }
    for (const row of unreadable)
      if (!this.unreadable.has(row))
        this.logger.warn('A row of the fleet is of a newer version, or no coordinator: it is left alone', { row });
    this.unreadable = unreadable;
    return coordinators;
  }

  private expiryS(): number {
    return expiryS(this.clock, RETENTION_DAYS);
  }
}

async function translated<T>(operation: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw toDynamoDbError(operation, error);
  }
}
