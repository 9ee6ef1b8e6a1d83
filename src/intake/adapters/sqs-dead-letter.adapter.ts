import type { SqsQueue } from '../../platform/sqs/index.js';
import { DeadLetterPort } from '../application/dead-letter.port.js';

const MAX_REASON_CODE_POINTS = 1_024;

export class SqsDeadLetterAdapter extends DeadLetterPort {
  constructor(private readonly queue: SqsQueue) {
    super();
  }

  async copy(body: string, reason: string): Promise<void> {
    // SQS allows neither an empty body nor control characters in an attribute.
    const shown = Array.from(reason.replaceAll(/\p{Cc}/gu, ' '))
      .slice(0, MAX_REASON_CODE_POINTS)
      .join('');
    await this.queue.send({ body: body === '' ? ' ' : body, attributes: { reason: shown === '' ? 'unknown' : shown } });
  }
}
