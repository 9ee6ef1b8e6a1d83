import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DescribeTableCommand, DescribeTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { GetBucketLifecycleConfigurationCommand, GetObjectCommand, HeadBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { DescribeExecutionCommand, DescribeStateMachineCommand, SendTaskSuccessCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { GetQueueAttributesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { listen } from '../../../infra/local-aws/listen.js';
import { startLocalAws, type LocalAws } from '../../../infra/local-aws/local-aws.js';
import { loadConfiguration } from '../../../src/config/index.js';
import { createAwsClients, eventually, type AwsClients } from '../../support/local-aws.js';

describe('the embedded AWS', () => {
  let aws: LocalAws;
  let clients: AwsClients;

  beforeAll(async () => {
    aws = await startLocalAws({ queueVisibilityS: 7, stateMachine: { heartbeatSeconds: 33 } });
    clients = createAwsClients(aws.environment());
  });

  afterAll(async () => {
    clients.destroy();
    await aws.close();
  });

  it('has every table with its index and TTL', async () => {
    const { jobsTable, batchesTable, reclaimsTable, coordinatorsTable } = aws.resources;
    const indexes: Record<string, string[]> = {};
    for (const TableName of [jobsTable, batchesTable, reclaimsTable, coordinatorsTable]) {
      const { Table } = await clients.dynamodb.send(new DescribeTableCommand({ TableName }));
      indexes[TableName] = (Table?.GlobalSecondaryIndexes ?? []).map(({ IndexName = '' }) => IndexName);
      const { TimeToLiveDescription } = await clients.dynamodb.send(new DescribeTimeToLiveCommand({ TableName }));
      expect(TimeToLiveDescription).toEqual({ AttributeName: 'ttl', TimeToLiveStatus: 'ENABLED' });
    }
    expect(indexes).toEqual({
      [jobsTable]: ['status-index'],
      [batchesTable]: ['running-index'],
      [reclaimsTable]: ['recent-index'],
      [coordinatorsTable]: [],
    });
  });

  it('has both queues with dead-letter queues of their own, and the visibility timeout asked for', async () => {
    const { jobsQueueUrl, batchesQueueUrl, jobsDeadLetterQueueUrl, batchesDeadLetterQueueUrl } = aws.resources;
    const attributes = async (QueueUrl: string) =>
      (await clients.sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }))).Attributes ?? {};
    const pairs = [
      [jobsQueueUrl, jobsDeadLetterQueueUrl, 5],
      [batchesQueueUrl, batchesDeadLetterQueueUrl, 20],
    ] as const;
    for (const [url, deadLetterUrl, maxReceiveCount] of pairs) {
      const queue = await attributes(url);
      const { QueueArn: deadLetterTargetArn } = await attributes(deadLetterUrl);
      expect(queue).toMatchObject({ VisibilityTimeout: '7' });
      expect(JSON.parse(queue['RedrivePolicy'] ?? '')).toEqual({ deadLetterTargetArn, maxReceiveCount });
    }
  });

  it('has the bucket, and the state machine with the parameters asked for', async () => {
    await clients.s3.send(new HeadBucketCommand({ Bucket: aws.resources.bucket }));
    const { definition = '' } = await clients.states.send(
      new DescribeStateMachineCommand({ stateMachineArn: aws.resources.stateMachineArn }),
    );
    expect(definition).toContain('"HeartbeatSeconds": 33');
    expect(definition).toContain(aws.resources.jobsQueueUrl);
  });

  it('has a bucket that ends multipart uploads which a killed process left', async () => {
    const { Rules } = await clients.s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket: aws.resources.bucket }));
    expect(Rules).toMatchObject([
      { Status: 'Enabled', Filter: { Prefix: '' }, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } },
      { Status: 'Enabled', Filter: { Prefix: '_submissions/' }, Expiration: { Days: 30 } },
    ]);
  });

  it('gives the service an environment that its configuration accepts', () => {
    const configuration = loadConfiguration(aws.environment());
    expect(configuration.queues.jobsUrl).toBe(aws.resources.jobsQueueUrl);
    expect(configuration.exports).toMatchObject({ bucket: aws.resources.bucket, stateMachineArn: aws.resources.stateMachineArn });
    expect(configuration.aws.s3CustomEndpoint).toBe(true);
  });

  it('brings an execution’s job to the queue and its answer back, all of it in one log', async () => {
    const input = JSON.stringify({ exportId: 'e', userId: 'u', source: { files: [] } });
    const { executionArn } = await clients.states.send(
      new StartExecutionCommand({ stateMachineArn: aws.resources.stateMachineArn, input }),
    );
    const { Messages = [] } = await clients.sqs.send(
      new ReceiveMessageCommand({ QueueUrl: aws.resources.jobsQueueUrl, WaitTimeSeconds: 5 }),
    );
    const { taskToken } = JSON.parse(Messages[0]?.Body ?? '') as { taskToken: string };

    aws.faults.add({ service: 'states', operation: 'SendTaskSuccess', times: 1, action: { kind: 'drop-reply' } });
    const output = JSON.stringify({ done: true });
    await expect(clients.states.send(new SendTaskSuccessCommand({ taskToken, output }))).rejects.toThrow();

    await eventually(async () => (await clients.states.send(new DescribeExecutionCommand({ executionArn }))).status === 'SUCCEEDED');
    expect(aws.log.of('states', 'SendTaskSuccess')).toMatchObject([{ status: 200 }]);
    expect(aws.log.of('sqs', 'SendMessage')).toMatchObject([{ resource: 'local-jobs', status: 200 }]);
    expect(JSON.stringify(aws.log.records)).not.toContain(taskToken);
  });
});

describe('the life of the embedded AWS', () => {
  it('leaves nothing running when it is closed', async () => {
    const before = held();
    const aws = await startLocalAws();
    const clients = createAwsClients(aws.environment());
    const poll = expect(clients.sqs.send(new ReceiveMessageCommand({ QueueUrl: aws.resources.jobsQueueUrl }))).rejects.toThrow();

    await aws.close();
    await aws.close();

    await poll;
    clients.destroy();
    for (const url of Object.values(aws.endpoints)) await expect(fetch(url)).rejects.toThrow();
    await eventually(() => held() <= before);
  });

  it('keeps rows and objects in a data directory', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'local-aws-'));
    const life = async (use: (clients: AwsClients, aws: LocalAws) => Promise<void>) => {
      const aws = await startLocalAws({ dataDir });
      const clients = createAwsClients(aws.environment());
      await use(clients, aws).finally(() => clients.destroy());
      await aws.close();
    };
    try {
      await life(async ({ documents, s3 }, { resources }) => {
        await documents.send(new PutCommand({ TableName: resources.jobsTable, Item: { jobId: 'kept' } }));
        await s3.send(new PutObjectCommand({ Bucket: resources.bucket, Key: 'kept', Body: 'bytes' }));
      });
      await life(async ({ documents, s3 }, { resources }) => {
        const { Item } = await documents.send(new GetCommand({ TableName: resources.jobsTable, Key: { jobId: 'kept' } }));
        expect(Item).toEqual({ jobId: 'kept' });
        const { Body } = await s3.send(new GetObjectCommand({ Bucket: resources.bucket, Key: 'kept' }));
        expect(await Body?.transformToString()).toBe('bytes');
      });
    } finally {
      await rm(dataDir, { recursive: true });
    }
  });

  it('names a port in use, and leaves nothing of a start that failed', async () => {
    const other = createServer();
    const busy = await listenOnNamedPort(other);
    const ports = { dynamodb: 0, sqs: 0, s3: 0, states: busy };
    const before = held();

    await expect(startLocalAws({ ports })).rejects.toMatchObject({ code: 'EADDRINUSE', port: busy });

    await eventually(() => held() <= before);
    await new Promise((resolve) => other.close(resolve));
    const aws = await startLocalAws({ ports });
    expect(aws.endpoints.states).toBe(`http://127.0.0.1:${busy}`);
    await aws.close();
  });
});

/** What keeps this process alive: servers, sockets and timers. */
function held(): number {
  return process.getActiveResourcesInfo().filter((resource) => /^(TCP|Timeout|Immediate)/.test(resource)).length;
}

/**
 * Listens on a port under those that the kernel gives to whoever asks for any. So the port stays free when the server has closed.
 * @returns the port
 */
async function listenOnNamedPort(server: Server): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    try {
      await listen(server, port);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
