import { expect, it } from '@jest/globals';
import { BatchConsumer, type BatchesQueue } from '../../../../src/batches/adapters/batch.consumer.js';
import { WorkSigns } from '../../../../src/batches/application/work-signs.js';
import type { ReceivedMessage, VisibilityChange, VisibilityOutcome } from '../../../../src/platform/sqs/index.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

const LAST_RECEIVE = 20;

/** One poll at a time, which the test ends. */
class FakeBatchesQueue implements BatchesQueue {
  readonly calls: string[] = [];
  endPoll: (messages: ReceivedMessage[]) => void = () => undefined;

  receive(_max: number, _waitS: number, _visibilityS: number, signal: AbortSignal): Promise<ReceivedMessage[]> {
    return new Promise((resolve, reject) => {
      this.endPoll = resolve;
      signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    });
  }

  async changeVisibilityBatch(changes: readonly VisibilityChange[]): Promise<VisibilityOutcome[]> {
    this.calls.push(...changes.map(({ receiptHandle }) => `show ${receiptHandle}`));
    return changes.map(() => ({ kind: 'changed' }));
  }

  async send({ body, groupId }: { body: string; groupId?: string }): Promise<void> {
    this.calls.push(`send ${body} of ${groupId}`);
  }

  async delete(receiptHandle: string): Promise<void> {
    this.calls.push(`delete ${receiptHandle}`);
  }

  async attributes(): Promise<{ visibilityTimeoutS: number; approximateMessages: number }> {
    return { visibilityTimeoutS: 60, approximateMessages: 0 };
  }
}

onEachClock('stopping the batch consumer', () => {
  async function setUp() {
    const clock = newClock();
    const queue = new FakeBatchesQueue();
    const { calls } = queue;
    const work = {
      takeInBatch: { capacity: 3, hasEnough: false, takeIn: async () => void calls.push('take in') },
      runBatch: { pause: () => void calls.push('pause'), drain: async () => void calls.push('hand back') },
    };
    const tools = { signs: new WorkSigns(clock), clock, logger: new RecordingLogger() };
    const consumer = new BatchConsumer({ stallTimeoutMs: 900_000 }, queue, work, tools);
    await consumer.start();
    const startedAt = clock.monotonicMs();
    return { clock, queue, calls, consumer, deadlines: { finishBy: startedAt + 15_000, handBackBy: startedAt + 21_000 } };
  }

  it('The last poll ends by itself: no task begins from the first moment on, and batches are handed back when it has ended', async () => {
    const { clock, queue, calls, consumer, deadlines } = await setUp();
    consumer.quiesce();
    const drained = consumer.drain(deadlines);
    await clock.advance(2_900);
    expect(calls).toEqual(['pause']);
    queue.endPoll([]);
    await drained;
    expect(calls).toEqual(['pause', 'hand back']);
  });

  it('takes in nothing that the last poll brings, and lets none of it be dead-lettered', async () => {
    const { queue, calls, consumer, deadlines } = await setUp();
    const message = (name: string, receiveCount: number) => ({
      messageId: name,
      receiptHandle: name,
      body: name,
      receiveCount,
      receivedAt: 0,
      attributes: {},
      groupId: 'job-1',
    });
    consumer.quiesce();
    queue.endPoll([message('fresh', 1), message('spent', LAST_RECEIVE)]);
    await consumer.drain(deadlines);
    expect(new Set(calls)).toEqual(new Set(['pause', 'send spent of job-1', 'show fresh', 'delete spent', 'hand back']));
    expect(calls.at(-1)).toBe('hand back');
  });

  it('hands batches back when running tasks must end, although its last poll does not end', async () => {
    const { clock, calls, consumer, deadlines } = await setUp();
    consumer.quiesce();
    const drained = consumer.drain(deadlines);
    await clock.advance(14_000);
    expect(calls).toEqual(['pause']);
    await clock.advance(1_000);
    await settled();
    await drained;
    expect(calls).toEqual(['pause', 'hand back']);
  });
});
