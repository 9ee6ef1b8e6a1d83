import { MAX_MESSAGE_BYTES, messageBytes, type SqsQueue } from '../../platform/sqs/index.js';
import { AppError } from '../../shared/index.js';
import { DeadLetterPort } from '../application/dead-letter.port.js';

const MAX_REASON_CODE_POINTS = 1_024;
/** What every queue takes: its own limit may be lower than SQS's. */
const SMALL_MESSAGE_BYTES = 262_144;

/**
 * A copy is a message of ours, so it must be a good one: SQS allows neither an empty body nor control characters in an attribute, and
 * counts the attributes. A body that leaves no room for them is cut, because the reason is worth more than its end.
 */
export class SqsDeadLetterAdapter extends DeadLetterPort {
  constructor(private readonly queue: Pick<SqsQueue, 'send'>) {
    super();
  }

  async copy(body: string, reason: string): Promise<{ cut: boolean }> {
    const shown = Array.from(reason.replaceAll(/\p{Cc}/gu, ' '))
      .slice(0, MAX_REASON_CODE_POINTS)
      .join('');
    const message = { body: body === '' ? ' ' : body, attributes: { reason: shown === '' ? 'unknown' : shown } };
    try {
      return await this.send(message, MAX_MESSAGE_BYTES);
    } catch (error) {
      if (!isRefused(error) || messageBytes(message) <= SMALL_MESSAGE_BYTES) throw error;
      return this.send(message, SMALL_MESSAGE_BYTES);
    }
  }

  private async send(message: { body: string; attributes: Record<string, string> }, maxBytes: number): Promise<{ cut: boolean }> {
    const cut = messageBytes(message) > maxBytes;
    await this.queue.send(cut ? cutTo(message, maxBytes) : message);
    return { cut };
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof AppError && error.code === 'SQS_MESSAGE_REFUSED';
}

function cutTo({ body, attributes }: { body: string; attributes: Record<string, string> }, maxBytes: number) {
  const told = { ...attributes, cutFromBytes: String(Buffer.byteLength(body)) };
  const room = maxBytes - messageBytes({ body: '', attributes: told });
  // A character that the cut splits is dropped.
  const text = new TextDecoder().decode(Buffer.from(body).subarray(0, room), { stream: true });
  return { body: text, attributes: told };
}
