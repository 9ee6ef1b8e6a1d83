import type { Readable } from 'node:stream';
import { readClaims, type BodyClaims } from '../body/claims.js';
import { CHECKSUM_ALGORITHMS, checksumHeader } from '../body/checksum.js';
import { receiveDocument } from '../body/receive.js';
import { s3Error } from '../errors.js';
import { quoted, type Reply } from '../reply.js';
import type { S3Request } from '../request.js';
import type { EntityHead, StoredObject } from '../store/model.js';
import type { Store } from '../store/store.js';
import { contentsOf, leaf, node, rootContent, s3Document, textOf } from '../xml.js';
import { checkReadConditions, checkWriteConditions, readRange } from './conditions.js';
import { checkBodySize, checksumHeaders, entityHeaders, readEntityHead } from './entity.js';

const MAX_DELETED_KEYS = 1_000;

export async function putObject(request: S3Request, store: Store): Promise<Reply> {
  const head = readEntityHead(request);
  const object = await storeObject(request, store, head, request.message, readClaims(request));
  return { status: 200, headers: { etag: quoted(object.etag), ...checksumHeaders(object.checksum) } };
}

/** Receives the bytes of a put or a copy; the key holds the new object only once all of them have come and been verified. */
export async function storeObject(
  request: S3Request,
  store: Store,
  head: EntityHead,
  bytes: Readable,
  claims: BodyClaims,
): Promise<StoredObject> {
  const bucket = store.bucket(request.bucket);
  checkBodySize(claims.size);
  checkWriteConditions(request, bucket.find(request.key));
  const { piece, md5, checksum } = await store.bodies.receive(bytes, claims);
  try {
    checkWriteConditions(request, bucket.find(request.key)); // again: the key may have changed while the body came
  } catch (error) {
    store.bodies.drop([piece]);
    throw error;
  }
  const object: StoredObject = {
    ...head,
    key: request.key,
    size: piece.size,
    etag: md5,
    lastModifiedIso: new Date().toISOString(),
    pieces: [piece],
    ...(claims.algorithm && checksum !== undefined && { checksum: { algorithm: claims.algorithm, type: 'FULL_OBJECT', value: checksum } }),
  };
  if (request.corrupt) store.bodies.flipByte(piece);
  bucket.put(object);
  request.detail['size'] = object.size;
  return object;
}

/** GetObject and HeadObject: the sender leaves the bytes out for HEAD. */
export function getObject(request: S3Request, store: Store): Reply {
  const object = store.bucket(request.bucket).object(request.key);
  checkReadConditions((name) => request.header(name), object);
  const range = readRange(request.header('range'), object.size);
  const { start, end } = range ?? { start: 0, end: object.size - 1 };
  const wantsChecksum = request.header('x-amz-checksum-mode') === 'ENABLED' && range === undefined;
  const length = end - start + 1;
  request.detail['size'] = length;
  return {
    status: range ? 206 : 200,
    headers: {
      ...entityHeaders(object),
      ...(wantsChecksum && checksumHeaders(object.checksum)),
      ...(range && { 'content-range': `bytes ${start}-${end}/${object.size}` }),
      'content-length': length,
      'last-modified': new Date(object.lastModifiedIso).toUTCString(),
      'accept-ranges': 'bytes',
      etag: quoted(object.etag),
    },
    ...(length > 0 && { stream: () => store.bodies.read(object.pieces, { start, end }) }),
  };
}

/** S3 answers 204 whether or not there was such a key. */
export function deleteObject(request: S3Request, store: Store): Reply {
  store.bucket(request.bucket).remove(request.key);
  return { status: 204 };
}

export async function deleteObjects(request: S3Request, store: Store): Promise<Reply> {
  const bucket = store.bucket(request.bucket);
  const proven = request.header('content-md5') ?? CHECKSUM_ALGORITHMS.find((name) => request.header(checksumHeader(name)) !== undefined);
  if (proven === undefined) throw s3Error('InvalidRequest', 'Missing required header for this request: Content-MD5');
  const document = rootContent(await receiveDocument(request, readClaims(request)), 'Delete');
  const keys = contentsOf(document, 'Object').flatMap((object) => textOf(object, 'Key') ?? []);
  if (keys.length === 0 || keys.length > MAX_DELETED_KEYS) throw s3Error('MalformedXML');
  for (const key of keys) bucket.remove(key);
  request.detail['keys'] = keys.length;
  const told = textOf(document, 'Quiet') === 'true' ? [] : keys;
  return { status: 200, body: s3Document('DeleteResult', ...told.map((key) => node('Deleted', leaf('Key', key)))) };
}
