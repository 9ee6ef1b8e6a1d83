import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { FaultRules } from '../../../infra/local-aws/gateway-faults.js';
import { RequestLog } from '../../../infra/local-aws/request-log.js';
import { createQueue, startSqs, type QueueUrls, type SqsEndpoint } from '../../../infra/local-aws/sqs.js';
import { defineResources } from '../../../infra/resources.js';
import { createAwsClients, eventually, type AwsClients } from '../../support/local-aws.js';

const definition = defineResources('test').queues.jobs;

describe('SQS of the embedded AWS', () => {
  let log: RequestLog;
  let faults: FaultRules;
  let endpoint: SqsEndpoint;
  let clients: AwsClients;
  let sqs: SQSClient;
  let queue: QueueUrls;

  beforeEach(async () => {
    log = new RequestLog();
    faults = new FaultRules();
    endpoint = await startSqs({ log, faults });
    clients = createAwsClients({ AWS_ENDPOINT_URL_SQS: endpoint.url });
    sqs = clients.sqs;
    queue = await createQueue(sqs, definition);
    log.records.length = 0;
  });

  afterEach(async () => {
    clients.destroy();
    await endpoint.close();
  });

  const send = (body: string) => sqs.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: body }));

  async function receive(options: { QueueUrl?: string; VisibilityTimeout?: number; WaitTimeSeconds?: number } = {}) {
    const input = { QueueUrl: queue.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 0, ...options };
    return (await sqs.send(new ReceiveMessageCommand(input))).Messages ?? [];
  }

  it('takes emoji, alone and in a batch, and gives them back as they were; no lone surrogate and no control character', async () => {
    const body = '{"key":"fotos/🎉 \u{10FFFF}.jpg"}';
    await send(body);
    const Entries = [{ Id: '0', MessageBody: body }];
    const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
    expect(Failed).toEqual([]);
    expect((await receive()).map(({ Body }) => Body)).toEqual([body, body]);
    for (const refused of ['\uD83D', 'a\u0000', '\uFFFE']) await expect(send(refused)).rejects.toThrow('Invalid characters');
  });

  it('creates a queue and its dead-letter queue as defined', async () => {
    const attributes = async (QueueUrl: string) =>
      (await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }))).Attributes ?? {};
    const deadLetter = await attributes(queue.deadLetterUrl);
    const main = await attributes(queue.url);

    expect(deadLetter).toMatchObject({ MessageRetentionPeriod: '1209600' });
    expect(main).toMatchObject({ VisibilityTimeout: '60', ReceiveMessageWaitTimeSeconds: '20', MessageRetentionPeriod: '345600' });
    expect(JSON.parse(main['RedrivePolicy'] ?? '')).toEqual({ deadLetterTargetArn: deadLetter['QueueArn'], maxReceiveCount: 5 });
  });

  it('names queues by its own address, which a client may also use as the endpoint', async () => {
    const plain = new SQSClient({ region: 'us-east-1', endpoint: endpoint.url, credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
    const { QueueUrl } = await plain.send(new GetQueueUrlCommand({ QueueName: definition.name }));
    expect(QueueUrl).toBe(`${endpoint.url}/000000000000/${definition.name}`);

    await plain.send(new SendMessageCommand({ QueueUrl, MessageBody: 'hello' }));
    expect(await receive()).toMatchObject([{ Body: 'hello' }]);
    plain.destroy();
  });

  it('ends a long poll when a message comes', async () => {
    const poll = receive({ WaitTimeSeconds: 20 });
    await send('hello');
    expect(await poll).toMatchObject([{ Body: 'hello' }]);
  });

  it('moves a message to the dead-letter queue in place of its sixth receive', async () => {
    await send('poison');
    for (let count = 1; count <= 5; count += 1) expect(await receive({ VisibilityTimeout: 0 })).toHaveLength(1);

    expect(await receive()).toEqual([]);
    expect(await receive({ QueueUrl: queue.deadLetterUrl })).toMatchObject([{ Body: 'poison' }]);
  });

  it('refuses to hold a message for more than twelve hours since it was received', async () => {
    await send('hello');
    const [message] = await receive();
    const change = (VisibilityTimeout: number) =>
      sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl: queue.url, ReceiptHandle: message?.ReceiptHandle, VisibilityTimeout }));

    await change(43_100);
    await expect(change(43_200)).rejects.toMatchObject({
      name: 'InvalidParameterValue',
      message: expect.stringContaining('43200 seconds'),
    });
  });

  it('refuses the same entry by entry in a batch', async () => {
    await sqs.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries: ['a', 'b'].map((Id) => ({ Id, MessageBody: Id })) }));
    const [first, second] = await receive();
    const change = (timeouts: [number, number, number]) => {
      const handles = [first?.ReceiptHandle, second?.ReceiptHandle, 'unknown'];
      const Entries = timeouts.map((VisibilityTimeout, index) => ({ Id: `${index}`, ReceiptHandle: handles[index], VisibilityTimeout }));
      return sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queue.url, Entries }));
    };

    const mixed = await change([43_200, 60, 60]);
    expect(mixed.Successful).toEqual([{ Id: '1' }]);
    expect(mixed.Failed).toMatchObject([
      { Id: '2', Code: 'ReceiptHandleIsInvalid' },
      { Id: '0', Code: 'InvalidParameterValue' },
    ]);
  });

  it('does not lose a message to a poll whose client has hung up', async () => {
    const abort = new AbortController();
    const arrived = new Promise<void>((resolve) => {
      const when = () => {
        resolve();
        return false;
      };
      faults.add({ operation: 'ReceiveMessage', when, action: { kind: 'cut' } });
    });
    const input = { QueueUrl: queue.url, WaitTimeSeconds: 20 };
    const poll = expect(sqs.send(new ReceiveMessageCommand(input), { abortSignal: abort.signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
    await arrived;
    abort.abort();
    await poll;

    await send('hello');
    expect(await eventually(async () => (await receive()).at(0))).toMatchObject({ Body: 'hello' });
  });

  it('waits in a long poll for as long as it was asked to', async () => {
    const started = performance.now();
    expect(await receive({ WaitTimeSeconds: 1 })).toEqual([]);
    expect(performance.now() - started).toBeGreaterThanOrEqual(990);
  });

  it('logs queue and number of entries, and nothing of what messages say', async () => {
    const { MessageId } = await send('secret');
    const [message] = await receive();
    await sqs.send(new DeleteMessageCommand({ QueueUrl: queue.url, ReceiptHandle: message?.ReceiptHandle }));
    await receive();

    expect(log.records.map(({ operation, resource, detail }) => ({ operation, resource, detail }))).toEqual([
      { operation: 'SendMessage', resource: definition.name, detail: { entries: 1 } },
      { operation: 'ReceiveMessage', resource: definition.name, detail: { entries: 1 } },
      { operation: 'DeleteMessage', resource: definition.name, detail: { entries: 1 } },
      { operation: 'ReceiveMessage', resource: definition.name, detail: { entries: 0 } },
    ]);
    const text = JSON.stringify(log.records);
    for (const hidden of ['secret', MessageId, message?.ReceiptHandle]) expect(text).not.toContain(hidden);
  });

  it('fails requests by names that the client understands', async () => {
    faults.add({ service: 'sqs', times: 1, action: { kind: 'fail', status: 400, type: 'OverLimit', message: 'too many' } });
    await expect(receive()).rejects.toMatchObject({ name: 'OverLimit', message: 'too many' });
  });

  it('closes while a long poll waits', async () => {
    const poll = expect(receive({ WaitTimeSeconds: 20 })).rejects.toThrow();
    const started = performance.now();
    await endpoint.close();
    expect(performance.now() - started).toBeLessThan(20_000);
    await poll;
  });
});
