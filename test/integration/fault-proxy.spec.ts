import { PutObjectCommand, GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DeleteMessageCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { SendTaskHeartbeatCommand, SFNClient } from '@aws-sdk/client-sfn';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startLocalAws, type LocalAws } from '../../infra/local-aws/local-aws.js';
import { FaultProxy } from '../chaos/fault-proxy.js';
import { createAwsClients } from '../support/local-aws.js';

const once = { times: 1 };

describe('FaultProxy', () => {
  let aws: LocalAws;
  let proxy: FaultProxy;
  /** Clients that try again as the service's do. */
  let documents: DynamoDBDocumentClient;
  let sqs: SQSClient;
  let s3: S3Client;
  let states: SFNClient;

  beforeAll(async () => {
    aws = await startLocalAws();
    proxy = await FaultProxy.start(aws.endpoints);
    const config = { endpoint: proxy.url, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' }, maxAttempts: 3 };
    documents = DynamoDBDocumentClient.from(new DynamoDBClient(config));
    sqs = new SQSClient({ ...config, useQueueUrlAsEndpoint: false });
    s3 = new S3Client({ ...config, forcePathStyle: true });
    states = new SFNClient({ ...config, maxAttempts: 1 });
  });

  afterEach(async () => {
    proxy.calm();
    await proxy.settled();
  });

  afterAll(async () => {
    for (const client of [documents, sqs, s3, states]) client.destroy();
    await proxy.close();
    await aws.close();
  });

  async function add(jobId: string): Promise<void> {
    await documents.send(
      new UpdateCommand({
        TableName: aws.resources.jobsTable,
        Key: { jobId },
        UpdateExpression: 'ADD hits :one',
        ExpressionAttributeValues: { ':one': 1 },
      }),
    );
  }

  async function set(jobId: string, value: string): Promise<void> {
    await documents.send(
      new UpdateCommand({
        TableName: aws.resources.jobsTable,
        Key: { jobId },
        UpdateExpression: 'SET written = :value ADD hits :one',
        ExpressionAttributeValues: { ':value': value, ':one': 1 },
      }),
    );
  }

  async function row(jobId: string): Promise<Record<string, unknown> | undefined> {
    return (await documents.send(new GetCommand({ TableName: aws.resources.jobsTable, Key: { jobId }, ConsistentRead: true }))).Item;
  }

  it('carries out what it drops the reply of, once for each try', async () => {
    proxy.rules.add({ ...once, operation: 'UpdateItem', action: { kind: 'drop-reply' } });
    await add('dropped');
    expect(await row('dropped')).toMatchObject({ hits: 2 });
    expect(proxy.struck.at(-1)).toMatchObject({ fault: 'drop-reply', attempt: 1 });
  });

  it('carries out nothing of what it cuts or throttles', async () => {
    proxy.rules.add({ ...once, operation: 'UpdateItem', action: { kind: 'cut' } });
    proxy.rules.add({ ...once, operation: 'UpdateItem', action: { kind: 'throttle' } });
    await add('cut');
    expect(await row('cut')).toMatchObject({ hits: 1 });
  });

  it('carries out a first try that it held back after the next one', async () => {
    const seen: string[] = [];
    const unsubscribe = aws.log.subscribe(({ operation }) => seen.push(operation));
    proxy.rules.add({ ...once, operation: 'UpdateItem', action: { kind: 'hold-back', ms: 20_000 } });
    await add('held');
    await proxy.settled();
    unsubscribe();
    expect(seen).toEqual(['UpdateItem', 'UpdateItem']);
    expect(await row('held')).toMatchObject({ hits: 2 });
  });

  it('carries out a held back write that is never tried again once it is due', async () => {
    proxy.rules.add({ operation: 'SendTaskHeartbeat', action: { kind: 'hold-back', ms: 20 } });
    const before = aws.log.of('states', 'SendTaskHeartbeat').length;
    await expect(states.send(new SendTaskHeartbeatCommand({ taskToken: 'none' }))).rejects.toThrow();
    await proxy.settled();
    expect(aws.log.of('states', 'SendTaskHeartbeat')).toHaveLength(before + 1);
  });

  it('stops at the write it was told, which is carried out and not answered', async () => {
    const stopped: string[] = [];
    proxy.stopAtWrite(2, (write) => void stopped.push(write));
    await set('stop', 'first');
    expect(stopped).toEqual([]);
    await row('stop');
    await set('stop', 'second');
    expect(stopped).toEqual([`UpdateItem ${aws.resources.jobsTable}: SET written = :value ADD hits :one`]);
    // The second one, and its next try.
    expect(await row('stop')).toMatchObject({ written: 'second', hits: 3 });
  });

  it('stops at a write of those it was told to count', async () => {
    const stopped: string[] = [];
    proxy.stopAtWrite(
      2,
      (write) => void stopped.push(write),
      ({ name }) => name.endsWith('ADD hits :one'),
    );
    await add('counted');
    await sqs.send(new SendMessageCommand({ QueueUrl: aws.resources.jobsQueueUrl, MessageBody: 'not counted' }));
    expect(stopped).toEqual([]);
    await add('counted');
    expect(stopped).toHaveLength(1);
  });

  it('answers a delete that it swallows: the message comes again', async () => {
    const QueueUrl = aws.resources.batchesQueueUrl;
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'again' }));
    proxy.rules.add({ ...once, operation: 'DeleteMessage', action: { kind: 'swallow' } });
    const receive = async () =>
      (await sqs.send(new ReceiveMessageCommand({ QueueUrl, VisibilityTimeout: 0, WaitTimeSeconds: 1 }))).Messages?.[0];
    const { ReceiptHandle } = (await receive()) ?? {};
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    const again = await receive();
    expect(again?.Body).toBe('again');
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: again?.ReceiptHandle }));
    expect(await receive()).toBeUndefined();
  });

  it('throttles each service in its own words, which its client understands', async () => {
    proxy.rules.add({ action: { kind: 'throttle' } });
    const clients = createAwsClients(proxy.environment());
    const { bucket, jobsTable, jobsQueueUrl } = aws.resources;
    const refused = async (answer: Promise<unknown>) => answer.catch((error: Error) => error.name);
    expect(await refused(clients.states.send(new SendTaskHeartbeatCommand({ taskToken: 'none' })))).toBe('ThrottlingException');
    expect(await refused(clients.sqs.send(new SendMessageCommand({ QueueUrl: jobsQueueUrl, MessageBody: 'x' })))).toBe(
      'ThrottlingException',
    );
    expect(await refused(clients.s3.send(new GetObjectCommand({ Bucket: bucket, Key: 'none' })))).toBe('SlowDown');
    expect(await refused(clients.documents.send(new GetCommand({ TableName: jobsTable, Key: { jobId: 'x' } })))).toBe(
      'ProvisionedThroughputExceededException',
    );
    clients.destroy();
  });

  it('streams the bodies of objects both ways', async () => {
    const at = { Bucket: aws.resources.bucket, Key: 'large' };
    const body = Buffer.alloc(6 * 1_048_576, 'x');
    await s3.send(new PutObjectCommand({ ...at, Body: body }));
    const { Body } = await s3.send(new GetObjectCommand(at));
    expect(Buffer.compare(Buffer.from((await Body?.transformToByteArray()) ?? []), body)).toBe(0);
  });

  it('leaves chance what no rule is about', async () => {
    proxy.chance = ({ write, service }) => (write && service === 'dynamodb' && proxy.struck.length % 2 === 0 ? { kind: 'cut' } : undefined);
    proxy.struck.length = 0;
    await add('chance');
    expect(proxy.struck).toMatchObject([{ fault: 'cut', attempt: 1 }]);
    expect(await row('chance')).toMatchObject({ hits: 1 });
  });
});
