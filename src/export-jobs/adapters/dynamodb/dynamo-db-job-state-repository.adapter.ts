import { GetCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { batchGet, conditionalPut, conditionalUpdate, type ConditionalUpdate } from '../../../platform/dynamodb/index.js';
import { expiryS, type AppLogger, type Clock } from '../../../shared/index.js';
import {
  type ActiveJobs,
  JobStateRepositoryPort,
  type Answered,
  type ConditionalWrite,
  type CountWrite,
  type JobFilter,
  type NewJob,
  type Reopening,
} from '../../application/job-state-repository.port.js';
import { encodeBatchCount } from '../../domain/counting.js';
import type { ActiveStatus, Callback, ExpansionPlan, ExportJobEntity, Finisher, JobOutcome } from '../../domain/export-job.entity.js';
import { endUpdate, renewUpdate, takeOverUpdate } from './finisher-updates.js';
import { NAMES, SAME_RUN } from './job-conditions.js';
import { ROW_VERSION, toJobEntity } from './job-row.schema.js';
import { JobStatusIndex } from './job-status-index.js';
import { scanJobs } from './job-table-scan.js';
import { reopenUpdate } from './reopen-update.js';
import { UnreadableRows } from './unreadable-rows.js';

// The parts of the conditions; each write below says which race its own closes.
const STATUS_IS_PROCESSING = '#status = :processing';
const STATUS_COUNTS = '#status IN (:processing, :downloading)';
const NO_PLAN_YET = 'attribute_not_exists(totalTasks)';
const BATCH_NOT_ENDED = '(attribute_not_exists(endedBatches) OR NOT contains(endedBatches, :batchNo))';
const TOKEN_AS_OBSERVED = 'taskToken = :token';
const COUNTERS_AS_OBSERVED = 'completedTasks = :completed AND failedTasks = :failed';
const PROGRESS_AS_OBSERVED = 'lastProgressAt = :progress';
const SENT_AS_OBSERVED = 'sentBatches = :observed';
const NOT_COUNTED_YET = 'attribute_exists(uncounted)';
const ANSWERER_UNKNOWN = 'callback IN (:gone, :unknown)';

const COUNTING_VALUES = { ':processing': 'PROCESSING', ':downloading': 'DOWNLOADING' };

export interface JobTableSettings {
  table: string;
  statusShards: number;
  retentionDays: number;
}

export class DynamoDbJobStateRepositoryAdapter extends JobStateRepositoryPort {
  private readonly index: JobStatusIndex;
  private readonly unreadable: UnreadableRows;

  constructor(
    private readonly client: DynamoDBDocumentClient,
    private readonly settings: JobTableSettings,
    private readonly clock: Clock,
    logger: AppLogger,
  ) {
    super();
    this.index = new JobStatusIndex(client, settings);
    this.unreadable = new UnreadableRows(clock, logger);
  }

  async createIfAbsent(job: NewJob): Promise<{ kind: 'created' | 'exists'; job: ExportJobEntity }> {
    const { metadata, ...facts } = job;
    const item = {
      ...facts,
      ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
      v: ROW_VERSION,
      status: 'PROCESSING',
      statusShard: this.index.shardOf('PROCESSING', job.jobId),
      run: 1,
      attempt: job.taskToken === undefined ? 0 : 1,
      completedTasks: 0,
      failedTasks: 0,
      bytesProcessed: 0,
      batchProgress: {},
      updatedAt: job.createdAt,
      lastProgressAt: job.createdAt,
    };
    // Two deliveries of one message: the second finds the row of the first.
    const written = await conditionalPut(this.client, {
      TableName: this.settings.table,
      Item: item,
      ConditionExpression: 'attribute_not_exists(jobId)',
    });
    if (written.kind === 'written') return { kind: 'created', job: toJobEntity(item) };
    const existing = await this.find(job.jobId);
    return existing === undefined ? this.createIfAbsent(job) : { kind: 'exists', job: existing };
  }

  async find(jobId: string): Promise<ExportJobEntity | undefined> {
    const { Item } = await this.client.send(new GetCommand({ TableName: this.settings.table, Key: { jobId }, ConsistentRead: true }));
    return Item === undefined ? undefined : toJobEntity(Item);
  }

  async findMany(jobIds: readonly string[]): Promise<ExportJobEntity[]> {
    const keys = [...new Set(jobIds)].map((jobId) => ({ jobId }));
    const items = await batchGet(this.client, this.settings.table, keys, this.clock);
    return items.flatMap((item) => this.readable(item));
  }

  listActive(statuses: readonly ActiveStatus[]): AsyncIterable<ActiveJobs> {
    return this.index.pages(statuses);
  }

  async recordPlan(jobId: string, run: number, plan: ExpansionPlan): Promise<ConditionalWrite> {
    // Two expanders with different batch sizes must not mix their rows and totals: totals and prefix come in one write.
    return this.update(jobId, {
      UpdateExpression:
        'SET totalTasks = :total, batchCount = :batches, batchSize = :size, segmentPrefix = :prefix, sentBatches = :sent, ' +
        `${plan.repeatedTasks === undefined ? '' : 'repeatedTasks = :repeated, '}updatedAt = :now, lastProgressAt = :now`,
      ConditionExpression: [NO_PLAN_YET, STATUS_IS_PROCESSING, SAME_RUN].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ':total': plan.totalTasks,
        ':batches': plan.batchCount,
        ':size': plan.batchSize,
        ':prefix': plan.segmentPrefix,
        ...(plan.repeatedTasks === undefined ? {} : { ':repeated': plan.repeatedTasks }),
        ':sent': 0,
        ':processing': 'PROCESSING',
        ':run': run,
        ':now': this.clock.nowIso(),
      },
    });
  }

  async touchProgress(jobId: string, run: number): Promise<ConditionalWrite> {
    return this.update(jobId, {
      UpdateExpression: 'SET lastProgressAt = :now, updatedAt = :now',
      ConditionExpression: [STATUS_IS_PROCESSING, SAME_RUN].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: { ':processing': 'PROCESSING', ':run': run, ':now': this.clock.nowIso() },
    });
  }

  async startDownloading(jobId: string, run: number, sentBatches: number): Promise<ConditionalWrite> {
    // A late expander must not pull a job back that has been answered or reopened since.
    return this.update(jobId, {
      UpdateExpression: 'SET #status = :downloading, statusShard = :shard, sentBatches = :sent, updatedAt = :now, lastProgressAt = :now',
      ConditionExpression: [STATUS_IS_PROCESSING, SAME_RUN].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ...COUNTING_VALUES,
        ':run': run,
        ':shard': this.index.shardOf('DOWNLOADING', jobId),
        ':sent': sentBatches,
        ':now': this.clock.nowIso(),
      },
    });
  }

  async recordSent(observed: ExportJobEntity, sentBatches: number): Promise<ConditionalWrite> {
    // Two that top a job up at once must not write over each other: the lower number would hide batches that are due. A late one must
    // not write into a job that was reopened since, whose expander begins at 0.
    return this.update(observed.jobId, {
      UpdateExpression: 'SET sentBatches = :sent, updatedAt = :now',
      ConditionExpression: ['#status = :downloading', SAME_RUN, SENT_AS_OBSERVED].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ':downloading': 'DOWNLOADING',
        ':run': observed.run,
        ':observed': observed.sentBatches,
        ':sent': sentBatches,
        ':now': this.clock.nowIso(),
      },
    });
  }

  async count(write: CountWrite): Promise<ConditionalWrite> {
    // The condition tests what the update changes, so the ADD happens once: see domain/counting.ts.
    const recordedIsOld = write.old === undefined ? 'attribute_not_exists(batchProgress.#n)' : 'batchProgress.#n = :old';
    const record = write.ended
      ? { set: '', remove: 'REMOVE batchProgress.#n', add: ', endedBatches :ended' }
      : { set: 'batchProgress.#n = :next, ', remove: '', add: '' };
    return this.update(write.jobId, {
      UpdateExpression:
        `SET ${record.set}updatedAt = :now, lastProgressAt = :now ${record.remove} ` +
        `ADD completedTasks :completed, failedTasks :failed, bytesProcessed :bytes${record.add}`,
      ConditionExpression: [STATUS_COUNTS, SAME_RUN, BATCH_NOT_ENDED, recordedIsOld].join(' AND '),
      ExpressionAttributeNames: { ...NAMES, '#n': String(write.batchNo) },
      ExpressionAttributeValues: {
        ...COUNTING_VALUES,
        ':run': write.run,
        ':batchNo': write.batchNo,
        ':completed': write.delta.completed,
        ':failed': write.delta.failed,
        ':bytes': write.delta.bytes,
        ':now': this.clock.nowIso(),
        ...(write.old === undefined ? {} : { ':old': encodeBatchCount(write.old) }),
        ...(write.ended ? { ':ended': new Set([write.batchNo]) } : { ':next': encodeBatchCount(write.next) }),
      },
    });
  }

  async replaceToken(observed: ExportJobEntity, taskToken: string): Promise<ConditionalWrite> {
    // Another attempt's live token may have come in since the look: it must not be overwritten.
    const tokenAsObserved = observed.taskToken === undefined ? 'attribute_not_exists(taskToken)' : TOKEN_AS_OBSERVED;
    return this.update(observed.jobId, {
      UpdateExpression: 'SET taskToken = :new, attempt = :attempt, updatedAt = :now REMOVE lastHeartbeatAt',
      ConditionExpression: [STATUS_COUNTS, '#status = :status', SAME_RUN, tokenAsObserved].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ...COUNTING_VALUES,
        ':status': observed.status,
        ':run': observed.run,
        ':new': taskToken,
        ':attempt': observed.attempt + 1,
        ':now': this.clock.nowIso(),
        ...(observed.taskToken === undefined ? {} : { ':token': observed.taskToken }),
      },
    });
  }

  async recordHeartbeat(jobId: string, taskToken: string, at: string): Promise<ConditionalWrite> {
    return this.update(jobId, {
      UpdateExpression: 'SET lastHeartbeatAt = :at',
      ConditionExpression: TOKEN_AS_OBSERVED,
      ExpressionAttributeValues: { ':token': taskToken, ':at': at },
    });
  }

  async beginFinalizing(observed: ExportJobEntity, outcome: JobOutcome): Promise<ConditionalWrite> {
    // A count between the look and this write could change the outcome: the counters are part of the condition. So is the last
    // progress: a job that moved since it was found stalled is not.
    return this.update(observed.jobId, {
      UpdateExpression: 'SET #status = :finalizing, statusShard = :shard, outcome = :outcome, finisher = :finisher, updatedAt = :now',
      ConditionExpression: [STATUS_COUNTS, '#status = :status', SAME_RUN, COUNTERS_AS_OBSERVED, PROGRESS_AS_OBSERVED].join(' AND '),
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ...COUNTING_VALUES,
        ':status': observed.status,
        ':run': observed.run,
        ':completed': observed.completedTasks,
        ':failed': observed.failedTasks,
        ':progress': observed.lastProgressAt,
        ':finalizing': 'FINALIZING',
        ':shard': this.index.shardOf('FINALIZING', observed.jobId),
        ':outcome': outcome,
        ':finisher': { id: outcome.decidedBy, seq: 0 } satisfies Finisher,
        ':now': this.clock.nowIso(),
      },
    });
  }

  async takeOverFinish(observed: ExportJobEntity, finisherId: string): Promise<ConditionalWrite> {
    return this.update(observed.jobId, takeOverUpdate(observed, finisherId, this.clock.nowIso()));
  }

  async renewFinish(jobId: string, run: number, finisher: Finisher): Promise<ConditionalWrite> {
    return this.update(jobId, renewUpdate(run, finisher, this.clock.nowIso()));
  }

  async end(jobId: string, run: number, outcome: JobOutcome, answered: Answered): Promise<ConditionalWrite> {
    return this.update(jobId, endUpdate(run, outcome, answered, { now: this.clock.nowIso(), ttlS: this.expiryS() }));
  }

  async recordAnswer(jobId: string, run: number, callback: 'success' | 'failure'): Promise<ConditionalWrite> {
    // A finisher that came second has ended the job by what the token told him, gone; only an ended job has a `callback`.
    return this.update(jobId, {
      UpdateExpression: 'SET callback = :callback, updatedAt = :now',
      ConditionExpression: [SAME_RUN, ANSWERER_UNKNOWN].join(' AND '),
      ExpressionAttributeNames: { '#run': 'run' },
      ExpressionAttributeValues: {
        ':run': run,
        ':gone': 'gone' satisfies Callback,
        ':unknown': 'unknown' satisfies Callback,
        ':callback': callback,
        ':now': this.clock.nowIso(),
      },
    });
  }

  async claimUncounted(jobId: string, run: number): Promise<ConditionalWrite> {
    // Two coordinators that disagree on whose the job is would both count it.
    return this.update(jobId, {
      UpdateExpression: 'REMOVE uncounted SET updatedAt = :now',
      ConditionExpression: [SAME_RUN, NOT_COUNTED_YET].join(' AND '),
      ExpressionAttributeNames: { '#run': 'run' },
      ExpressionAttributeValues: { ':run': run, ':now': this.clock.nowIso() },
    });
  }

  async cancelDead(jobId: string, run: number, taskToken: string): Promise<ConditionalWrite> {
    // Never out of FINALIZING, where our own answer closes the token; never a job that has got a live token since.
    const now = this.clock.nowIso();
    return this.update(jobId, {
      UpdateExpression:
        'SET #status = :cancelled, completedAt = :now, callback = :gone, #error = :error, updatedAt = :now, #ttl = :ttl REMOVE taskToken, statusShard',
      ConditionExpression: [STATUS_COUNTS, SAME_RUN, TOKEN_AS_OBSERVED].join(' AND '),
      ExpressionAttributeNames: { ...NAMES, '#ttl': 'ttl', '#error': 'error' },
      ExpressionAttributeValues: {
        ...COUNTING_VALUES,
        ':run': run,
        ':token': taskToken,
        ':cancelled': 'CANCELLED',
        ':gone': 'gone' satisfies Callback,
        ':error': { code: 'ExportCancelled', message: 'The execution is gone: stopped, timed out, or answered by someone else.' },
        ':now': now,
        ':ttl': this.expiryS(),
      },
    });
  }

  async reopen(observed: ExportJobEntity, reopening: Reopening): Promise<ConditionalWrite> {
    const { jobId } = observed;
    const at = { statusShard: this.index.shardOf('PROCESSING', jobId), now: this.clock.nowIso() };
    return this.update(jobId, reopenUpdate(observed, reopening, at));
  }

  async list(statuses: readonly ActiveStatus[], limit: number): Promise<ExportJobEntity[]> {
    const jobs = await this.findMany(await this.index.newest(statuses, limit));
    return jobs.sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, limit);
  }

  async *scan(filter: JobFilter): AsyncIterable<ExportJobEntity[]> {
    for await (const items of scanJobs(this.client, this.settings.table, filter)) yield items.flatMap((item) => this.readable(item));
  }

  private async update(jobId: string, input: Omit<ConditionalUpdate, 'TableName' | 'Key'>): Promise<ConditionalWrite> {
    const update = { TableName: this.settings.table, Key: { jobId }, ...input } as ConditionalUpdate;
    const outcome = await conditionalUpdate(this.client, update);
    return outcome.kind === 'written' ? { kind: 'written', job: toJobEntity(outcome.item) } : outcome;
  }

  /** One row that a newer version or a hand wrote must not stop the heartbeats of all the others. */
  private readable(item: Record<string, unknown>): ExportJobEntity[] {
    try {
      return [toJobEntity(item)];
    } catch (error) {
      this.unreadable.report(item, error);
      return [];
    }
  }

  private expiryS(): number {
    return expiryS(this.clock, this.settings.retentionDays);
  }
}
