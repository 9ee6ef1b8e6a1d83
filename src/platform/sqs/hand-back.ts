import type { ReceivedMessage, VisibilityOutcome } from './sqs-messages.js';
import type { SqsQueue } from './sqs-queue.js';

export type HandBackQueue = Pick<SqsQueue, 'changeVisibilityBatch' | 'send' | 'delete'>;

/**
 * Shows at most 10 messages to others at once. A message whose receives are spent would go to the dead-letter queue instead, so a copy of
 * it is sent, which starts anew, and the message is deleted; a crash in between leaves both.
 *
 * Call it when no receive of this process is under way, be it only at the server: that one would take what is shown here, for nobody.
 * @throws what SQS answered: the messages concerned come back after their visibility timeout
 */
export async function handBack(
  queue: HandBackQueue,
  messages: readonly ReceivedMessage[],
  maxReceiveCount: number,
  signal?: AbortSignal,
): Promise<void> {
  const isSpent = ({ receiveCount }: ReceivedMessage) => receiveCount >= maxReceiveCount;
  const calls = messages.filter(isSpent).map((message) => sendAnew(queue, message, signal));
  const others = messages.filter((message) => !isSpent(message));
  if (others.length > 0) calls.push(show(queue, others, signal));
  const failed = (await Promise.allSettled(calls)).find((call) => call.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function show(queue: HandBackQueue, messages: readonly ReceivedMessage[], signal: AbortSignal | undefined): Promise<void> {
  const changes = messages.map(({ receiptHandle }) => ({ receiptHandle, timeoutS: 0 }));
  const outcomes: VisibilityOutcome[] = await queue.changeVisibilityBatch(changes, signal);
  for (const outcome of outcomes) if (outcome.kind === 'failed') throw outcome.cause;
}

async function sendAnew(queue: HandBackQueue, message: ReceivedMessage, signal: AbortSignal | undefined): Promise<void> {
  const { body, attributes, groupId, receiptHandle } = message;
  await queue.send(
    { body, ...(Object.keys(attributes).length > 0 ? { attributes } : {}), ...(groupId === undefined ? {} : { groupId }) },
    signal,
  );
  await queue.delete(receiptHandle, signal);
}
