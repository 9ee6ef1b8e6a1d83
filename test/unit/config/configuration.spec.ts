import { describe, expect, it } from '@jest/globals';
import { ConfigurationError, loadConfiguration } from '../../../src/config/index.js';

const REQUIRED = {
  AWS_REGION: 'eu-central-1',
  SQS_JOBS_QUEUE_URL: 'https://sqs.test/1/jobs',
  SQS_BATCHES_QUEUE_URL: 'https://sqs.test/1/batches',
  SQS_DLQ_URL: 'https://sqs.test/1/jobs-dlq',
  DYNAMODB_JOBS_TABLE: 'ExportJobs',
  DYNAMODB_BATCHES_TABLE: 'ExportBatches',
  DYNAMODB_RECLAIMS_TABLE: 'ExportReclaims',
  DYNAMODB_COORDINATORS_TABLE: 'ExportCoordinators',
  EXPORT_BUCKET: 'exports',
};

const load = (over: Record<string, string | undefined> = {}) => loadConfiguration({ ...REQUIRED, ...over });

function problemsOf(environment: Record<string, string | undefined>): readonly string[] {
  try {
    loadConfiguration(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
  return [];
}
const problems = (over: Record<string, string | undefined>) => problemsOf({ ...REQUIRED, ...over });

describe('loadConfiguration', () => {
  it('has the defaults of the design', () => {
    expect(load()).toMatchObject({
      logLevel: 'info',
      aws: { region: 'eu-central-1', s3CustomEndpoint: false, s3Checksums: 'full-object' },
      tables: { statusShards: 4 },
      exports: { retentionDays: 30, batchSize: 100, intakeConcurrency: 4, maxOpenLists: 128, maxSpoolBytes: 6 * 2 ** 30 },
      visibility: { intervalMs: 20_000 },
      stepFunctions: { heartbeatEnabled: true, heartbeatIntervalMs: 30_000, maxBeatsPerSecond: 100 },
      batches: { heartbeatIntervalMs: 10_000, maxInHand: 8, maxInHandTotal: 64, ttlMs: { download: 90_000 }, taskMaxAttempts: 4 },
      pool: {
        size: 4,
        tasksPerWorker: 10,
        memoryMb: 64,
        uploadConcurrency: 4,
        maxConnectionsPerHost: 32,
        taskTimeoutMs: 3_600_000,
        minBytesPerSecond: 100,
      },
      access: { sourceBuckets: [], sourceHosts: [], sourceCidrs: [], sourcePorts: [] },
    });
  });

  it('leaves out what is not set', () => {
    const { visibility, stepFunctions, exports } = load();
    expect(visibility).not.toHaveProperty('timeoutS');
    expect(stepFunctions).not.toHaveProperty('stateMachineHeartbeatS');
    expect(exports).not.toHaveProperty('manifestUriTemplate');
  });

  it('takes an empty variable for one that is not set', () => {
    expect(load({ SQS_VISIBILITY_TIMEOUT_S: '', LOG_LEVEL: '' })).toMatchObject({ logLevel: 'info' });
    expect(problems({ EXPORT_BUCKET: '' })).toEqual(['"EXPORT_BUCKET" is required']);
  });

  it('names a state machine that a command needs together with what else is missing', () => {
    expect(() => loadConfiguration({ AWS_REGION: 'eu-central-1' }, ['AWS_REGION', 'STATE_MACHINE_ARN', 'EXPORT_BUCKET'])).toThrow(
      '"EXPORT_BUCKET" is required\n  - "STATE_MACHINE_ARN" is required',
    );
    expect(load().exports).not.toHaveProperty('stateMachineArn');
  });

  it('reads numbers, switches, lists and TTLs', () => {
    const configuration = load({
      STEP_FUNCTIONS_HEARTBEAT_ENABLED: 'false',
      STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
      ALLOWED_SOURCE_HOSTS: 'a.test, b.test,',
      ALLOWED_SOURCE_PORTS: '443,8443',
      RECLAIM_TTLS: '{"download": 120000, "copy": 60000}',
    });
    expect(configuration.stepFunctions).toMatchObject({ heartbeatEnabled: false, heartbeatIntervalMs: 1_000 });
    expect(configuration.access).toMatchObject({ sourceHosts: ['a.test', 'b.test'], sourcePorts: [443, 8_443] });
    expect(configuration.batches.ttlMs).toEqual({ download: 120_000, copy: 60_000 });
  });

  it('allows the export bucket as destination unless others are named', () => {
    expect(load().access.destinationBuckets).toEqual(['exports']);
    expect(load({ ALLOWED_DESTINATION_BUCKETS: 'a,b' }).access.destinationBuckets).toEqual(['a', 'b']);
  });

  it('suits an S3-compatible store by itself, unless told otherwise', () => {
    const AWS_ENDPOINT_URL_S3 = 'http://127.0.0.1:9000';
    expect(load({ AWS_ENDPOINT_URL_S3 }).aws).toMatchObject({ s3CustomEndpoint: true, s3Checksums: 'none' });
    expect(load({ AWS_ENDPOINT_URL_S3, S3_CHECKSUMS: 'full-object' }).aws.s3Checksums).toBe('full-object');
  });

  it('gives each process a name of its own, unless it is told one', () => {
    expect(load().coordinatorId).not.toBe(load().coordinatorId);
    expect(load({ COORDINATOR_ID: 'one' }).coordinatorId).toBe('one');
  });

  it('is frozen at every depth', () => {
    const configuration = load();
    for (const part of [configuration, configuration.batches, configuration.batches.ttlMs, configuration.access.destinationBuckets])
      expect(Object.isFrozen(part)).toBe(true);
  });

  it('ignores variables that it does not know', () => {
    expect(problems({ PATH: '/bin', SOMETHING_ELSE: '1' })).toEqual([]);
  });
});

describe('problems of the environment', () => {
  it('are told all at once, each naming its variable', () => {
    const found = problemsOf({ LOG_LEVEL: 'loud', STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '999', ALLOWED_SOURCE_CIDRS: '10.0.0.0' });
    const named = [...Object.keys(REQUIRED), 'LOG_LEVEL', 'STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS', 'ALLOWED_SOURCE_CIDRS'];
    for (const name of named) expect(found.some((problem) => problem.includes(name))).toBe(true);
    expect(found.length).toBe(named.length);
  });

  it('are in the message, one a line', () => {
    expect(() => loadConfiguration({})).toThrow(/^The configuration cannot be used:\n {2}- "AWS_REGION" is required\n {2}- /);
  });

  it.each([
    ['STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS', '999'],
    ['STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS', '30s'],
    ['TASK_TIMEOUT_MS', '2147483648'],
    ['MIN_BYTES_PER_SECOND', '-1'],
    ['STATUS_SHARDS', '0'],
    ['BATCH_SIZE', '1.5'],
    ['SQS_JOBS_QUEUE_URL', 'jobs'],
    ['EXPORT_MANIFEST_URI_TEMPLATE', 'ftp://host/{exportId}'],
    ['ALLOWED_SOURCE_PORTS', '443,99999'],
    ['RECLAIM_TTLS', 'no JSON'],
    ['RECLAIM_TTLS', '{"download": "soon"}'],
    ['S3_CHECKSUMS', 'sometimes'],
  ])('name %s when it is %s', (name, value) => {
    const found = problems({ [name]: value });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(name);
  });

  it('say what RECLAIM_TTLS must look like', () => {
    const expected = '"RECLAIM_TTLS" must be a JSON object of milliseconds per batch type, like {"download": 90000}';
    expect(problems({ RECLAIM_TTLS: 'no JSON' })).toEqual([expected]);
  });

  it.each([
    ['the state machine’s heartbeat is under four intervals', { STATE_MACHINE_HEARTBEAT_S: '119' }, /healthy jobs time out/],
    [
      'the state machine’s heartbeat ends before a death is noticed',
      { STATE_MACHINE_HEARTBEAT_S: '150', COORDINATOR_HEARTBEAT_INTERVAL_MS: '30001' },
      /before another notices/,
    ],
    ['the visibility heartbeat is over a third of the timeout', { SQS_VISIBILITY_TIMEOUT_S: '59' }, /show the message to a second worker/],
    ['a TTL is under five batch heartbeats', { RECLAIM_TTLS: '{"download": 49999}' }, /would lose batches it is still working on/],
    [
      'a stalled job ends before its batches are reclaimed',
      { RECLAIM_TTLS: '{"download": 510001}' },
      /would end as stalled before another takes/,
    ],
    ['a stalled job ends before its repair', { JOB_REPAIR_AFTER_MS: '200001' }, /before a repair has had time to work/],
    ['the stall timeout is under three visibility timeouts', { SQS_VISIBILITY_TIMEOUT_S: '201' }, /too late to save its job/],
    ['one job fills a coordinator', { MAX_BATCHES_IN_HAND: '65' }, /every other job would wait behind them/],
    ['the parts of an upload do not fit the memory', { UPLOAD_CONCURRENCY: '9' }, /never have that many parts in flight/],
  ])('name the harm when %s', (_name, environment, harm) => {
    const found = problems(environment);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(harm);
  });

  it.each([
    { STATE_MACHINE_HEARTBEAT_S: '120' },
    { STATE_MACHINE_HEARTBEAT_S: '150', COORDINATOR_HEARTBEAT_INTERVAL_MS: '30000' },
    { SQS_VISIBILITY_TIMEOUT_S: '60' },
    { MAX_BATCHES_IN_HAND: '8', MAX_BATCHES_IN_HAND_TOTAL: '8' },
    { RECLAIM_TTLS: '{"download": 50000}' },
    { RECLAIM_TTLS: '{"download": 510000}' },
    { JOB_REPAIR_AFTER_MS: '200000' },
    { SQS_VISIBILITY_TIMEOUT_S: '200' },
    { UPLOAD_CONCURRENCY: '8' },
  ])('are none at the very limit: %j', (environment) => {
    expect(problems(environment)).toEqual([]);
  });

  it('tell relations beside each other, and beside a variable that is missing', () => {
    const found = problems({ STATE_MACHINE_HEARTBEAT_S: '10', UPLOAD_CONCURRENCY: '64', EXPORT_BUCKET: undefined });
    expect(found.some((problem) => problem.includes('EXPORT_BUCKET'))).toBe(true);
    expect(found.some((problem) => problem.includes('STATE_MACHINE_HEARTBEAT_S'))).toBe(true);
    expect(found.some((problem) => problem.includes('UPLOAD_CONCURRENCY'))).toBe(true);
  });
});
