import { s3Error } from '../errors.js';
import type { Reply } from '../reply.js';
import type { S3Request } from '../request.js';
import type { Store } from '../store/store.js';

export function createBucket(request: S3Request, store: Store): Reply {
  if (store.has(request.bucket)) throw s3Error('BucketAlreadyOwnedByYou', undefined, { BucketName: request.bucket });
  store.createBucket(request.bucket);
  return { status: 200, headers: { location: `/${request.bucket}` } };
}

export function headBucket(request: S3Request, store: Store): Reply {
  store.bucket(request.bucket);
  return { status: 200 };
}
