import { GetCommand, paginateQuery, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { conditionalPut, conditionalUpdate, type ConditionalUpdate } from '../../platform/dynamodb/index.js';
import { expiryS, hash32, type Clock } from '../../shared/index.js';
import { BatchRepositoryPort, type BatchWrite, type NewBatch } from '../application/batch-repository.port.js';
import type { BatchEntity, BatchSummary, Lease, ResultFile } from '../domain/batch.entity.js';
import { Checkpoint, type CheckpointState } from '../domain/checkpoint.js';
import { ROW_VERSION, toBatchEntity, toBatchSummary } from './batch-row.schema.js';

/** Partitions of `running-index`. */
const RUNNING_SHARDS = 4;

// The parts of the conditions; each write below says which race its own closes.
const SAME_RUN = '#run = :run';
const MY_LOCK = 'lockToken = :lockToken';
const IS_RUNNING = '#status = :running';
const NEWER_THAN_WRITTEN = 'seq < :seq';

const NAMES = { '#status': 'status', '#run': 'run' };
/** A thousand rows with their bitmaps and failures would not fit the memory of a finisher. */
const SUMMARY_ATTRIBUTES = 'v, batchNo, #run, #status, segmentKey, failed, resultKeys';
const TTL_NAME = { '#ttl': 'ttl' };
/** What only a running batch has. `heartbeatAt` stays as evidence, `lockToken` for ever. */
const LEASE_FIELDS = 'lockedBy, claimId, lockedAt, runningShard';

export class DynamoDbBatchRepositoryAdapter extends BatchRepositoryPort {
  constructor(
    private readonly client: DynamoDBDocumentClient,
    private readonly settings: { table: string; retentionDays: number },
    private readonly clock: Clock,
  ) {
    super();
  }

  async createIfAbsent(batch: NewBatch): Promise<'created' | 'exists'> {
    const item = {
      ...batch,
      ...Checkpoint.empty(batch.totalTasks),
      failures: {},
      v: ROW_VERSION,
      status: 'queued',
      seq: 0,
      lockToken: 0,
      attempts: 0,
      enqueuedAt: this.clock.nowIso(),
    };
    // A second expander, or a retry, finds the row and leaves it: it may be running already.
    const written = await conditionalPut(this.client, {
      TableName: this.settings.table,
      Item: item,
      ConditionExpression: 'attribute_not_exists(jobId)',
    });
    return written.kind === 'written' ? 'created' : 'exists';
  }

  async find(jobId: string, batchNo: number): Promise<BatchEntity | undefined> {
    const { Item } = await this.client.send(
      new GetCommand({ TableName: this.settings.table, Key: { jobId, batchNo }, ConsistentRead: true }),
    );
    return Item === undefined ? undefined : toBatchEntity(Item);
  }

  async list(jobId: string): Promise<BatchSummary[]> {
    const pages = paginateQuery(
      { client: this.client },
      {
        TableName: this.settings.table,
        KeyConditionExpression: 'jobId = :jobId',
        ExpressionAttributeValues: { ':jobId': jobId },
        ProjectionExpression: SUMMARY_ATTRIBUTES,
        ExpressionAttributeNames: NAMES,
        ConsistentRead: true,
      },
    );
    const batches: BatchSummary[] = [];
    for await (const { Items = [] } of pages) batches.push(...Items.map(toBatchSummary).filter((batch) => batch !== undefined));
    return batches;
  }

  async claim(batch: { jobId: string; batchNo: number; run: number }, claim: { claimId: string; lockedBy: string }): Promise<BatchWrite> {
    // A message of a former run must not claim a row that was moved to this one: its checkpoints would all be refused.
    return this.update(batch, {
      UpdateExpression:
        'SET #status = :running, lockedBy = :lockedBy, claimId = :claimId, lockToken = lockToken + :one, seq = :zero, ' +
        'lockedAt = :now, heartbeatAt = :now, progressedAt = :now, runningShard = :shard',
      ConditionExpression: ['#status = :queued', SAME_RUN].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ':running': 'running',
        ':queued': 'queued',
        ':run': batch.run,
        ':lockedBy': claim.lockedBy,
        ':claimId': claim.claimId,
        ':one': 1,
        ':zero': 0,
        ':now': this.clock.nowIso(),
        ':shard': `running#${hash32(`${batch.jobId}#${batch.batchNo}`) % RUNNING_SHARDS}`,
      },
    });
  }

  async checkpoint(lease: Lease, seq: number, state: CheckpointState, progressed: boolean): Promise<BatchWrite> {
    return this.updateUnderLease(lease, seq, state, { set: progressed ? ', progressedAt = :now' : '' });
  }

  async end(
    lease: Lease,
    seq: number,
    state: CheckpointState,
    resultKeys: { succeeded: ResultFile; failed: ResultFile },
  ): Promise<BatchWrite> {
    return this.updateUnderLease(lease, seq, state, {
      set: ', progressedAt = :now, #status = :succeeded, resultKeys = :resultKeys, #ttl = :ttl',
      remove: ` REMOVE ${LEASE_FIELDS}`,
      names: TTL_NAME,
      values: { ':succeeded': 'succeeded', ':resultKeys': resultKeys, ':ttl': this.expiryS() },
    });
  }

  async release(lease: Lease): Promise<BatchWrite> {
    return this.update(lease, {
      UpdateExpression: `SET #status = :queued, enqueuedAt = :now REMOVE ${LEASE_FIELDS}`,
      ConditionExpression: [MY_LOCK, SAME_RUN, IS_RUNNING].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ':queued': 'queued',
        ':running': 'running',
        ':lockToken': lease.lockToken,
        ':run': lease.run,
        ':now': this.clock.nowIso(),
      },
    });
  }

  async cancel(batch: { jobId: string; batchNo: number }, run: number): Promise<BatchWrite> {
    // A canceller that was paused while the job was reopened must not take the new run's batches down.
    return this.update(batch, {
      UpdateExpression: `SET #status = :cancelled, #ttl = :ttl REMOVE ${LEASE_FIELDS}`,
      ConditionExpression: '#run <= :run AND #status IN (:queued, :running)',
      ExpressionAttributeNames: { ...NAMES, ...TTL_NAME },
      ExpressionAttributeValues: {
        ':cancelled': 'cancelled',
        ':queued': 'queued',
        ':running': 'running',
        ':run': run,
        ':ttl': this.expiryS(),
      },
    });
  }

  /**
   * lockToken: a holder that was paused and taken over from writes nothing. seq: a first try that the network held back
   * does not undo a newer checkpoint. run: guards against a move that forgets to raise lockToken.
   */
  private updateUnderLease(
    lease: Lease,
    seq: number,
    state: CheckpointState,
    more: { set: string; remove?: string; names?: Record<string, string>; values?: Record<string, unknown> },
  ): Promise<BatchWrite> {
    return this.update(lease, {
      UpdateExpression:
        'SET done = :done, failures = :failures, completed = :completed, failed = :failed, #bytes = :bytes, seq = :seq, heartbeatAt = :now' +
        `${more.set}${more.remove ?? ''}`,
      ConditionExpression: [MY_LOCK, SAME_RUN, IS_RUNNING, NEWER_THAN_WRITTEN].join(' AND '),
      ExpressionAttributeNames: { ...NAMES, '#bytes': 'bytes', ...more.names },
      ExpressionAttributeValues: {
        ':done': state.done,
        ':failures': Object.fromEntries(state.failures),
        ':completed': state.completed,
        ':failed': state.failed,
        ':bytes': state.bytes,
        ':seq': seq,
        ':lockToken': lease.lockToken,
        ':run': lease.run,
        ':running': 'running',
        ':now': this.clock.nowIso(),
        ...more.values,
      },
    });
  }

  private expiryS(): number {
    return expiryS(this.clock, this.settings.retentionDays);
  }

  private async update(
    { jobId, batchNo }: { jobId: string; batchNo: number },
    input: Omit<ConditionalUpdate, 'TableName' | 'Key'>,
  ): Promise<BatchWrite> {
    const update = { TableName: this.settings.table, Key: { jobId, batchNo }, ...input } as ConditionalUpdate;
    const outcome = await conditionalUpdate(this.client, update);
    return outcome.kind === 'written' ? { kind: 'written', batch: toBatchEntity(outcome.item) } : outcome;
  }
}
