import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CreateQueueCommand, DeleteQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { buildApp } from 'fauxqs';
import { PollLoop, SqsQueue, SqsVisibilityAdapter, VisibilityHeartbeats, type ReceivedMessage } from '../../src/platform/sqs/index.js';
import { Metrics, SystemClock } from '../../src/shared/index.js';
import { eventually } from '../support/local-aws.js';
import { SilentLogger } from '../support/silent-logger.js';

class NoMetrics extends Metrics {
  increment(): void {}
  gauge(): void {}
  observe(): void {}
}

const clock = new SystemClock();
const noAbort = new AbortController().signal;
const VISIBILITY_S = 30;
/** How long a stop may wait for the poll under way. */
const PATIENCE_MS = 10_000;

describe('SQS, as fauxqs plays it', () => {
  const app = buildApp({ logger: false });
  let client: SQSClient;
  let queue: SqsQueue;
  let number = 0;

  beforeAll(async () => {
    const endpoint = await app.listen({ host: '127.0.0.1', port: 0 });
    client = new SQSClient({
      endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      useQueueUrlAsEndpoint: false,
    });
  });

  beforeEach(async () => {
    const { QueueUrl = '' } = await client.send(
      new CreateQueueCommand({ QueueName: `queue-${++number}`, Attributes: { VisibilityTimeout: String(VISIBILITY_S) } }),
    );
    queue = new SqsQueue(client, QueueUrl, clock);
  });

  afterEach(async () => {
    await client.send(new DeleteQueueCommand({ QueueUrl: queue.url }));
  });

  afterAll(async () => {
    client.destroy();
    await app.close();
  });

  async function receiveOne(): Promise<ReceivedMessage> {
    const [message] = await queue.receive(1, 5, VISIBILITY_S, noAbort);
    if (message === undefined) throw new Error('nothing was received');
    return message;
  }

  it('takes 23 messages in calls of 10, fair-queue groups and attributes among them, and gives them back', async () => {
    const bodies = Array.from({ length: 23 }, (_, index) => JSON.stringify({ index }));
    await queue.sendBatch(bodies.map((body) => ({ body, groupId: 'job-1', attributes: { reason: 'test' } })));
    expect(await queue.attributes()).toEqual({ visibilityTimeoutS: VISIBILITY_S, approximateMessages: 23 });
    const received: string[] = [];
    while (received.length < bodies.length) {
      const messages = await queue.receive(10, 5, VISIBILITY_S, noAbort);
      received.push(...messages.map(({ body }) => body));
      expect(messages.every(({ attributes }) => attributes.reason === 'test')).toBe(true);
      for (const { receiptHandle } of messages) await queue.delete(receiptHandle);
    }
    expect(received.sort()).toEqual(bodies.sort());
    expect((await queue.attributes()).approximateMessages).toBe(0);
  });

  it('shows a released message at once, counts its receives, and knows a deleted one no more', async () => {
    await queue.send({ body: 'x' });
    const first = await receiveOne();
    expect(await queue.changeVisibilityBatch([{ receiptHandle: first.receiptHandle, timeoutS: 0 }])).toEqual([{ kind: 'changed' }]);
    const second = await receiveOne();
    expect(second).toMatchObject({ messageId: first.messageId, receiveCount: 2 });
    await queue.delete(second.receiptHandle);
    expect(await queue.changeVisibilityBatch([{ receiptHandle: second.receiptHandle, timeoutS: 60 }])).toMatchObject([{ kind: 'gone' }]);
  });

  it('holds messages while heartbeats renew them, and tells the one whose message was deleted', async () => {
    await queue.sendBatch([{ body: 'kept' }, { body: 'deleted' }]);
    const heartbeats = new VisibilityHeartbeats(
      new SqsVisibilityAdapter(client),
      { intervalMs: 200, timeoutS: 2 },
      { clock, logger: new SilentLogger(), metrics: new NoMetrics() },
    );
    const messages = await queue.receive(10, 5, 2, noAbort);
    const held = messages.map((message) => ({ message, heartbeat: heartbeats.forMessage({ queueUrl: queue.url, ...message }) }));
    for (const { heartbeat } of held) heartbeat.start();
    const deleted = held.find(({ message }) => message.body === 'deleted');
    const kept = held.find(({ message }) => message.body === 'kept');
    await queue.delete(deleted?.message.receiptHandle ?? '');
    await eventually(() => deleted?.heartbeat.error !== undefined);
    expect(deleted?.heartbeat).toMatchObject({ running: false, error: { code: 'VISIBILITY_LOST' }, signal: { aborted: true } });
    expect(await queue.receive(10, 3, VISIBILITY_S, noAbort)).toEqual([]);
    expect(kept?.heartbeat).toMatchObject({ running: true, error: undefined });
    for (const { heartbeat } of held) await heartbeat.stop();
    expect(await receiveOne()).toMatchObject({ body: 'kept', receiveCount: 2 });
  });

  it('feeds a poll loop, whose stop waits for the end of an idle long poll', async () => {
    const bodies = Array.from({ length: 12 }, (_, index) => `${index}`);
    const handled: string[] = [];
    let running = 0;
    let peak = 0;
    const loop = new PollLoop({
      name: 'Test',
      queue,
      maxReceiveCount: 5,
      capacity: () => 4,
      visibilityTimeoutS: VISIBILITY_S,
      clock,
      logger: new SilentLogger(),
      handle: async ({ body, receiptHandle }) => {
        peak = Math.max(peak, ++running);
        await queue.delete(receiptHandle);
        handled.push(body);
        running--;
      },
    });
    loop.start();
    await queue.sendBatch(bodies.map((body) => ({ body })));
    await eventually(() => handled.length === bodies.length);
    await loop.idle();
    const stoppedAt = clock.monotonicMs();
    await loop.stop(stoppedAt + PATIENCE_MS);
    expect(clock.monotonicMs() - stoppedAt).toBeLessThan(PATIENCE_MS);
    // Nobody takes what is handed back from now on.
    await queue.send({ body: 'late' });
    expect(await receiveOne()).toMatchObject({ body: 'late', receiveCount: 1 });
    expect(handled.sort()).toEqual(bodies.sort());
    expect(peak).toBeLessThanOrEqual(4);
  });
});
