import type { S3Operation, S3Request } from './request.js';

export type S3FaultAction =
  /** Answers `status` and `code`; nothing is applied. */
  | { kind: 'fail'; status: number; code: string }
  /** Applies the request, then destroys the connection instead of answering. */
  | { kind: 'drop-reply' }
  /** Destroys the connection before anything is applied. */
  | { kind: 'cut' }
  /** Waits before the request is read and applied. */
  | { kind: 'delay'; ms: number }
  /** Complete or a copy answers 200 and, behind the white space that kept the connection, an error document; nothing is applied. */
  | { kind: 'late-200-error'; code: string }
  /** Destroys the connection once so many bytes of an object have been sent. */
  | { kind: 'cut-body'; afterBytes: number }
  /** Sends the bytes of an object no faster than this, a tenth of a second's worth at a time. */
  | { kind: 'slow-body'; bytesPerSecond: number }
  /** Stores the body with one byte flipped after it was verified: what no store should do, for checks that must notice. */
  | { kind: 'flip-byte' };

export interface S3FaultRule {
  operation?: S3Operation;
  key?: RegExp;
  /** How many requests it strikes; without it, every one. */
  times?: number;
  /** How many matching requests pass before it strikes. */
  after?: number;
  action: S3FaultAction;
}

const LATE: ReadonlySet<S3Operation> = new Set(['CompleteMultipartUpload', 'CopyObject', 'UploadPartCopy']);
const READING: ReadonlySet<S3FaultAction['kind']> = new Set(['cut-body', 'slow-body']);
const STORING: ReadonlySet<S3Operation> = new Set(['PutObject', 'UploadPart', 'CompleteMultipartUpload', 'CopyObject', 'UploadPartCopy']);

function matches(rule: S3FaultRule, { operation, key }: S3Request): boolean {
  if (rule.action.kind === 'late-200-error' && !LATE.has(operation)) return false;
  if (READING.has(rule.action.kind) && operation !== 'GetObject') return false;
  if (rule.action.kind === 'flip-byte' && !STORING.has(operation)) return false;
  return (rule.operation ?? operation) === operation && (rule.key === undefined || key.search(rule.key) >= 0);
}

export class S3Faults {
  private readonly rules = new Map<S3FaultRule, { seen: number; struck: number }>();

  /** The answer takes the rule away again. The earliest rule that matches decides. */
  add(rule: S3FaultRule): () => void {
    const own = { ...rule };
    this.rules.set(own, { seen: 0, struck: 0 });
    return () => void this.rules.delete(own);
  }

  /** What shall befall this request; counts it. */
  take(request: S3Request): S3FaultAction | undefined {
    for (const [rule, count] of this.rules) {
      if (!matches(rule, request)) continue;
      count.seen += 1;
      if (count.seen <= (rule.after ?? 0) || count.struck >= (rule.times ?? Infinity)) continue;
      count.struck += 1;
      return rule.action;
    }
    return undefined;
  }
}
