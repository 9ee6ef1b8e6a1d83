import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { relationProblems, REQUIRED_SETTINGS, validationSchema, type Environment, type NeededSetting } from './validation.schema.js';

/** All settings, typed and frozen; durations in the unit their name says. A feature is given its own slice. */
export interface Configuration {
  readonly logLevel: string;
  readonly http: { readonly host: string; readonly port: number };
  readonly shutdownTimeoutMs: number;
  /** This process, as the rest of the fleet sees it. */
  readonly coordinatorId: string;
  readonly aws: {
    readonly region: string;
    /** An S3-compatible store rather than S3: path-style addresses. */
    readonly s3CustomEndpoint: boolean;
    readonly s3Checksums: 'full-object' | 'none';
  };
  readonly queues: { readonly jobsUrl: string; readonly batchesUrl: string; readonly deadLetterUrl: string };
  readonly tables: {
    readonly jobs: string;
    readonly batches: string;
    readonly reclaims: string;
    readonly coordinators: string;
    readonly statusShards: number;
  };
  readonly exports: {
    readonly bucket: string;
    readonly manifestUriTemplate?: string;
    readonly stateMachineArn?: string;
    readonly retentionDays: number;
    readonly batchSize: number;
    readonly intakeConcurrency: number;
    readonly maxOpenLists: number;
    /** In the temporary folder, of all open lists. */
    readonly maxSpoolBytes: number;
  };
  readonly access: {
    readonly destinationBuckets: readonly string[];
    readonly sourceBuckets: readonly string[];
    readonly sourceHosts: readonly string[];
    readonly sourceCidrs: readonly string[];
    /** Empty: any port. */
    readonly sourcePorts: readonly number[];
  };
  readonly visibility: { readonly intervalMs: number; readonly timeoutS?: number };
  readonly stepFunctions: {
    readonly heartbeatEnabled: boolean;
    readonly heartbeatIntervalMs: number;
    readonly maxBeatsPerSecond: number;
    readonly stateMachineHeartbeatS?: number;
  };
  readonly batches: {
    readonly heartbeatIntervalMs: number;
    /** Of one job. */
    readonly maxInHand: number;
    /** Of all jobs; those that only wait for a host do not count. */
    readonly maxInHandTotal: number;
    readonly ttlMs: Readonly<Record<string, number>>;
    readonly taskMaxAttempts: number;
  };
  readonly reclaim: { readonly enabled: boolean; readonly intervalMs: number; readonly maxAttempts: number };
  readonly repair: { readonly repairAfterMs: number; readonly stallTimeoutMs: number };
  readonly fleet: { readonly heartbeatIntervalMs: number };
  readonly pool: {
    readonly size: number;
    readonly tasksPerWorker: number;
    readonly memoryMb: number;
    readonly uploadConcurrency: number;
    readonly maxConnectionsPerHost: number;
    readonly taskTimeoutMs: number;
    /** 0: a source may be as slow as it likes. */
    readonly minBytesPerSecond: number;
  };
}

/** Every problem of the environment at once, one a line. The process ends with exit code 78 (EX_CONFIG). */
export class ConfigurationError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration cannot be used:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigurationError';
    this.problems = problems;
  }
}

export const EXIT_CONFIGURATION = 78;

/**
 * @param needed the settings that must be there; default: all that the service requires
 * @throws ConfigurationError with every problem found, relations between settings included
 */
export function loadConfiguration(
  source: Readonly<Record<string, string | undefined>> = process.env,
  needed: readonly NeededSetting[] = REQUIRED_SETTINGS,
): Configuration {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined && value !== ''));
  const { error, value } = validationSchema(needed).validate(given, { abortEarly: false });
  const problems = [...(error?.details.map((detail) => detail.message) ?? []), ...relationProblems(value)];
  if (problems.length > 0) throw new ConfigurationError(problems);
  return deepFreeze(toConfiguration(value));
}

function toConfiguration(env: Environment): Configuration {
  const customEndpoint = env.AWS_ENDPOINT_URL_S3 !== undefined || env.AWS_ENDPOINT_URL !== undefined;
  return {
    logLevel: env.LOG_LEVEL,
    http: { host: env.HOST, port: env.PORT },
    shutdownTimeoutMs: env.SHUTDOWN_TIMEOUT_MS,
    coordinatorId: env.COORDINATOR_ID ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`,
    aws: {
      region: env.AWS_REGION,
      s3CustomEndpoint: customEndpoint,
      s3Checksums: env.S3_CHECKSUMS === 'auto' ? (customEndpoint ? 'none' : 'full-object') : env.S3_CHECKSUMS,
    },
    queues: { jobsUrl: env.SQS_JOBS_QUEUE_URL, batchesUrl: env.SQS_BATCHES_QUEUE_URL, deadLetterUrl: env.SQS_DLQ_URL },
    tables: {
      jobs: env.DYNAMODB_JOBS_TABLE,
      batches: env.DYNAMODB_BATCHES_TABLE,
      reclaims: env.DYNAMODB_RECLAIMS_TABLE,
      coordinators: env.DYNAMODB_COORDINATORS_TABLE,
      statusShards: env.STATUS_SHARDS,
    },
    exports: {
      bucket: env.EXPORT_BUCKET,
      ...optional('manifestUriTemplate', env.EXPORT_MANIFEST_URI_TEMPLATE),
      ...optional('stateMachineArn', env.STATE_MACHINE_ARN),
      retentionDays: env.JOB_RETENTION_DAYS,
      batchSize: env.BATCH_SIZE,
      intakeConcurrency: env.INTAKE_CONCURRENCY,
      maxOpenLists: env.MAX_OPEN_LISTS,
      maxSpoolBytes: env.MAX_SPOOL_MB * 1024 * 1024,
    },
    access: {
      destinationBuckets: env.ALLOWED_DESTINATION_BUCKETS,
      sourceBuckets: env.ALLOWED_SOURCE_BUCKETS,
      sourceHosts: env.ALLOWED_SOURCE_HOSTS,
      sourceCidrs: env.ALLOWED_SOURCE_CIDRS,
      sourcePorts: env.ALLOWED_SOURCE_PORTS,
    },
    visibility: { intervalMs: env.SQS_HEARTBEAT_INTERVAL_MS, ...optional('timeoutS', env.SQS_VISIBILITY_TIMEOUT_S) },
    stepFunctions: {
      heartbeatEnabled: env.STEP_FUNCTIONS_HEARTBEAT_ENABLED,
      heartbeatIntervalMs: env.STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS,
      maxBeatsPerSecond: env.STEP_FUNCTIONS_MAX_BEATS_PER_SECOND,
      ...optional('stateMachineHeartbeatS', env.STATE_MACHINE_HEARTBEAT_S),
    },
    batches: {
      heartbeatIntervalMs: env.BATCH_HEARTBEAT_INTERVAL_MS,
      maxInHand: env.MAX_BATCHES_IN_HAND,
      maxInHandTotal: env.MAX_BATCHES_IN_HAND_TOTAL,
      ttlMs: env.RECLAIM_TTLS,
      taskMaxAttempts: env.TASK_MAX_ATTEMPTS,
    },
    reclaim: { enabled: env.RECLAIM_ENABLED, intervalMs: env.RECLAIM_INTERVAL_MS, maxAttempts: env.RECLAIM_MAX_ATTEMPTS },
    repair: { repairAfterMs: env.JOB_REPAIR_AFTER_MS, stallTimeoutMs: env.JOB_STALL_TIMEOUT_MS },
    fleet: { heartbeatIntervalMs: env.COORDINATOR_HEARTBEAT_INTERVAL_MS },
    pool: {
      size: env.WORKER_POOL_SIZE,
      tasksPerWorker: env.TASKS_PER_WORKER,
      memoryMb: env.TRANSFER_MEMORY_MB,
      uploadConcurrency: env.UPLOAD_CONCURRENCY,
      maxConnectionsPerHost: env.MAX_CONNECTIONS_PER_HOST,
      taskTimeoutMs: env.TASK_TIMEOUT_MS,
      minBytesPerSecond: env.MIN_BYTES_PER_SECOND,
    },
  };
}

function optional<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });
}

function deepFreeze<T>(value: T): T {
  if (value === null || typeof value !== 'object') return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
