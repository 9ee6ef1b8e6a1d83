import { GetCommand, paginateQuery, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { batchGet, conditionalPut, conditionalUpdate, type ConditionalUpdate } from '../../platform/dynamodb/index.js';
import { expiryS, type Clock } from '../../shared/index.js';
import {
  BatchRepositoryPort,
  type BatchKey,
  type BatchWrite,
  type MovableBatch,
  type NewBatch,
  type Reclaim,
} from '../application/batch-repository.port.js';
import type { BatchEntity, BatchSummary, Lease, ResultFile } from '../domain/batch.entity.js';
import { Checkpoint, type CheckpointState } from '../domain/checkpoint.js';
import type { InHand } from '../domain/work-in-hand.js';
import { ROW_VERSION, toBatchEntity, toBatchEntityIfKnown, toBatchSummary } from './batch-row.schema.js';
import { moveUpdate } from './move-update.js';
import { RunningIndex } from './running-index.js';

// The parts of the conditions; each write below says which race its own closes.
const SAME_RUN = '#run = :run';
const MY_LOCK = 'lockToken = :lockToken';
const IS_RUNNING = '#status = :running';
const NEWER_THAN_WRITTEN = 'seq < :seq';

const NAMES = { '#status': 'status', '#run': 'run' };
/** A thousand rows with their bitmaps and failures would not fit the memory of a finisher. */
const SUMMARY_ATTRIBUTES =
  'v, batchNo, #bytes, bytesInHand, completed, enqueuedAt, failed, heartbeatAt, lockToken, lockedAt, lockedBy, pausedHost, pausedMs, ' +
  'progressedAt, resultKeys, #run, segmentKey, seq, #status, totalTasks';
const TTL_NAME = { '#ttl': 'ttl' };
const BYTES_NAME = { '#bytes': 'bytes' };
/** A batch ends before its job; its row must outlive the job, or no finisher would find all of them. */
const LONGEST_JOB_DAYS = 7;
/** What only a running batch has. `heartbeatAt` stays as evidence, `lockToken` for ever. */
const LEASE_FIELDS = 'lockedBy, claimId, lockedAt, runningShard, bytesInHand, pausedMs, pausedHost';

export class DynamoDbBatchRepositoryAdapter extends BatchRepositoryPort {
  private readonly running: RunningIndex;

  constructor(
    private readonly client: DynamoDBDocumentClient,
    private readonly settings: { table: string; retentionDays: number },
    private readonly clock: Clock,
  ) {
    super();
    this.running = new RunningIndex(client, settings.table);
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
        ExpressionAttributeNames: { ...NAMES, ...BYTES_NAME },
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
        'lockedAt = :now, heartbeatAt = :now, progressedAt = :now, runningShard = :shard ' +
        // What a reclaimer of a former version has left of the holder before.
        'REMOVE bytesInHand, pausedMs, pausedHost',
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
        ':shard': this.running.shardOf(batch),
      },
    });
  }

  async checkpoint(
    lease: Lease,
    seq: number,
    state: CheckpointState,
    progressed: boolean,
    { bytesInHand, pausedMs, pausedHost }: InHand,
  ): Promise<BatchWrite> {
    const waits = pausedHost !== undefined;
    return this.updateUnderLease(lease, seq, state, {
      set: `, bytesInHand = :inHand, pausedMs = :pausedMs${waits ? ', pausedHost = :pausedHost' : ''}${progressed ? ', progressedAt = :now' : ''}`,
      remove: waits ? '' : ' REMOVE pausedHost',
      values: { ':inHand': bytesInHand, ':pausedMs': pausedMs, ...(waits && { ':pausedHost': pausedHost }) },
    });
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

  async markSent(observed: BatchKey & { run: number; enqueuedAt: string }, enqueuedAt: string): Promise<BatchWrite> {
    // Of several who find the message lost, or find it lost turn after turn, one sends it.
    return this.update(observed, {
      UpdateExpression: 'SET enqueuedAt = :new',
      ConditionExpression: ['#status = :queued', SAME_RUN, 'enqueuedAt = :old'].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: { ':queued': 'queued', ':run': observed.run, ':old': observed.enqueuedAt, ':new': enqueuedAt },
    });
  }

  async move(observed: MovableBatch, run: number): Promise<BatchWrite> {
    const at = { now: this.clock.nowIso(), expiryS: this.expiryS(), leaseFields: LEASE_FIELDS };
    return this.update(observed, moveUpdate(observed, run, at));
  }

  listRunning(): AsyncIterable<BatchKey[]> {
    return this.running.pages();
  }

  async findMany(keys: readonly BatchKey[]): Promise<BatchEntity[]> {
    const items = await batchGet(
      this.client,
      this.settings.table,
      keys.map(({ jobId, batchNo }) => ({ jobId, batchNo })),
      this.clock,
    );
    return items.map(toBatchEntityIfKnown).filter((batch) => batch !== undefined);
  }

  async reclaim(observed: BatchEntity, { trialSize, failures, ...reclaim }: Reclaim): Promise<BatchWrite> {
    return this.updateAsObserved(observed, {
      set:
        'SET #status = :queued, attempts = :newAttempts, reclaimId = :reclaimId, reclaimMark = :mark, lastError = :lastError, ' +
        `enqueuedAt = :now${trialSize === undefined ? '' : ', trialSize = :trialSize'}` +
        (failures === undefined ? '' : ', failures = :failures, failed = :failed'),
      values: {
        ':queued': 'queued',
        ':newAttempts': reclaim.attempts,
        ':reclaimId': reclaim.reclaimId,
        ':mark': observed.completed + (failures?.size ?? observed.failed),
        ...(trialSize === undefined ? {} : { ':trialSize': trialSize }),
        ...(failures === undefined ? {} : { ':failures': Object.fromEntries(failures), ':failed': failures.size }),
        ':lastError': reclaim.lastError,
        ':now': this.clock.nowIso(),
      },
    });
  }

  async giveUp(
    observed: BatchEntity,
    end: { reclaimId: string; state: CheckpointState; resultKeys: { succeeded: ResultFile; failed: ResultFile }; lastError: string },
  ): Promise<BatchWrite> {
    return this.updateAsObserved(observed, {
      set:
        'SET #status = :dead, failures = :failures, failed = :failed, resultKeys = :resultKeys, reclaimId = :reclaimId, ' +
        'lastError = :lastError, #ttl = :ttl',
      names: TTL_NAME,
      values: {
        ':dead': 'dead',
        ':failures': Object.fromEntries(end.state.failures),
        ':failed': end.state.failed,
        ':resultKeys': end.resultKeys,
        ':reclaimId': end.reclaimId,
        ':lastError': end.lastError,
        ':ttl': this.expiryS(),
      },
    });
  }

  /** Equal means nobody moved: a late heartbeat, an end, or another reclaimer wins by itself, whatever was decided from the look. */
  private updateAsObserved(
    observed: BatchEntity,
    write: { set: string; names?: Record<string, string>; values: Record<string, unknown> },
  ): Promise<BatchWrite> {
    const heartbeatAsObserved = observed.heartbeatAt === undefined ? 'attribute_not_exists(heartbeatAt)' : 'heartbeatAt = :heartbeatAt';
    return this.update(observed, {
      UpdateExpression: `${write.set} REMOVE ${LEASE_FIELDS}`,
      ConditionExpression: [IS_RUNNING, SAME_RUN, MY_LOCK, 'attempts = :attempts', 'lockedAt = :lockedAt', heartbeatAsObserved].join(
        ' AND ',
      ),
      ExpressionAttributeNames: { ...NAMES, ...write.names },
      ExpressionAttributeValues: {
        ':running': 'running',
        ':run': observed.run,
        ':lockToken': observed.lockToken,
        ':attempts': observed.attempts,
        ':lockedAt': observed.lockedAt,
        ...(observed.heartbeatAt === undefined ? {} : { ':heartbeatAt': observed.heartbeatAt }),
        ...write.values,
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
      ExpressionAttributeNames: { ...NAMES, ...BYTES_NAME, ...more.names },
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
    return expiryS(this.clock, this.settings.retentionDays + LONGEST_JOB_DAYS);
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
