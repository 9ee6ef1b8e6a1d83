/** Every AWS resource of the export worker, as plain data: the embedded AWS creates them from it, and the CDK stack declares them from it. */

export interface KeyAttribute {
  readonly name: string;
  readonly type: 'S' | 'N';
}

export interface IndexDefinition {
  readonly name: string;
  readonly partitionKey: KeyAttribute;
  readonly sortKey: KeyAttribute;
  readonly projection: 'KEYS_ONLY';
}

export interface TableDefinition {
  readonly name: string;
  readonly partitionKey: KeyAttribute;
  readonly sortKey?: KeyAttribute;
  readonly indexes: readonly IndexDefinition[];
  /** Holds epoch seconds: DynamoDB deletes the row some days later at most. */
  readonly ttlAttribute: string;
}

export interface QueueDefinition {
  readonly name: string;
  /** How long a received message is invisible to others. Short, for a poll aborted by its client can still swallow a message for that long. */
  readonly visibilityTimeoutS: number;
  readonly receiveWaitS: number;
  readonly retentionS: number;
  /** Where a message goes instead of being received for the (maxReceiveCount + 1)-th time. */
  readonly deadLetter: { readonly name: string; readonly maxReceiveCount: number; readonly retentionS: number };
}

export interface BucketDefinition {
  readonly name: string;
  /** Of a lifecycle rule for the whole bucket: multipart uploads so old belong to a process that was killed. */
  readonly abortUploadsAfterDays: number;
  /** Of a lifecycle rule for the lists that `submit` uploads: a job that is begun anew, by a redrive, reads its list again. */
  readonly submissions: { readonly prefix: string; readonly expireAfterDays: number };
}

export interface ResourceDefinitions {
  readonly tables: {
    readonly jobs: TableDefinition;
    readonly batches: TableDefinition;
    readonly reclaims: TableDefinition;
    readonly coordinators: TableDefinition;
  };
  readonly queues: { readonly jobs: QueueDefinition; readonly batches: QueueDefinition };
  readonly bucket: BucketDefinition;
  readonly stateMachine: string;
}

const DAY_S = 86_400;

/** @param prefix Begins every name, so that several deployments fit in one account: lower-case letters, digits and hyphens (bucket names allow no more). */
export function defineResources(prefix: string): ResourceDefinitions {
  return {
    tables: {
      jobs: {
        name: `${prefix}-ExportJobs`,
        partitionKey: { name: 'jobId', type: 'S' },
        indexes: [keysOnlyIndex('status-index', 'statusShard', 'createdAt')],
        ttlAttribute: 'ttl',
      },
      batches: {
        name: `${prefix}-ExportBatches`,
        partitionKey: { name: 'jobId', type: 'S' },
        sortKey: { name: 'batchNo', type: 'N' },
        indexes: [keysOnlyIndex('running-index', 'runningShard', 'lockedAt')],
        ttlAttribute: 'ttl',
      },
      reclaims: {
        name: `${prefix}-ExportReclaims`,
        partitionKey: { name: 'jobId', type: 'S' },
        sortKey: { name: 'reclaim', type: 'S' },
        indexes: [keysOnlyIndex('recent-index', 'reclaimedShard', 'reclaimedAt')],
        ttlAttribute: 'ttl',
      },
      coordinators: {
        name: `${prefix}-ExportCoordinators`,
        partitionKey: { name: 'coordinatorId', type: 'S' },
        indexes: [],
        ttlAttribute: 'ttl',
      },
    },
    queues: { jobs: queue(`${prefix}-jobs`, 5), batches: queue(`${prefix}-batches`, 20) },
    bucket: { name: `${prefix}-exports`, abortUploadsAfterDays: 7, submissions: { prefix: '_submissions/', expireAfterDays: 30 } },
    stateMachine: `${prefix}-export`,
  };
}

function keysOnlyIndex(name: string, partitionKey: string, sortKey: string): IndexDefinition {
  return { name, partitionKey: { name: partitionKey, type: 'S' }, sortKey: { name: sortKey, type: 'S' }, projection: 'KEYS_ONLY' };
}

/** Retention counts from the first send, also on the dead-letter queue: that one has to keep messages for longer. */
function queue(name: string, maxReceiveCount: number): QueueDefinition {
  return {
    name,
    visibilityTimeoutS: 60,
    receiveWaitS: 20,
    retentionS: 4 * DAY_S,
    deadLetter: { name: `${name}-dlq`, maxReceiveCount, retentionS: 14 * DAY_S },
  };
}
