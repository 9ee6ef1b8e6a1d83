import { ChangeMessageVisibilityBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { isGone, toSqsError } from './sqs-errors.js';
import { VisibilityPort, type VisibilityChange, type VisibilityOutcome } from './sqs-messages.js';

export class SqsVisibilityAdapter extends VisibilityPort {
  constructor(private readonly client: SQSClient) {
    super();
  }

  async changeVisibilityBatch(queueUrl: string, changes: readonly VisibilityChange[], signal: AbortSignal): Promise<VisibilityOutcome[]> {
    // The id is the position, never the message's: two deliveries of one message would make the ids equal, which fails the whole call.
    const command = new ChangeMessageVisibilityBatchCommand({
      QueueUrl: queueUrl,
      Entries: changes.map(({ receiptHandle, timeoutS }, position) => ({
        Id: String(position),
        ReceiptHandle: receiptHandle,
        VisibilityTimeout: timeoutS,
      })),
    });
    const answer = await this.client.send(command, { abortSignal: signal }).catch((error: unknown) => {
      throw toSqsError('ChangeMessageVisibilityBatch', error);
    });
    const changed = new Set(answer.Successful?.map(({ Id }) => Id));
    return changes.map((_, position): VisibilityOutcome => {
      const id = String(position);
      if (changed.has(id)) return { kind: 'changed' };
      const failure = answer.Failed?.find(({ Id }) => Id === id);
      const code = failure?.Code ?? 'unanswered';
      if (isGone(failure?.Code, failure?.Message)) return { kind: 'gone', code };
      return {
        kind: 'failed',
        cause: toSqsError('ChangeMessageVisibilityBatch', Object.assign(new Error(failure?.Message), { name: code })),
      };
    });
  }
}
