import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { CreateStateMachineCommand, SFNClient } from '@aws-sdk/client-sfn';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { defineResources, type ResourceDefinitions } from '../resources.js';
import { exportStateMachine } from '../state-machine/index.js';
import { allowedSources } from './allowed-sources.js';
import { configureBucket } from './bucket.js';
import { claimDataDir } from './data-dir.js';
import { createTable, startDynamoDb } from './dynamodb.js';
import { FaultRules } from './gateway-faults.js';
import { Gateway } from './gateway.js';
import { RequestLog } from './request-log.js';
import { startS3Endpoint, type S3Endpoint } from './s3/index.js';
import { createQueue, startSqs } from './sqs.js';
import { startStepFunctionsEndpoint, type StepFunctionsEndpoint } from './step-functions/index.js';

export const LOCAL_REGION = 'us-east-1';
/** fauxqs knows no other. */
const ACCOUNT_ID = '000000000000';
const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' };

export interface LocalAwsOptions {
  /** Rows and objects are kept there; queues and executions are not. Everything is in memory, or a temporary directory, without it. */
  dataDir?: string;
  /** Default: any free ports. */
  ports?: { dynamodb: number; sqs: number; s3: number; states: number };
  stateMachine?: { heartbeatSeconds?: number; timeoutSeconds?: number; retryIntervalSeconds?: number; maxAttempts?: number };
  /** Visibility timeout of both queues in seconds, in place of the one in the resources. */
  queueVisibilityS?: number;
}

export interface LocalAws {
  endpoints: { dynamodb: string; sqs: string; s3: string; states: string };
  log: RequestLog;
  /** Of DynamoDB, SQS and Step Functions; S3 has its own. */
  faults: FaultRules;
  s3: S3Endpoint;
  stepFunctions: StepFunctionsEndpoint;
  resources: LocalResources;
  /** What a process needs in its environment to find all of this. */
  environment(): Record<string, string>;
  close(): Promise<void>;
}

export interface LocalResources {
  jobsTable: string;
  batchesTable: string;
  reclaimsTable: string;
  coordinatorsTable: string;
  bucket: string;
  jobsQueueUrl: string;
  jobsDeadLetterQueueUrl: string;
  batchesQueueUrl: string;
  batchesDeadLetterQueueUrl: string;
  stateMachineArn: string;
}

type Endpoints = LocalAws['endpoints'];

/**
 * Starts DynamoDB, SQS, S3 and Step Functions on the loopback address and creates in them what `infra/resources.ts` defines.
 * @throws Error with code `EADDRINUSE` for a port in use, and for a data directory in use; nothing is left running then
 */
export async function startLocalAws(options: LocalAwsOptions = {}): Promise<LocalAws> {
  const running = new Running();
  try {
    if (options.dataDir !== undefined) running.add(await claimDataDir(options.dataDir));
    const definitions = defineResources('local');
    const log = new RequestLog();
    const faults = new FaultRules();
    const { endpoints, s3, stepFunctions } = await startEndpoints(options, definitions, { log, faults }, running);
    const resources = await createResources(options, definitions, endpoints);
    return {
      endpoints,
      log,
      faults,
      s3,
      stepFunctions,
      resources,
      environment: () => ({ ...environmentOf(endpoints, resources), ...allowedSources(process.env) }),
      close: () => running.close(),
    };
  } catch (error) {
    await running.close();
    throw error;
  }
}

/** What has been started, stopped in reverse order. */
class Running {
  private readonly stops: (() => Promise<void>)[] = [];

  add<T extends { close(): Promise<void> }>(started: T): T {
    this.stops.push(() => started.close());
    return started;
  }

  async close(): Promise<void> {
    for (let stop = this.stops.pop(); stop !== undefined; stop = this.stops.pop()) await stop();
  }
}

async function startEndpoints(
  { dataDir, ports }: LocalAwsOptions,
  definitions: ResourceDefinitions,
  shared: { log: RequestLog; faults: FaultRules },
  running: Running,
) {
  const inDataDir = (name: string) => (dataDir === undefined ? {} : { dataDir: join(dataDir, name) });
  const port = (service: keyof Endpoints) => (ports === undefined ? {} : { port: ports[service] });
  const { log } = shared;

  const tables = Object.values(definitions.tables);
  const dynamodb = running.add(await startDynamoDb({ ...inDataDir('dynamodb'), ...port('dynamodb'), ...shared, tables }));
  const sqs = running.add(await startSqs({ ...port('sqs'), ...shared }));
  const s3 = running.add(await startS3Endpoint({ ...inDataDir('s3'), ...port('s3'), log, buckets: [definitions.bucket.name] }));

  const sender = new SQSClient(clientConfig(sqs.url));
  running.add({ close: async () => sender.destroy() });
  const stepFunctions = running.add(
    await startStepFunctionsEndpoint({
      log,
      region: LOCAL_REGION,
      accountId: ACCOUNT_ID,
      sendMessage: async (QueueUrl, MessageBody, { messageGroupId }) => {
        const group = messageGroupId === undefined ? {} : { MessageGroupId: messageGroupId };
        const { MessageId = '' } = await sender.send(new SendMessageCommand({ QueueUrl, MessageBody, ...group }));
        return { messageId: MessageId };
      },
    }),
  );
  const states = running.add(
    await Gateway.start({ service: 'states', upstream: stepFunctions.url, upstreamLogs: true, ...port('states'), ...shared }),
  );
  return { endpoints: { dynamodb: dynamodb.url, sqs: sqs.url, s3: s3.url, states: states.url }, s3, stepFunctions };
}

async function createResources(
  { queueVisibilityS, stateMachine }: LocalAwsOptions,
  { tables, queues, bucket, stateMachine: name }: ResourceDefinitions,
  endpoints: Endpoints,
): Promise<LocalResources> {
  const dynamodb = new DynamoDBClient(clientConfig(endpoints.dynamodb));
  const sqs = new SQSClient(clientConfig(endpoints.sqs));
  const sfn = new SFNClient(clientConfig(endpoints.states));
  const s3 = new S3Client({ ...clientConfig(endpoints.s3), forcePathStyle: true });
  try {
    const [jobs, batches] = await Promise.all([
      createQueue(sqs, queues.jobs, queueVisibilityS),
      createQueue(sqs, queues.batches, queueVisibilityS),
      configureBucket(s3, bucket),
      ...Object.values(tables).map((table) => createTable(dynamodb, table)),
    ]);
    const definition = exportStateMachine({ jobsQueueUrl: jobs.url, ...stateMachine });
    const roleArn = `arn:aws:iam::${ACCOUNT_ID}:role/${name}`;
    const { stateMachineArn } = await sfn.send(new CreateStateMachineCommand({ name, definition, roleArn }));
    if (stateMachineArn === undefined) throw new Error(`State machine ${name} was created without an ARN`);
    return {
      jobsTable: tables.jobs.name,
      batchesTable: tables.batches.name,
      reclaimsTable: tables.reclaims.name,
      coordinatorsTable: tables.coordinators.name,
      bucket: bucket.name,
      jobsQueueUrl: jobs.url,
      jobsDeadLetterQueueUrl: jobs.deadLetterUrl,
      batchesQueueUrl: batches.url,
      batchesDeadLetterQueueUrl: batches.deadLetterUrl,
      stateMachineArn,
    };
  } finally {
    for (const client of [dynamodb, sqs, s3, sfn]) client.destroy();
  }
}

function clientConfig(endpoint: string) {
  return { endpoint, region: LOCAL_REGION, credentials: CREDENTIALS };
}

function environmentOf(endpoints: Endpoints, resources: LocalResources): Record<string, string> {
  return {
    AWS_REGION: LOCAL_REGION,
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    AWS_ENDPOINT_URL_S3: endpoints.s3,
    AWS_ENDPOINT_URL_SFN: endpoints.states,
    SQS_JOBS_QUEUE_URL: resources.jobsQueueUrl,
    SQS_BATCHES_QUEUE_URL: resources.batchesQueueUrl,
    SQS_DLQ_URL: resources.jobsDeadLetterQueueUrl,
    DYNAMODB_JOBS_TABLE: resources.jobsTable,
    DYNAMODB_BATCHES_TABLE: resources.batchesTable,
    DYNAMODB_RECLAIMS_TABLE: resources.reclaimsTable,
    DYNAMODB_COORDINATORS_TABLE: resources.coordinatorsTable,
    EXPORT_BUCKET: resources.bucket,
    STATE_MACHINE_ARN: resources.stateMachineArn,
  };
}
