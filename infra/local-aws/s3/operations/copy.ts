import { s3Error } from '../errors.js';
import { quoted, type Reply } from '../reply.js';
import type { S3Request } from '../request.js';
import type { ByteRange } from '../store/body-files.js';
import type { StoredObject } from '../store/model.js';
import type { Store } from '../store/store.js';
import { leaf, s3Document } from '../xml.js';
import { checkReadConditions } from './conditions.js';
import { checkBodySize, checksumElements, MAX_BODY_BYTES, readEntityHead, readWantedAlgorithm } from './entity.js';
import { storeObject } from './objects.js';
import { readPartNumber, readUpload, storePart } from './parts.js';

export async function copyObject(request: S3Request, store: Store): Promise<Reply> {
  const bucket = store.bucket(request.bucket);
  const source = copySource(request, store);
  const replaces = request.header('x-amz-metadata-directive') === 'REPLACE';
  if (source.size > MAX_BODY_BYTES) {
    const message = `The specified copy source is larger than the maximum allowable size for a copy source: ${MAX_BODY_BYTES}`;
    throw s3Error('InvalidRequest', message);
  }
  if (!replaces && bucket.find(request.key) === source) {
    throw s3Error(
      'InvalidRequest',
      "This copy request is illegal because it is copying an object to itself without changing the object's metadata.",
    );
  }
  const head = replaces ? readEntityHead(request) : { headers: source.headers, metadata: source.metadata };
  const algorithm = readWantedAlgorithm(request) ?? source.checksum?.algorithm;
  const bytes = store.bodies.read(source.pieces, { start: 0, end: source.size - 1 });
  const claims = { size: source.size, chunked: false, ...(algorithm && { algorithm }) };
  const object = await storeObject(request, store, head, bytes, claims);
  return { status: 200, body: copyResult('CopyObjectResult', object, checksumElements(object.checksum)) };
}

export async function uploadPartCopy(request: S3Request, store: Store): Promise<Reply> {
  const partNumber = readPartNumber(request);
  const upload = readUpload(request, store);
  const source = copySource(request, store);
  const { start, end } = copyRange(request, source.size);
  const size = end - start + 1;
  checkBodySize(size);
  const bytes = store.bodies.read(source.pieces, { start, end });
  const part = await storePart(request, store, partNumber, bytes, {
    size,
    chunked: false,
    ...(upload.checksum && { algorithm: upload.checksum.algorithm }),
  });
  return { status: 200, body: copyResult('CopyPartResult', part) };
}

function copyResult(name: string, { etag, lastModifiedIso }: { etag: string; lastModifiedIso: string }, ...more: string[]): string {
  return s3Document(name, leaf('ETag', quoted(etag)), leaf('LastModified', lastModifiedIso), ...more);
}

/** @throws InvalidArgument, NotImplemented for a version, NoSuchBucket, NoSuchKey, PreconditionFailed */
function copySource(request: S3Request, store: Store): StoredObject {
  const header = request.header('x-amz-copy-source') ?? '';
  if (/\?versionId=/.test(header)) throw s3Error('NotImplemented');
  const [, bucket, key] = /^\/?([^/]+)\/(.+)$/s.exec(decode(header)) ?? [];
  if (bucket === undefined || key === undefined) throw s3Error('InvalidArgument', 'Copy Source must mention the source bucket and key');
  const source = store.bucket(bucket).object(key);
  try {
    checkReadConditions((name) => request.header(`x-amz-copy-source-${name}`), source);
  } catch {
    throw s3Error('PreconditionFailed');
  }
  return source;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw s3Error('InvalidArgument', 'Copy Source must be URL-encoded');
  }
}

function copyRange(request: S3Request, size: number): ByteRange {
  const header = request.header('x-amz-copy-source-range');
  if (header === undefined) return { start: 0, end: size - 1 };
  const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(header) ?? [];
  if (start === undefined || end === undefined || Number(start) > Number(end)) {
    throw s3Error('InvalidArgument', 'The x-amz-copy-source-range value must be of the form bytes=first-last');
  }
  if (Number(end) >= size) throw s3Error('InvalidArgument', `Range specified is not valid for source object of size: ${size}`);
  return { start: Number(start), end: Number(end) };
}
