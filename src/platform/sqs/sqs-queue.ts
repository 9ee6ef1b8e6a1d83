import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type Message,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { AppError, fullJitterMs, type Clock, type MonotonicMs } from '../../shared/index.js';
import { parseMaxReceiveCount } from './max-receive-count.js';
import { toSqsError } from './sqs-errors.js';
import {
  MAX_ENTRIES,
  MAX_MESSAGE_BYTES,
  messageBytes,
  type OutgoingMessage,
  type ReceivedMessage,
  type VisibilityChange,
  type VisibilityOutcome,
} from './sqs-messages.js';
import { SqsVisibilityAdapter } from './sqs-visibility.adapter.js';

/** Entries that a call accepted as a whole and refused one by one; the SDK's own retries do not see them. */
const SEND_ATTEMPTS = 5;
const SEND_BACKOFF = { baseMs: 200, capMs: 5_000 };
/** How much longer than its long poll a receive may take. */
const POLL_GRACE_MS = 10_000;
const CALL_TIMEOUT_MS = 30_000;

export interface QueueAttributes {
  visibilityTimeoutS: number;
  /** That wait to be received, now or after their delay; those in a consumer's hands do not. */
  approximateMessages: number;
  /** After so many receives a message goes to the dead-letter queue; absent without a redrive policy. */
  maxReceiveCount?: number;
}

/** One queue. Every method rejects with an AppError: `SQS_UNAVAILABLE` (retry), `SQS_MESSAGE_GONE` (yield) or `SQS_MESSAGE_REFUSED` (reject). */
export class SqsQueue {
  readonly #visibility: SqsVisibilityAdapter;

  constructor(
    private readonly client: SQSClient,
    readonly url: string,
    private readonly clock: Clock,
  ) {
    this.#visibility = new SqsVisibilityAdapter(client);
  }

  /**
   * Waits up to `waitS` seconds for at most `max` (10) messages and hides them for `visibilityS` seconds.
   * A receive that is aborted may still have taken messages: they come back after that time.
   */
  async receive(max: number, waitS: number, visibilityS: number, signal: AbortSignal): Promise<ReceivedMessage[]> {
    const command = new ReceiveMessageCommand({
      QueueUrl: this.url,
      MaxNumberOfMessages: Math.min(max, MAX_ENTRIES),
      WaitTimeSeconds: waitS,
      VisibilityTimeout: visibilityS,
      MessageSystemAttributeNames: ['ApproximateReceiveCount', 'AWSTraceHeader', 'MessageGroupId'],
      MessageAttributeNames: ['All'],
    });
    const limitMs = waitS * 1_000 + POLL_GRACE_MS;
    const answer = await this.#call('ReceiveMessage', signal, (abortSignal) => this.client.send(command, { abortSignal }), limitMs);
    const receivedAt = this.clock.monotonicMs();
    return (answer.Messages ?? []).map((message) => toReceived(message, receivedAt));
  }

  /** Deleting what is deleted already succeeds, as far as SQS can tell. */
  async delete(receiptHandle: string, signal?: AbortSignal): Promise<void> {
    const command = new DeleteMessageCommand({ QueueUrl: this.url, ReceiptHandle: receiptHandle });
    await this.#call('DeleteMessage', signal, (abortSignal) => this.client.send(command, { abortSignal }));
  }

  /** At most 10; the outcomes in the order of the changes. */
  changeVisibilityBatch(changes: readonly VisibilityChange[], signal?: AbortSignal): Promise<VisibilityOutcome[]> {
    return this.#call('ChangeMessageVisibilityBatch', signal, (abortSignal) =>
      this.#visibility.changeVisibilityBatch(this.url, changes, abortSignal),
    );
  }

  send(message: OutgoingMessage, signal?: AbortSignal): Promise<void> {
    return this.sendBatch([message], signal);
  }

  /** Any number, in order, as many a call as SQS allows. When it rejects, some may have been sent. */
  async sendBatch(messages: readonly OutgoingMessage[], signal?: AbortSignal): Promise<void> {
    for (const chunk of chunksToSend(messages)) await this.#sendChunk(chunk, signal);
  }

  async attributes(signal?: AbortSignal): Promise<QueueAttributes> {
    const command = new GetQueueAttributesCommand({
      QueueUrl: this.url,
      AttributeNames: ['VisibilityTimeout', 'ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesDelayed', 'RedrivePolicy'],
    });
    const { Attributes } = await this.#call('GetQueueAttributes', signal, (abortSignal) => this.client.send(command, { abortSignal }));
    const maxReceiveCount = parseMaxReceiveCount(Attributes?.['RedrivePolicy']);
    return {
      visibilityTimeoutS: Number(Attributes?.['VisibilityTimeout']),
      approximateMessages: Number(Attributes?.['ApproximateNumberOfMessages']) + Number(Attributes?.['ApproximateNumberOfMessagesDelayed']),
      ...(maxReceiveCount === undefined ? {} : { maxReceiveCount }),
    };
  }

  async #sendChunk(messages: readonly OutgoingMessage[], signal: AbortSignal | undefined): Promise<void> {
    let entries = messages.map(toEntry);
    for (let attempt = 1; ; attempt++) {
      const command = new SendMessageBatchCommand({ QueueUrl: this.url, Entries: entries });
      const { Successful, Failed } = await this.#call('SendMessageBatch', signal, (abortSignal) =>
        this.client.send(command, { abortSignal }),
      );
      const refused = Failed?.find(({ SenderFault }) => SenderFault);
      if (refused !== undefined)
        throw new AppError('SQS_MESSAGE_REFUSED', `SQS refused a message: ${refused.Code}`, { disposition: 'reject' });
      const sent = new Set(Successful?.map(({ Id }) => Id));
      entries = entries.filter(({ Id }) => !sent.has(Id));
      if (entries.length === 0) return;
      if (attempt === SEND_ATTEMPTS || signal?.aborted === true)
        throw new AppError('SQS_UNAVAILABLE', `SQS did not take ${entries.length} of ${messages.length} messages`, {
          disposition: 'retry',
        });
      await this.clock.sleep(fullJitterMs(SEND_BACKOFF, attempt), signal);
    }
  }

  /** A signal and a time limit of the call's own: nothing that ends one call ends another. */
  async #call<T>(
    operation: string,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal) => Promise<T>,
    limitMs = CALL_TIMEOUT_MS,
  ): Promise<T> {
    const own = new AbortController();
    const abort = () => own.abort();
    if (signal?.aborted === true) abort();
    signal?.addEventListener('abort', abort, { once: true });
    const timer = setTimeout(abort, limitMs).unref();
    try {
      return await send(own.signal);
    } catch (error) {
      throw error instanceof AppError ? error : toSqsError(operation, error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }
}

function toReceived(message: Message, receivedAt: MonotonicMs): ReceivedMessage {
  const traceHeader = message.Attributes?.AWSTraceHeader;
  const groupId = message.Attributes?.MessageGroupId;
  return {
    messageId: message.MessageId ?? '',
    receiptHandle: message.ReceiptHandle ?? '',
    body: message.Body ?? '',
    receiveCount: Number(message.Attributes?.ApproximateReceiveCount ?? 1),
    receivedAt,
    attributes: textsOf(message),
    ...(traceHeader === undefined ? {} : { traceHeader }),
    ...(groupId === undefined ? {} : { groupId }),
  };
}

function textsOf({ MessageAttributes = {} }: Message): Record<string, string> {
  const texts = Object.entries(MessageAttributes).map(([name, { StringValue }]) => [name, StringValue] as const);
  return Object.fromEntries(texts.filter((text): text is [string, string] => text[1] !== undefined));
}

function toEntry(message: OutgoingMessage, position: number): SendMessageBatchRequestEntry {
  return {
    Id: String(position),
    MessageBody: message.body,
    DelaySeconds: message.delayS,
    MessageGroupId: message.groupId,
    MessageAttributes:
      message.attributes &&
      Object.fromEntries(Object.entries(message.attributes).map(([name, text]) => [name, { DataType: 'String', StringValue: text }])),
  };
}

function chunksToSend(messages: readonly OutgoingMessage[]): OutgoingMessage[][] {
  const chunks: OutgoingMessage[][] = [];
  let bytes = Infinity;
  for (const message of messages) {
    const size = messageBytes(message);
    const last = chunks.at(-1);
    if (last === undefined || last.length === MAX_ENTRIES || bytes + size > MAX_MESSAGE_BYTES) {
      chunks.push([message]);
      bytes = size;
    } else {
      last.push(message);
      bytes += size;
    }
  }
  return chunks;
}
