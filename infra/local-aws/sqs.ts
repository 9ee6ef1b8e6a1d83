import { CreateQueueCommand, GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { buildApp } from 'fauxqs';
import type { QueueDefinition } from '../resources.js';
import { bodyOf, errorReply, Gateway, jsonReply, type ApiCall, type ApiReply, type Forward, type JsonObject } from './gateway.js';
import type { FaultRules } from './gateway-faults.js';
import type { RequestLog, RequestRecord } from './request-log.js';
import { allowAllOfUnicode } from './sqs-characters.js';

export interface SqsOptions {
  port?: number;
  log: RequestLog;
  faults: FaultRules;
}

export interface SqsEndpoint {
  url: string;
  close(): Promise<void>;
}

/**
 * fauxqs behind the gateway, which adds what it lacks: the limit on how long a message can be held, and polls that end with
 * their client. Messages live in memory, and may hold what SQS allows.
 */
export async function startSqs({ port, log, faults }: SqsOptions): Promise<SqsEndpoint> {
  await allowAllOfUnicode();
  const app = buildApp({ logger: false });
  const upstream = await app.listen({ host: '127.0.0.1', port: 0 });
  try {
    const receivedAt = new Map<string, number>();
    const gateway: Gateway = await Gateway.start({
      service: 'sqs',
      upstream,
      faults,
      log,
      ...(port === undefined ? {} : { port }),
      describe,
      handle: (call, forward) => handle(call, forward, receivedAt, gateway.url),
    });
    return {
      url: gateway.url,
      // Together: the gateway waits for answers, and fauxqs ends its long polls when it closes.
      close: async () => {
        await Promise.all([gateway.close(), app.close()]);
      },
    };
  } catch (error) {
    await app.close();
    throw error;
  }
}

export interface QueueUrls {
  url: string;
  deadLetterUrl: string;
}

/** @param visibilityTimeoutS in place of the definition's, for tests that cannot wait that long. */
export async function createQueue(
  client: SQSClient,
  queue: QueueDefinition,
  visibilityTimeoutS = queue.visibilityTimeoutS,
): Promise<QueueUrls> {
  const deadLetterUrl = await create(client, queue.deadLetter.name, { MessageRetentionPeriod: `${queue.deadLetter.retentionS}` });
  const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl: deadLetterUrl, AttributeNames: ['QueueArn'] }));
  const url = await create(client, queue.name, {
    VisibilityTimeout: `${visibilityTimeoutS}`,
    ReceiveMessageWaitTimeSeconds: `${queue.receiveWaitS}`,
    MessageRetentionPeriod: `${queue.retentionS}`,
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: Attributes?.QueueArn, maxReceiveCount: queue.deadLetter.maxReceiveCount }),
  });
  return { url, deadLetterUrl };
}

async function create(client: SQSClient, name: string, attributes: Record<string, string>): Promise<string> {
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
  if (QueueUrl === undefined) throw new Error(`Queue ${name} was created without a URL`);
  return QueueUrl;
}

interface Entry {
  Id?: string;
  ReceiptHandle?: string;
  VisibilityTimeout?: number;
}

/** Receipt handle → when it was handed out, on the monotonic clock. */
type Receipts = Map<string, number>;

async function handle(call: ApiCall, forward: Forward, receivedAt: Receipts, url: string): Promise<ApiReply> {
  switch (call.operation) {
    case 'ReceiveMessage':
      return receive(call, forward, receivedAt);
    case 'ChangeMessageVisibility':
      return heldTooLong(call.body, receivedAt) ? errorReply('sqs', 400, 'InvalidParameterValue', TOO_LONG) : forward();
    case 'ChangeMessageVisibilityBatch':
      return changeVisibilityBatch(call.body, forward, receivedAt);
    default:
      return withOwnAddress(await forward(), url);
  }
}

/**
 * fauxqs waits on for a client that has hung up, and would hide the next message from everyone for a visibility timeout.
 * So a long poll is many short ones, and what still reaches a dead one is given back at once.
 */
async function receive(call: ApiCall, forward: Forward, receivedAt: Receipts): Promise<ApiReply> {
  const reply = await poll(call, forward);
  const now = performance.now();
  for (const { ReceiptHandle } of messagesOf(reply)) {
    if (ReceiptHandle === undefined) continue;
    if (call.clientGone()) {
      const body = { QueueUrl: call.body['QueueUrl'], ReceiptHandle, VisibilityTimeout: 0 };
      await forward({ operation: 'ChangeMessageVisibility', body });
    } else receivedAt.set(ReceiptHandle, now);
  }
  return reply;
}

const SHORT_POLL_S = 0.25;

async function poll({ body, clientGone }: ApiCall, forward: Forward): Promise<ApiReply> {
  const waitS = body['WaitTimeSeconds'];
  if (typeof waitS !== 'number' || waitS < SHORT_POLL_S || waitS > 20) return forward();
  const end = performance.now() + waitS * 1_000;
  for (;;) {
    const leftS = Math.max(0, (end - performance.now()) / 1_000);
    const reply = await forward({ body: { ...body, WaitTimeSeconds: Math.min(SHORT_POLL_S, leftS) } });
    if (reply.status !== 200 || messagesOf(reply).length > 0 || clientGone() || performance.now() >= end) return reply;
  }
}

const MAX_HELD_MS = 43_200_000;
const TOO_LONG = 'Total VisibilityTimeout for the message is beyond the limit [43200 seconds]';

function heldTooLong({ ReceiptHandle = '', VisibilityTimeout = 0 }: Entry, receivedAt: Receipts): boolean {
  const since = receivedAt.get(ReceiptHandle);
  return since !== undefined && performance.now() - since + VisibilityTimeout * 1_000 > MAX_HELD_MS;
}

async function changeVisibilityBatch(body: JsonObject, forward: Forward, receivedAt: Receipts): Promise<ApiReply> {
  const entries = entriesOf(body);
  const refused = entries.filter((entry) => heldTooLong(entry, receivedAt));
  if (refused.length === 0) return forward();
  const failed = refused.map(({ Id }) => ({ Id, SenderFault: true, Code: 'InvalidParameterValue', Message: TOO_LONG }));
  const accepted = entries.filter((entry) => !refused.includes(entry));
  if (accepted.length === 0) return jsonReply({ Failed: failed });
  const reply = await forward({ body: { ...body, Entries: accepted } });
  const { Successful, Failed = [] } = bodyOf(reply) as { Successful?: unknown[]; Failed?: unknown[] };
  return reply.status === 200 ? jsonReply({ Successful, Failed: [...Failed, ...failed] }) : reply;
}

/** fauxqs names a host that not every machine can resolve. */
function withOwnAddress(reply: ApiReply, url: string): ApiReply {
  return { ...reply, text: reply.text.replaceAll(/http:\/\/sqs\.[\w-]+\.localhost(:\d+)?/g, url) };
}

/** `entries`: messages received, or sent, changed or deleted as asked. */
function describe(call: ApiCall, reply?: ApiReply): Pick<RequestRecord, 'resource' | 'detail'> {
  const queueUrl = call.body['QueueUrl'];
  if (typeof queueUrl !== 'string') return {};
  const entries = entryCount(call, reply);
  return { resource: queueUrl.split('/').at(-1) ?? queueUrl, ...(entries === undefined ? {} : { detail: { entries } }) };
}

function entryCount({ operation, body }: ApiCall, reply?: ApiReply): number | undefined {
  switch (operation) {
    case 'ReceiveMessage':
      return messagesOf(reply).length;
    case 'SendMessage':
    case 'DeleteMessage':
    case 'ChangeMessageVisibility':
      return 1;
    default:
      return operation.endsWith('Batch') ? entriesOf(body).length : undefined;
  }
}

function entriesOf(body: JsonObject): Entry[] {
  return Array.isArray(body['Entries']) ? (body['Entries'] as Entry[]) : [];
}

function messagesOf(reply: ApiReply | undefined): Entry[] {
  const messages = reply === undefined ? undefined : bodyOf(reply)['Messages'];
  return Array.isArray(messages) ? (messages as Entry[]) : [];
}
