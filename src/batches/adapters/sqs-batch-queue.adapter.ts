import type { SqsQueue } from '../../platform/sqs/index.js';
import { BatchQueuePort, type BatchMessage } from '../application/batch-queue.port.js';
import { encodeBatchMessage } from './batch-message.schema.js';

export class SqsBatchQueueAdapter extends BatchQueuePort {
  constructor(private readonly queue: SqsQueue) {
    super();
  }

  async isEmpty(): Promise<boolean> {
    return (await this.queue.attributes()).approximateMessages === 0;
  }

  async send(messages: readonly BatchMessage[], delayS = 0): Promise<void> {
    // The group makes the queue fair: a huge job does not hold back small ones.
    await this.queue.sendBatch(messages.map((message) => ({ body: encodeBatchMessage(message), groupId: message.jobId, delayS })));
  }
}
