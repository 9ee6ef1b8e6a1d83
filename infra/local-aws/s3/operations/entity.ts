import { asChecksumAlgorithm, checksumHeader, type ChecksumAlgorithm, type ChecksumType } from '../body/checksum.js';
import { s3Error } from '../errors.js';
import { leaf } from '../xml.js';
import type { S3Request } from '../request.js';
import type { EntityHead } from '../store/model.js';

const KEPT_HEADERS = ['cache-control', 'content-disposition', 'content-language', 'expires'];
const METADATA_PREFIX = 'x-amz-meta-';
const MAX_METADATA_BYTES = 2_048;

export const MAX_BODY_BYTES = 5 * 1024 ** 3;

/** Content-Type, user metadata and their like, as the object will give them back. @throws MetadataTooLarge */
export function readEntityHead(request: S3Request): EntityHead {
  const headers: Record<string, string> = { 'content-type': request.header('content-type') ?? 'binary/octet-stream' };
  for (const name of KEPT_HEADERS) {
    const value = request.header(name);
    if (value !== undefined) headers[name] = value;
  }
  const encodings = (request.header('content-encoding') ?? '').split(',').map((encoding) => encoding.trim());
  const kept = encodings.filter((encoding) => encoding !== '' && encoding !== 'aws-chunked');
  if (kept.length > 0) headers['content-encoding'] = kept.join(',');
  return { headers, metadata: readMetadata(request) };
}

function readMetadata(request: S3Request): Record<string, string> {
  const metadata: Record<string, string> = {};
  let bytes = 0;
  for (const name of Object.keys(request.message.headers)) {
    if (!name.startsWith(METADATA_PREFIX)) continue;
    const value = request.header(name) ?? '';
    metadata[name.slice(METADATA_PREFIX.length)] = value;
    bytes += Buffer.byteLength(name) - METADATA_PREFIX.length + Buffer.byteLength(value);
  }
  if (bytes > MAX_METADATA_BYTES) {
    throw s3Error('MetadataTooLarge', undefined, { Size: bytes, MaxSizeAllowed: MAX_METADATA_BYTES });
  }
  return metadata;
}

export function entityHeaders({ headers, metadata }: EntityHead): Record<string, string> {
  const own = Object.entries(metadata).map(([name, value]) => [`${METADATA_PREFIX}${name}`, value]);
  return { ...headers, ...Object.fromEntries(own) };
}

/** @throws EntityTooLarge for more than one request may store */
export function checkBodySize(size: number): void {
  if (size > MAX_BODY_BYTES) {
    throw s3Error('EntityTooLarge', undefined, { ProposedSize: size, MaxSizeAllowed: MAX_BODY_BYTES });
  }
}

/** `x-amz-checksum-algorithm` of a copy or an upload. @throws InvalidRequest */
export function readWantedAlgorithm(request: S3Request): ChecksumAlgorithm | undefined {
  const name = request.header('x-amz-checksum-algorithm');
  const algorithm = name === undefined ? undefined : asChecksumAlgorithm(name);
  if (name !== undefined && algorithm === undefined) throw s3Error('InvalidRequest', 'Checksum algorithm provided is unsupported.');
  return algorithm;
}

interface Checksum {
  algorithm: ChecksumAlgorithm;
  value: string;
  type?: ChecksumType;
}

export function checksumHeaders(checksum: Checksum | undefined): Record<string, string> {
  if (checksum === undefined) return {};
  return {
    [checksumHeader(checksum.algorithm)]: checksum.value,
    ...(checksum.type !== undefined && { 'x-amz-checksum-type': checksum.type }),
  };
}

export function checksumElements(checksum: Checksum | undefined): string {
  return checksum === undefined ? '' : leaf(`Checksum${checksum.algorithm}`, checksum.value) + leaf('ChecksumType', checksum.type);
}
