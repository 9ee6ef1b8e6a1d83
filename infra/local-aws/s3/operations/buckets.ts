import { receiveDocument } from '../body/receive.js';
import { s3Error } from '../errors.js';
import type { Reply } from '../reply.js';
import type { S3Request } from '../request.js';
import type { Store } from '../store/store.js';
import { contentsOf, rootContent, s3Document, textOf } from '../xml.js';

export function createBucket(request: S3Request, store: Store): Reply {
  if (store.has(request.bucket)) throw s3Error('BucketAlreadyOwnedByYou', undefined, { BucketName: request.bucket });
  store.createBucket(request.bucket);
  return { status: 200, headers: { location: `/${request.bucket}` } };
}

export function headBucket(request: S3Request, store: Store): Reply {
  store.bucket(request.bucket);
  return { status: 200 };
}

/** Kept and given back, not carried out: nothing here gets old. */
export async function putLifecycle(request: S3Request, store: Store): Promise<Reply> {
  const bucket = store.bucket(request.bucket);
  const content = rootContent(await receiveDocument(request), 'LifecycleConfiguration');
  const rules = contentsOf(content, 'Rule');
  const areRules = rules.every((rule) => ['Enabled', 'Disabled'].includes(textOf(rule, 'Status') ?? ''));
  if (rules.length === 0 || !areRules) throw s3Error('MalformedXML');
  bucket.setLifecycle(content);
  return { status: 200 };
}

export function getLifecycle(request: S3Request, store: Store): Reply {
  const { name, lifecycle } = store.bucket(request.bucket);
  if (lifecycle === undefined) throw s3Error('NoSuchLifecycleConfiguration', undefined, { BucketName: name });
  return { status: 200, body: s3Document('LifecycleConfiguration', lifecycle) };
}
