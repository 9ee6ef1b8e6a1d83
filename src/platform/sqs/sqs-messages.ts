import type { MonotonicMs } from '../../shared/index.js';

export interface ReceivedMessage {
  messageId: string;
  /** Names this one delivery; another delivery of the message has another. */
  receiptHandle: string;
  body: string;
  /** 1 for the first delivery. */
  receiveCount: number;
  /** When the answer arrived. */
  receivedAt: MonotonicMs;
  /** X-Ray's trace header, when the sender gave one. */
  traceHeader?: string;
  /** The group of a fair queue, when the sender gave one. */
  groupId?: string;
  /** Message attributes of type String. */
  attributes: Readonly<Record<string, string>>;
}

export interface OutgoingMessage {
  body: string;
  delayS?: number;
  /** Fair queues share their receivers evenly among the groups. */
  groupId?: string;
  /** Message attributes of type String. */
  attributes?: Readonly<Record<string, string>>;
}

export interface VisibilityChange {
  receiptHandle: string;
  /** Seconds from now; 0 makes the message visible at once. */
  timeoutS: number;
}

/**
 * What became of one entry of a batch call.
 * - `gone`: the delivery is not ours any more; nothing can bring it back
 * - `failed`: this time; the same may succeed later
 */
export type VisibilityOutcome = { kind: 'changed' } | { kind: 'gone'; code: string } | { kind: 'failed'; cause: unknown };

/** ChangeMessageVisibilityBatch for at most 10 entries: the outcomes in the order of the entries. May reject: nothing is then known. */
export abstract class VisibilityPort {
  abstract changeVisibilityBatch(queueUrl: string, changes: readonly VisibilityChange[], signal: AbortSignal): Promise<VisibilityOutcome[]>;
}

/** SQS takes at most 10 entries a call. */
export const MAX_ENTRIES = 10;
/** SQS's limit of a message, and of all messages of a call together; attributes count. */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** What a message counts: its body, and names, types and values of its attributes. */
export function messageBytes({ body, attributes = {} }: OutgoingMessage): number {
  const attributeBytes = Object.entries(attributes).reduce((sum, [name, text]) => sum + Buffer.byteLength(`${name}String${text}`), 0);
  return Buffer.byteLength(body) + attributeBytes;
}
