import Joi from 'joi';

/** Every environment variable the service reads, as it stands in `.env.example`. */
export interface Environment {
  NODE_ENV: string;
  LOG_LEVEL: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  PORT: number;
  HOST: string;
  SHUTDOWN_TIMEOUT_MS: number;
  COORDINATOR_ID?: string;
  AWS_REGION: string;
  AWS_ENDPOINT_URL_S3?: string;
  AWS_ENDPOINT_URL?: string;
  SQS_JOBS_QUEUE_URL: string;
  SQS_BATCHES_QUEUE_URL: string;
  SQS_DLQ_URL: string;
  DYNAMODB_JOBS_TABLE: string;
  DYNAMODB_BATCHES_TABLE: string;
  DYNAMODB_RECLAIMS_TABLE: string;
  DYNAMODB_COORDINATORS_TABLE: string;
  EXPORT_BUCKET: string;
  EXPORT_MANIFEST_URI_TEMPLATE?: string;
  STATE_MACHINE_ARN?: string;
  ALLOWED_DESTINATION_BUCKETS: string[];
  ALLOWED_SOURCE_BUCKETS: string[];
  ALLOWED_SOURCE_HOSTS: string[];
  ALLOWED_SOURCE_CIDRS: string[];
  ALLOWED_SOURCE_PORTS: number[];
  INTAKE_CONCURRENCY: number;
  MAX_OPEN_LISTS: number;
  MAX_SPOOL_MB: number;
  BATCH_SIZE: number;
  STATUS_SHARDS: number;
  JOB_RETENTION_DAYS: number;
  SQS_HEARTBEAT_INTERVAL_MS: number;
  SQS_VISIBILITY_TIMEOUT_S?: number;
  STEP_FUNCTIONS_HEARTBEAT_ENABLED: boolean;
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: number;
  STEP_FUNCTIONS_MAX_BEATS_PER_SECOND: number;
  STATE_MACHINE_HEARTBEAT_S?: number;
  BATCH_HEARTBEAT_INTERVAL_MS: number;
  MAX_BATCHES_IN_HAND: number;
  MAX_BATCHES_IN_HAND_TOTAL: number;
  RECLAIM_TTLS: Record<string, number>;
  RECLAIM_ENABLED: boolean;
  RECLAIM_INTERVAL_MS: number;
  RECLAIM_MAX_ATTEMPTS: number;
  JOB_REPAIR_AFTER_MS: number;
  JOB_STALL_TIMEOUT_MS: number;
  COORDINATOR_HEARTBEAT_INTERVAL_MS: number;
  TASK_MAX_ATTEMPTS: number;
  TASK_TIMEOUT_MS: number;
  MIN_BYTES_PER_SECOND: number;
  WORKER_POOL_SIZE: number;
  TASKS_PER_WORKER: number;
  TRANSFER_MEMORY_MB: number;
  UPLOAD_CONCURRENCY: number;
  MAX_CONNECTIONS_PER_HOST: number;
  S3_CHECKSUMS: 'auto' | 'full-object' | 'none';
}

/** What the service cannot do without; a command needs a part of it. */
export const REQUIRED_SETTINGS = [
  'AWS_REGION',
  'SQS_JOBS_QUEUE_URL',
  'SQS_BATCHES_QUEUE_URL',
  'SQS_DLQ_URL',
  'DYNAMODB_JOBS_TABLE',
  'DYNAMODB_BATCHES_TABLE',
  'DYNAMODB_RECLAIMS_TABLE',
  'DYNAMODB_COORDINATORS_TABLE',
  'EXPORT_BUCKET',
] as const satisfies readonly (keyof Environment)[];
export type RequiredSetting = (typeof REQUIRED_SETTINGS)[number];
/** What a command may need: one that starts executions needs the state machine, too. */
export type NeededSetting = RequiredSetting | 'STATE_MACHINE_ARN';

/** A longer one ends at once: Node keeps it in 32 bits. */
const LONGEST_TIMER_MS = 2_147_483_647;
const port = Joi.number().integer().min(1).max(65_535);
const count = Joi.number().integer().min(1);
const list = (items: Joi.Schema) => Joi.extend(commaSeparated).commaSeparated().items(items);

/** `a,b,c` as it stands in an environment variable. */
const commaSeparated = (joi: Joi.Root): Joi.Extension => ({
  type: 'commaSeparated',
  base: joi.array(),
  coerce: {
    from: 'string',
    method: (value: string) => ({
      value: value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    }),
  },
});

const ttls = Joi.object().pattern(Joi.string(), Joi.number().integer().min(1_000));

const settings = Joi.object<Environment>({
  NODE_ENV: Joi.string().default('production'),
  LOG_LEVEL: Joi.string().valid('trace', 'debug', 'info', 'warn', 'error').default('info'),
  PORT: Joi.number().integer().min(0).max(65_535).default(3_000),
  HOST: Joi.string().default('0.0.0.0'),
  SHUTDOWN_TIMEOUT_MS: Joi.number().integer().min(1_000).default(25_000),
  COORDINATOR_ID: Joi.string().max(128),

  AWS_REGION: Joi.string(),
  AWS_ENDPOINT_URL_S3: Joi.string().uri(),
  AWS_ENDPOINT_URL: Joi.string().uri(),
  SQS_JOBS_QUEUE_URL: Joi.string().uri(),
  SQS_BATCHES_QUEUE_URL: Joi.string().uri(),
  SQS_DLQ_URL: Joi.string().uri(),
  DYNAMODB_JOBS_TABLE: Joi.string(),
  DYNAMODB_BATCHES_TABLE: Joi.string(),
  DYNAMODB_RECLAIMS_TABLE: Joi.string(),
  DYNAMODB_COORDINATORS_TABLE: Joi.string(),
  EXPORT_BUCKET: Joi.string(),
  EXPORT_MANIFEST_URI_TEMPLATE: Joi.string().pattern(/^(s3|https?):\/\//i, 's3:// or http(s):// URI'),
  STATE_MACHINE_ARN: Joi.string().pattern(/^arn:[^:]+:states:[^:]+:\d{12}:stateMachine:/, 'state machine ARN'),
  ALLOWED_DESTINATION_BUCKETS: list(Joi.string()).default((parent: Environment) => [parent.EXPORT_BUCKET]),
  ALLOWED_SOURCE_BUCKETS: list(Joi.string()).default([]),
  ALLOWED_SOURCE_HOSTS: list(Joi.string()).default([]),
  ALLOWED_SOURCE_CIDRS: list(Joi.string().ip({ cidr: 'required' })).default([]),
  ALLOWED_SOURCE_PORTS: list(port).default([]),

  INTAKE_CONCURRENCY: count.max(64).default(4),
  MAX_OPEN_LISTS: count.max(1_000).default(128),
  MAX_SPOOL_MB: count.default(6_144),
  BATCH_SIZE: count.max(10_000).default(100),
  STATUS_SHARDS: count.max(64).default(4),
  JOB_RETENTION_DAYS: count.default(30),
  SQS_HEARTBEAT_INTERVAL_MS: count.default(20_000),
  SQS_VISIBILITY_TIMEOUT_S: count.max(43_200),
  STEP_FUNCTIONS_HEARTBEAT_ENABLED: Joi.boolean().default(true),
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: Joi.number().integer().min(1_000).default(30_000),
  STEP_FUNCTIONS_MAX_BEATS_PER_SECOND: count.default(100),
  STATE_MACHINE_HEARTBEAT_S: count,
  BATCH_HEARTBEAT_INTERVAL_MS: Joi.number().integer().min(100).default(10_000),
  MAX_BATCHES_IN_HAND: count.max(1_000).default(8),
  MAX_BATCHES_IN_HAND_TOTAL: count.max(1_000).default(64),
  RECLAIM_TTLS: Joi.string()
    .custom((value: string, helpers) => {
      try {
        const { error, value: parsed } = ttls.validate(JSON.parse(value));
        return error === undefined ? parsed : helpers.message({ custom: `"RECLAIM_TTLS": ${error.message}` });
      } catch {
        // joi would take the braces for a template.
        const example = '{"download": 90000}';
        return helpers.message(
          { custom: '{{#label}} must be a JSON object of milliseconds per batch type, like {{#example}}' },
          { example },
        );
      }
    })
    .default({ download: 90_000 }),
  RECLAIM_ENABLED: Joi.boolean().default(true),
  RECLAIM_INTERVAL_MS: Joi.number().integer().min(100).default(15_000),
  RECLAIM_MAX_ATTEMPTS: count.max(1_000).default(10),
  JOB_REPAIR_AFTER_MS: Joi.number().integer().min(1_000).default(120_000),
  JOB_STALL_TIMEOUT_MS: Joi.number().integer().min(1_000).default(600_000),
  COORDINATOR_HEARTBEAT_INTERVAL_MS: Joi.number().integer().min(100).default(10_000),
  TASK_MAX_ATTEMPTS: count.max(100).default(4),
  TASK_TIMEOUT_MS: Joi.number().integer().min(1_000).max(LONGEST_TIMER_MS).default(3_600_000),
  MIN_BYTES_PER_SECOND: Joi.number().integer().min(0).default(100),
  WORKER_POOL_SIZE: Joi.number().integer().min(0).max(128).default(4),
  TASKS_PER_WORKER: count.max(1_024).default(10),
  TRANSFER_MEMORY_MB: Joi.number().integer().min(16).default(64),
  UPLOAD_CONCURRENCY: count.max(64).default(4),
  MAX_CONNECTIONS_PER_HOST: count.max(10_000).default(32),
  S3_CHECKSUMS: Joi.string().valid('auto', 'full-object', 'none').default('auto'),
}).unknown(true);

/**
 * @param needed the settings that must be there; of the required ones that are not among them, each that is absent gets a value that says so, which AWS refuses
 */
export function validationSchema(needed: readonly NeededSetting[]): Joi.ObjectSchema<Environment> {
  const own = needed.includes('STATE_MACHINE_ARN') ? settings.fork('STATE_MACHINE_ARN', (setting) => setting.required()) : settings;
  return REQUIRED_SETTINGS.reduce(
    (schema, name) => schema.fork(name, (setting) => (needed.includes(name) ? setting.required() : setting.default(`${name} is not set`))),
    own,
  );
}

/** The queue's own timeout is known only once the queue has been asked. */
export function stallTimeoutProblem(stallTimeoutMs: number, visibilityTimeoutS: number): string | undefined {
  // A value that is no number is no relation's business: it compares as harmless.
  const isTooShort = stallTimeoutMs < visibilityTimeoutS * 3_000;
  if (!isTooShort) return undefined;
  return (
    `JOB_STALL_TIMEOUT_MS (${stallTimeoutMs} ms) is under 3 × the visibility timeout of the queue (${visibilityTimeoutS} s): ` +
    'a message that a dying worker swallowed would come back too late to save its job. Raise the former or lower the latter.'
  );
}

/** Settings that are fine alone and do harm together; one that is not fine alone compares as harmless. */
export function relationProblems(environment: Environment): string[] {
  const problems: string[] = [];
  const beatMs = environment.STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS;
  const stateHeartbeatS = environment.STATE_MACHINE_HEARTBEAT_S;
  if (stateHeartbeatS !== undefined && stateHeartbeatS * 1_000 < beatMs * 4)
    problems.push(
      `STATE_MACHINE_HEARTBEAT_S (${stateHeartbeatS} s) is under 4 × STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS (${beatMs} ms): ` +
        'when one coordinator dies, its healthy jobs time out before another beats for them. Raise the former or lower the latter.',
    );
  const takeoverMs = environment.COORDINATOR_HEARTBEAT_INTERVAL_MS * 3 + beatMs * 2;
  if (stateHeartbeatS !== undefined && stateHeartbeatS * 1_000 < takeoverMs)
    problems.push(
      `STATE_MACHINE_HEARTBEAT_S (${stateHeartbeatS} s) is under 3 × COORDINATOR_HEARTBEAT_INTERVAL_MS + 2 × STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS (${takeoverMs} ms): ` +
        'when one coordinator dies, its healthy jobs time out before another notices and beats for them. Raise the former or lower the latter.',
    );
  const visibilityS = environment.SQS_VISIBILITY_TIMEOUT_S;
  if (visibilityS !== undefined && environment.SQS_HEARTBEAT_INTERVAL_MS > (visibilityS * 1_000) / 3)
    problems.push(
      `SQS_HEARTBEAT_INTERVAL_MS (${environment.SQS_HEARTBEAT_INTERVAL_MS} ms) is over a third of SQS_VISIBILITY_TIMEOUT_S (${visibilityS} s): ` +
        'two failed renewals would show the message to a second worker while the first still has it. Lower the interval.',
    );
  const { JOB_REPAIR_AFTER_MS: repairMs, JOB_STALL_TIMEOUT_MS: stallMs } = environment;
  const stallProblem = visibilityS === undefined ? undefined : stallTimeoutProblem(stallMs, visibilityS);
  if (stallProblem !== undefined) problems.push(stallProblem);
  if (stallMs < repairMs * 3)
    problems.push(
      `JOB_STALL_TIMEOUT_MS (${stallMs} ms) is under 3 × JOB_REPAIR_AFTER_MS (${repairMs} ms): ` +
        'a job would be given up before a repair has had time to work. Raise the former or lower the latter.',
    );
  const ttlsMs = typeof environment.RECLAIM_TTLS === 'object' ? environment.RECLAIM_TTLS : {};
  for (const [type, ttlMs] of Object.entries(ttlsMs))
    if (ttlMs < environment.BATCH_HEARTBEAT_INTERVAL_MS * 5)
      problems.push(
        `RECLAIM_TTLS.${type} (${ttlMs} ms) is under 5 × BATCH_HEARTBEAT_INTERVAL_MS (${environment.BATCH_HEARTBEAT_INTERVAL_MS} ms): ` +
          'a holder that misses a few beats would lose batches it is still working on. Raise the TTL.',
      );
  const longestTtlMs = Math.max(0, ...Object.values(ttlsMs));
  const reclaimedMs = longestTtlMs + environment.RECLAIM_INTERVAL_MS * 2 + beatMs * 2;
  if (stallMs < reclaimedMs)
    problems.push(
      `JOB_STALL_TIMEOUT_MS (${stallMs} ms) is under the longest of RECLAIM_TTLS + 2 × RECLAIM_INTERVAL_MS + 2 × STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS ` +
        `(${reclaimedMs} ms): a job whose coordinator dies would end as stalled before another takes its batches over. Raise it, or lower the TTL.`,
    );
  const { MAX_BATCHES_IN_HAND: perJob, MAX_BATCHES_IN_HAND_TOTAL: total } = environment;
  if (total < perJob)
    problems.push(
      `MAX_BATCHES_IN_HAND_TOTAL (${total}) is under MAX_BATCHES_IN_HAND (${perJob}): ` +
        'one job would fill a coordinator and have more messages out than the fleet takes in, and every other job would wait behind them. ' +
        'Raise the former or lower the latter.',
    );
  if (environment.UPLOAD_CONCURRENCY * 8 > environment.TRANSFER_MEMORY_MB)
    problems.push(
      `UPLOAD_CONCURRENCY (${environment.UPLOAD_CONCURRENCY} parts of 8 MiB) does not fit TRANSFER_MEMORY_MB (${environment.TRANSFER_MEMORY_MB}): ` +
        'a large file could never have that many parts in flight. Raise the memory or lower the concurrency.',
    );
  return problems;
}
