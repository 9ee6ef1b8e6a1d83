import { isOfAttempt, type StoredObject } from '../domain/object-metadata.js';
import type { S3Location } from '../domain/s3-uri.js';
import type { Content, ObjectAttributes, ObjectCalls } from './object-store.js';

export interface SinglePutRequest {
  at: S3Location;
  /** In the metadata, so that the object can be told from another's. */
  attemptId: string;
  attributes: ObjectAttributes;
  /** The key has been looked at, and what is there may go. */
  mayReplace: boolean;
  /** Looks at the key. */
  look: () => Promise<StoredObject | undefined>;
  /** Whether that is what this would store. */
  isSame: (stored: StoredObject) => boolean;
}

/*
 * One object by one PutObject, over another only when that has been looked at: so a first run needs no look.
 *
 *   looked at before ──────────────────────────────────────────────→ PutObject
 *   else → PutObject if the key is free ─ taken, or unanswered → HEAD ─ of this attempt: an answer was lost → done
 *                        │                                            ├ what this would store → left alone
 *                        │                                            └ another, none, or not to be seen → PutObject
 *                        └ refused, as by a store that knows no such condition → PutObject; if that works: from now on HEAD first
 */
export class SinglePut {
  /** Buckets of a store that knows no condition. */
  private readonly unconditional = new Set<string>();

  constructor(private readonly store: Pick<ObjectCalls, 'put' | 'putIfFree'>) {}

  /** The ETag, or the object that was there and was left alone. @throws as ObjectStore */
  async put(request: SinglePutRequest, content: Content, signal: AbortSignal): Promise<PutOutcome> {
    const { at, attributes, mayReplace } = request;
    if (mayReplace) return { etag: await this.store.put(at, content, attributes, signal) };
    if (this.unconditional.has(at.bucket)) return this.putOverLooked(request, content, signal);
    const answer = await this.store.putIfFree(at, content, attributes, signal);
    if (answer === 'taken' || answer === 'unanswered') return this.putOverLooked(request, content, signal);
    if (answer !== 'unknown condition') return answer;
    const etag = await this.store.put(at, content, attributes, signal);
    this.unconditional.add(at.bucket);
    return { etag };
  }

  private async putOverLooked(request: SinglePutRequest, content: Content, signal: AbortSignal): Promise<PutOutcome> {
    const stored = await request.look();
    signal.throwIfAborted();
    if (stored !== undefined && isOfAttempt(stored, request.attemptId)) return { etag: stored.etag };
    if (stored !== undefined && request.isSame(stored)) return { etag: stored.etag, leftAlone: stored };
    return { etag: await this.store.put(request.at, content, request.attributes, signal) };
  }
}

interface PutOutcome {
  etag: string;
  leftAlone?: StoredObject;
}
