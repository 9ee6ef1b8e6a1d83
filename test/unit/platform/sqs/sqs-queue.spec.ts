import { expect, it } from '@jest/globals';
import { SQSClient } from '@aws-sdk/client-sqs';
import { resolveVisibilityTimeoutS, SqsQueue } from '../../../../src/platform/sqs/index.js';
import { SilentLogger } from '../../../support/silent-logger.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';

const URL_OF_QUEUE = 'https://sqs.eu-west-1.test/1/jobs';

interface Command {
  constructor: { name: string };
  input: { Entries?: { Id: string; MessageBody?: string; VisibilityTimeout?: number; ReceiptHandle?: string }[] } & Record<string, unknown>;
}

type Answer = (command: Command, signal: AbortSignal) => unknown;

/** The real client class, its `send` answered by the test. */
function queueAnswering(...answers: Answer[]) {
  const sent: Command[] = [];
  const signals: AbortSignal[] = [];
  const client = new SQSClient({ region: 'eu-west-1' });
  Object.assign(client, {
    send: async (command: Command, { abortSignal }: { abortSignal: AbortSignal }) => {
      sent.push(command);
      signals.push(abortSignal);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      return answer?.(command, abortSignal);
    },
  });
  const clock = newClock();
  return { queue: new SqsQueue(client, URL_OF_QUEUE, clock), sent, signals, clock };
}

const sdkError = (name: string, message = 'secret-handle') => Object.assign(new Error(message), { name });
const allSent: Answer = ({ input }) => ({ Successful: input.Entries?.map(({ Id }) => ({ Id })) });
const bodiesOf = (commands: readonly Command[]) => commands.map(({ input }) => input.Entries?.map(({ MessageBody }) => MessageBody));
const never: Answer = (_, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(sdkError('AbortError'))));

onEachClock('receiving', () => {
  it('asks for what the caller wants and reads what came', async () => {
    const { queue, sent, clock } = queueAnswering(() => ({
      Messages: [
        { MessageId: 'm', ReceiptHandle: 'h', Body: 'b', Attributes: { ApproximateReceiveCount: '3', AWSTraceHeader: 'Root=1' } },
        {
          MessageId: 'n',
          ReceiptHandle: 'i',
          Body: 'c',
          Attributes: { ApproximateReceiveCount: '1', MessageGroupId: 'job-1' },
          MessageAttributes: { text: { StringValue: 'kept' }, bytes: { BinaryValue: Buffer.from('left out') } },
        },
      ],
    }));
    await clock.advance(5);
    expect(await queue.receive(64, 20, 60, new AbortController().signal)).toEqual([
      { messageId: 'm', receiptHandle: 'h', body: 'b', receiveCount: 3, receivedAt: clock.about(5), attributes: {}, traceHeader: 'Root=1' },
      {
        messageId: 'n',
        receiptHandle: 'i',
        body: 'c',
        receiveCount: 1,
        receivedAt: clock.about(5),
        attributes: { text: 'kept' },
        groupId: 'job-1',
      },
    ]);
    expect(sent[0]?.input).toEqual({
      QueueUrl: URL_OF_QUEUE,
      MaxNumberOfMessages: 10,
      MessageAttributeNames: ['All'],
      WaitTimeSeconds: 20,
      VisibilityTimeout: 60,
      MessageSystemAttributeNames: ['ApproximateReceiveCount', 'AWSTraceHeader', 'MessageGroupId'],
    });
  });

  it('reads an answer without messages as none', async () => {
    expect(await queueAnswering(() => ({})).queue.receive(1, 20, 60, new AbortController().signal)).toEqual([]);
  });

  it('ends with the poll it belongs to, and no other call ends with it', async () => {
    const poll = new AbortController();
    const { queue, signals } = queueAnswering(never);
    const receive = queue.receive(1, 20, 60, poll.signal);
    const deletion = new AbortController();
    const deleted = queue.delete('h', deletion.signal);
    poll.abort();
    await expect(receive).rejects.toMatchObject({ code: 'SQS_UNAVAILABLE' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    deletion.abort();
    await expect(deleted).rejects.toMatchObject({ code: 'SQS_UNAVAILABLE' });
  });

  it('is not even begun when the poll has ended before', async () => {
    const { queue, signals } = queueAnswering(() => ({}));
    await queue.receive(1, 20, 60, AbortSignal.abort());
    expect(signals[0]?.aborted).toBe(true);
  });
});

onEachClock('sending', () => {
  it('sends 10 a call, in order', async () => {
    const { queue, sent } = queueAnswering(allSent);
    await queue.sendBatch(Array.from({ length: 23 }, (_, index) => ({ body: `${index}` })));
    expect(bodiesOf(sent).map((bodies) => bodies?.length)).toEqual([10, 10, 3]);
    expect(bodiesOf(sent).flat()).toEqual(Array.from({ length: 23 }, (_, index) => `${index}`));
  });

  it('sends no call over 1 MiB', async () => {
    const { queue, sent } = queueAnswering(allSent);
    await queue.sendBatch([{ body: 'ä'.repeat(300_000) }, { body: 'b'.repeat(448_576) }, { body: 'c' }]);
    expect(bodiesOf(sent).map((bodies) => bodies?.length)).toEqual([2, 1]);
  });

  it('carries delay, group and attributes', async () => {
    const { queue, sent } = queueAnswering(allSent);
    await queue.send({ body: 'b', delayS: 7, groupId: 'job', attributes: { reason: 'broken' } });
    expect(sent[0]?.input.Entries).toEqual([
      {
        Id: '0',
        MessageBody: 'b',
        DelaySeconds: 7,
        MessageGroupId: 'job',
        MessageAttributes: { reason: { DataType: 'String', StringValue: 'broken' } },
      },
    ]);
  });

  it('sends nothing for nothing', async () => {
    const { queue, sent } = queueAnswering(allSent);
    await queue.sendBatch([]);
    expect(sent).toEqual([]);
  });

  it('reads the answer entry by entry and sends again only what failed', async () => {
    const { queue, sent, clock } = queueAnswering(
      () => ({ Successful: [{ Id: '0' }, { Id: '2' }], Failed: [{ Id: '1', SenderFault: false, Code: 'InternalError' }] }),
      allSent,
    );
    const sending = queue.sendBatch([{ body: 'a' }, { body: 'b' }, { body: 'c' }]);
    await clock.advance(5_000);
    await sending;
    expect(bodiesOf(sent)).toEqual([['a', 'b', 'c'], ['b']]);
  });

  it('gives up after 5 attempts, or at once when the message is at fault', async () => {
    const failing = queueAnswering(() => ({ Failed: [{ Id: '0', SenderFault: false, Code: 'InternalError' }] }));
    const sending = expect(failing.queue.send({ body: 'a' })).rejects.toMatchObject({ code: 'SQS_UNAVAILABLE', disposition: 'retry' });
    await failing.clock.advance(60_000);
    await sending;
    expect(failing.sent).toHaveLength(5);
    const refusing = queueAnswering(() => ({ Failed: [{ Id: '0', SenderFault: true, Code: 'InvalidMessageContents' }] }));
    await expect(refusing.queue.send({ body: 'a' })).rejects.toMatchObject({ code: 'SQS_MESSAGE_REFUSED', disposition: 'reject' });
    expect(refusing.sent).toHaveLength(1);
  });
});

onEachClock('changing visibility', () => {
  it('names entries by position, so that two deliveries of one message cannot clash', async () => {
    const { queue, sent } = queueAnswering(allSent);
    await queue.changeVisibilityBatch([
      { receiptHandle: 'h', timeoutS: 60 },
      { receiptHandle: 'h', timeoutS: 0 },
    ]);
    expect(sent[0]?.input.Entries).toEqual([
      { Id: '0', ReceiptHandle: 'h', VisibilityTimeout: 60 },
      { Id: '1', ReceiptHandle: 'h', VisibilityTimeout: 0 },
    ]);
  });

  it.each([
    [{ Code: 'ReceiptHandleIsInvalid' }, 'gone'],
    [{ Code: 'MessageNotInflight' }, 'gone'],
    [{ Code: 'AWS.SimpleQueueService.MessageNotInflight' }, 'gone'],
    [
      { Code: 'InvalidParameterValue', Message: 'Reason: Message does not exist or is not available for visibility timeout change.' },
      'gone',
    ],
    [{ Code: 'InvalidParameterValue', Message: 'Total VisibilityTimeout for the message is beyond the limit' }, 'failed'],
    [{ Code: 'InternalError' }, 'failed'],
    [{ Code: 'RequestThrottled' }, 'failed'],
  ])('reads Failed[] entry by entry: %j is %s', async (failure, kind) => {
    const { queue } = queueAnswering(() => ({ Successful: [{ Id: '1' }], Failed: [{ Id: '0', ...failure }] }));
    const changes = ['a', 'b', 'c'].map((receiptHandle) => ({ receiptHandle, timeoutS: 60 }));
    expect(await queue.changeVisibilityBatch(changes)).toMatchObject([{ kind }, { kind: 'changed' }, { kind: 'failed' }]);
  });
});

onEachClock('an error of the SDK', () => {
  it('of a connection is its code', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
    const { queue } = queueAnswering(() => Promise.reject(refused));
    await expect(queue.delete('h')).rejects.toMatchObject({ message: 'SQS DeleteMessage failed: ECONNREFUSED' });
  });

  it.each([
    ['ReceiptHandleIsInvalid', 'SQS_MESSAGE_GONE', 'yield'],
    ['RequestThrottled', 'SQS_UNAVAILABLE', 'retry'],
    ['TimeoutError', 'SQS_UNAVAILABLE', 'retry'],
    ['ExpiredToken', 'SQS_UNAVAILABLE', 'retry'],
  ])('%s becomes %s (%s), its own words only in the cause', async (name, code, disposition) => {
    const { queue } = queueAnswering(() => Promise.reject(sdkError(name)));
    const error: unknown = await queue.delete('h').catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code, disposition, cause: { name } });
    expect(String(error)).not.toContain('secret-handle');
  });
});

onEachClock('the visibility timeout', () => {
  const attributes = (visibilityTimeoutS: number) => ({
    attributes: () => Promise.resolve({ visibilityTimeoutS, approximateMessages: 0 }),
  });
  const logger = new SilentLogger();

  it('is the configured one, else that of the queue, else 600 s', async () => {
    expect(await resolveVisibilityTimeoutS(attributes(60), 90, logger)).toBe(90);
    expect(await resolveVisibilityTimeoutS(attributes(60), undefined, logger)).toBe(60);
    expect(await resolveVisibilityTimeoutS(attributes(0), undefined, logger)).toBe(600);
    expect(await resolveVisibilityTimeoutS({ attributes: () => Promise.reject(new Error('denied')) }, undefined, logger)).toBe(600);
  });

  it('is read together with the number of messages that wait, the delayed ones among them', async () => {
    const Attributes = { VisibilityTimeout: '60', ApproximateNumberOfMessages: '3', ApproximateNumberOfMessagesDelayed: '2' };
    const { queue } = queueAnswering(() => ({ Attributes }));
    expect(await queue.attributes()).toEqual({ visibilityTimeoutS: 60, approximateMessages: 5 });
  });
});
