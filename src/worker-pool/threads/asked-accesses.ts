import type { BucketAccess } from '../domain/bucket-access.js';
import type { BucketAnswer, FromThreadMessage } from '../protocol/thread-messages.schema.js';
import { BucketAccesses } from './bucket-accesses.js';

/** A thread has no credentials of its own: it asks the pool, which asks the SDK. */
export class AskedAccesses {
  readonly known: BucketAccesses;
  private readonly waiting = new Map<string, PromiseWithResolvers<BucketAccess>>();

  constructor(send: (message: FromThreadMessage) => void) {
    this.known = new BucketAccesses((bucket, refusedKeyId) => {
      const answer = Promise.withResolvers<BucketAccess>();
      this.waiting.set(bucket, answer);
      send({ type: 'BUCKET_WANTED', payload: { bucket, ...(refusedKeyId === undefined ? {} : { refusedKeyId }) } });
      return answer.promise;
    });
  }

  answer(answer: BucketAnswer): void {
    const waiting = this.waiting.get(answer.bucket);
    this.waiting.delete(answer.bucket);
    if ('access' in answer) waiting?.resolve(answer.access);
    else waiting?.reject(Object.assign(new Error('the bucket cannot be reached'), { code: answer.code }));
  }
}
