import { createHash } from 'node:crypto';
import { CHECKSUM_ALGORITHMS, compositeChecksum, fullObjectChecksum, isCrc } from '../body/checksum.js';
import { readChecksumHeader } from '../body/claims.js';
import { receiveDocument } from '../body/receive.js';
import { s3Error } from '../errors.js';
import { quoted, unquoted, type Reply } from '../reply.js';
import type { S3Request } from '../request.js';
import type { StoredObject, StoredPart, Upload } from '../store/model.js';
import type { Store } from '../store/store.js';
import { contentsOf, leaf, rootContent, s3Document, textOf } from '../xml.js';
import { checkWriteConditions } from './conditions.js';
import { checksumElements } from './entity.js';
import { MAX_PARTS, readUpload } from './parts.js';
import { readChecksumType } from './uploads.js';

const MIN_PART_BYTES = 5 * 1024 ** 2;

export async function completeMultipartUpload(request: S3Request, store: Store): Promise<Reply> {
  readUpload(request, store);
  const listed = readListedParts(await receiveDocument(request));
  // From here to the end nothing awaits: of two equal requests one finds the upload gone.
  const upload = readUpload(request, store);
  const bucket = store.bucket(request.bucket);
  const parts = listed.map((part, index) => chosenPart(upload, part, index === listed.length - 1));
  const size = parts.reduce((sum, { piece }) => sum + piece.size, 0);
  checkObjectSize(request, size);
  const checksum = objectChecksum(upload, parts);
  checkObjectChecksum(request, upload, checksum?.value);
  checkWriteConditions(request, bucket.find(request.key));
  const object: StoredObject = {
    key: upload.key,
    headers: upload.headers,
    metadata: upload.metadata,
    size,
    etag: multipartEtag(parts),
    lastModifiedIso: new Date().toISOString(),
    pieces: parts.map(({ piece }) => piece),
    ...(checksum && { checksum }),
  };
  const [first] = object.pieces;
  if (request.corrupt && first) store.bodies.flipByte(first);
  bucket.completeUpload(upload, object);
  Object.assign(request.detail, { size, parts: parts.length });
  return {
    status: 200,
    body: s3Document(
      'CompleteMultipartUploadResult',
      leaf('Location', `/${bucket.name}/${object.key}`),
      leaf('Bucket', bucket.name),
      leaf('Key', object.key),
      leaf('ETag', quoted(object.etag)),
      checksumElements(checksum),
    ),
  };
}

interface ListedPart {
  partNumber: number;
  etag: string;
  /** Base64 by algorithm, as far as the request names them. */
  checksums: Map<string, string>;
}

/** @throws MalformedXML, InvalidArgument, InvalidPartOrder */
function readListedParts(xml: string): ListedPart[] {
  const parts = contentsOf(rootContent(xml, 'CompleteMultipartUpload'), 'Part').map(readListedPart);
  if (parts.length === 0 || parts.length > MAX_PARTS) throw s3Error('MalformedXML');
  const ascending = parts.every(({ partNumber }, index) => partNumber > (parts[index - 1]?.partNumber ?? 0));
  if (!ascending) throw s3Error('InvalidPartOrder');
  return parts;
}

function readListedPart(xml: string): ListedPart {
  const [number, etag] = [textOf(xml, 'PartNumber'), textOf(xml, 'ETag')];
  if (etag === undefined || number === undefined || !/^\d+$/.test(number)) throw s3Error('MalformedXML');
  const partNumber = Number(number);
  if (partNumber < 1 || partNumber > MAX_PARTS) {
    throw s3Error('InvalidArgument', `PartNumber must be an integer between 1 and ${MAX_PARTS}, inclusive`);
  }
  const checksums = new Map<string, string>();
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const value = textOf(xml, `Checksum${algorithm}`);
    if (value !== undefined) checksums.set(algorithm, value);
  }
  return { partNumber, etag: unquoted(etag), checksums };
}

/** @throws InvalidPart, EntityTooSmall, InvalidRequest */
function chosenPart(upload: Upload, { partNumber, etag, checksums }: ListedPart, isLast: boolean): StoredPart {
  const { checksum } = upload;
  const missing = { UploadId: upload.uploadId, PartNumber: partNumber, ETag: etag };
  const part = upload.parts.get(partNumber);
  if (part === undefined || part.etag !== etag) throw s3Error('InvalidPart', undefined, missing);
  for (const [algorithm, value] of checksums) {
    if (checksum?.algorithm !== algorithm || part.checksum !== value) throw s3Error('InvalidPart', undefined, missing);
  }
  if (checksum?.type === 'COMPOSITE' && checksums.size === 0) {
    const created = `The upload was created using a ${checksum.algorithm.toLowerCase()} checksum.`;
    const message = `${created} The complete request must include the checksum for each part. It was missing for part ${partNumber} in the request.`;
    throw s3Error('InvalidRequest', message);
  }
  if (!isLast && part.piece.size < MIN_PART_BYTES) {
    const elements = { ProposedSize: part.piece.size, MinSizeAllowed: MIN_PART_BYTES, PartNumber: partNumber, ETag: etag };
    throw s3Error('EntityTooSmall', undefined, elements);
  }
  return part;
}

function checkObjectSize(request: S3Request, size: number): void {
  const claimed = request.header('x-amz-mp-object-size');
  if (claimed !== undefined && claimed !== String(size)) {
    const message = `The provided 'x-amz-mp-object-size' header value ${claimed} does not match what was computed: ${size}`;
    throw s3Error('InvalidRequest', message);
  }
}

/** Undefined for an upload without checksums, and where bodies are not looked at closely enough to know them. */
function objectChecksum({ checksum }: Upload, parts: readonly StoredPart[]): StoredObject['checksum'] {
  if (checksum === undefined) return undefined;
  const { algorithm, type } = checksum;
  const known = parts.flatMap(({ checksum: value, piece }) => (value === undefined ? [] : [{ value, size: piece.size }]));
  if (known.length < parts.length) return undefined;
  if (type === 'COMPOSITE') return { algorithm, type, value: compositeChecksum(algorithm, known) };
  return isCrc(algorithm) ? { algorithm, type, value: fullObjectChecksum(algorithm, known) } : undefined;
}

/**
 * Stricter than S3 in one case: a checksum for an upload that was created without one is refused there too, where
 * S3 ignores it, since a client that sends it believes it to be checked.
 */
function checkObjectChecksum(request: S3Request, { checksum }: Upload, actual: string | undefined): void {
  const type = readChecksumType(request);
  if (type !== undefined && type !== checksum?.type) {
    const created = `The upload was created using the ${checksum?.type ?? 'null'} checksum mode.`;
    throw s3Error('InvalidRequest', `${created} The complete request must use the same checksum mode.`);
  }
  const claim = readChecksumHeader(request);
  if (claim === undefined) return;
  if (claim.algorithm !== checksum?.algorithm) {
    const expected = checksum?.algorithm.toLowerCase() ?? 'null';
    const message = `Checksum Type mismatch occurred, expected checksum Type: ${expected}, actual checksum Type: ${claim.algorithm.toLowerCase()}`;
    throw s3Error('InvalidRequest', message);
  }
  const accepted = checksum.type === 'COMPOSITE' ? [actual, actual?.split('-')[0]] : [actual];
  if (actual !== undefined && !accepted.includes(claim.checksum)) {
    throw s3Error('BadDigest', `The ${claim.algorithm.toLowerCase()} you specified did not match the calculated checksum.`);
  }
}

function multipartEtag(parts: readonly StoredPart[]): string {
  const md5 = createHash('md5');
  for (const { etag } of parts) md5.update(Buffer.from(etag, 'hex'));
  return `${md5.digest('hex')}-${parts.length}`;
}
