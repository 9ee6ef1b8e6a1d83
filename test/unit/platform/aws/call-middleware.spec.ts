import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { SendTaskHeartbeatCommand, SFNClient } from '@aws-sdk/client-sfn';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { BatchGetCommand, DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { equip, SharedCredentials } from '../../../../src/platform/aws/index.js';
import { retryMessage, toLoggable } from '../../../../src/shared/index.js';

const identity = { accessKeyId: 'key', secretAccessKey: 'secret' };
const credentials = new SharedCredentials(() => Promise.resolve(identity));
let server: Server;

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(500, { 'x-amzn-errortype': 'InternalServerError' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function settings() {
  const { port } = server.address() as AddressInfo;
  return {
    region: 'eu-west-1',
    endpoint: `http://127.0.0.1:${port}`,
    credentials: credentials.provider,
    maxAttempts: 1,
    forcePathStyle: true,
  };
}

async function saidOf(service: string, client: Parameters<typeof equip>[0] & { destroy(): void }, call: () => Promise<unknown>) {
  equip(client, service, credentials);
  const error = await call().then(
    () => undefined,
    (refusal: unknown) => refusal,
  );
  client.destroy();
  return { message: retryMessage('a call', error), logged: toLoggable(error) };
}

it.each([
  ['UpdateItem', 'export-batches', new UpdateCommand({ TableName: 'export-batches', Key: { jobId: 'job-1' } })],
  ['BatchGetItem', 'export-jobs', new BatchGetCommand({ RequestItems: { 'export-jobs': { Keys: [{ jobId: 'job-1' }] } } })],
])('an error of DynamoDB names the operation %s and the table %s', async (operation, resource, command) => {
  const client = new DynamoDBClient(settings());
  const documents = DynamoDBDocumentClient.from(client);
  const { message, logged } = await saidOf('DynamoDB', client, () => documents.send(command as UpdateCommand));
  expect(message).toBe(`DynamoDB ${operation} on ${resource} failed (InternalServerError); retrying`);
  expect(logged).toMatchObject({ service: 'DynamoDB', operation, resource });
});

it('an error of SQS names the queue, one of S3 the bucket and not the key', async () => {
  const sqs = new SQSClient({ ...settings(), useQueueUrlAsEndpoint: false });
  const send = new SendMessageCommand({ QueueUrl: 'https://sqs.test/1/jobs', MessageBody: 'secret' });
  expect((await saidOf('SQS', sqs, () => sqs.send(send))).logged).toMatchObject({ operation: 'SendMessage', resource: 'jobs' });
  const s3 = new S3Client(settings());
  const put = new PutObjectCommand({ Bucket: 'exports', Key: 'secret', Body: 'secret' });
  const { message, logged } = await saidOf('S3', s3, () => s3.send(put));
  expect(message).toContain('S3 PutObject on exports failed');
  expect(JSON.stringify(logged)).not.toContain('secret');
});

it('an error of Step Functions names the operation, and no token', async () => {
  const states = new SFNClient(settings());
  const { message, logged } = await saidOf('SFN', states, () => states.send(new SendTaskHeartbeatCommand({ taskToken: 'secret' })));
  expect(message).toBe('SFN SendTaskHeartbeat failed (InternalServerError); retrying');
  expect(JSON.stringify(logged)).not.toContain('secret');
});
