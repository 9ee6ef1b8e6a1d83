import type { IncomingHttpHeaders } from 'node:http';
import { CHECKSUM_ALGORITHMS, type Checksum } from '../../shared/index.js';
import { contentHeaders } from '../domain/content-headers.js';
import type { CopyRange, CopySource } from '../domain/copy-plan.js';
import { destinationRefused, isOfDestination } from '../domain/destination-refusal.js';
import type { StoredObject } from '../domain/object-metadata.js';
import type { S3Location } from '../domain/s3-uri.js';
import type { OpenUploads } from '../domain/stray-upload.js';
import { TransferError } from '../domain/transfer-error.js';
import { hex32 } from './crc.js';
import { crc32Base64 } from './digests.js';
import { completedEtag, completion, copied, hasParts, openUploads, uploadId, type UploadedPart } from './s3-answers.js';
import { escapedPath, S3Error, type S3Requests } from './s3-requests.js';

export interface ObjectAttributes {
  contentType?: string;
  contentEncoding?: string;
  metadata: Record<string, string>;
}

/** What an object or a part is made of; the CRC-32 where S3 shall compare it. */
export interface Content {
  bytes: Buffer;
  crc32?: number | undefined;
  /** Called when a try has failed: a socket may still read the bytes. */
  onFailure?: () => void;
}

/** What stores say of a header they do not know; the same PutObject without it tells whether it was that. */
const UNKNOWN_CONDITION = new Set(['InvalidArgument', 'InvalidRequest']);

/**
 * The S3 calls of an upload, with errors of our own: `UPLOAD_FAILED`, `DESTINATION_REFUSED` (what is wrong is wrong for every file of the
 * bucket), `UPLOAD_MISMATCH` (S3 got other bytes than came here, more than once), or the reason of the signal.
 */
export class ObjectStore {
  constructor(
    private readonly requests: S3Requests,
    private readonly options: { fullObjectCrc32: boolean },
  ) {}

  /** What is stored under the key. Undefined when nothing is, or when we may not or cannot see it: then it is not relied on. */
  async head(at: S3Location, signal: AbortSignal): Promise<StoredObject | undefined> {
    try {
      const { headers } = await this.requests.send({ method: 'HEAD', ...at, patienceMs: LOOK_PATIENCE_MS, signal });
      return { size: Number(headers['content-length']), etag: headers.etag ?? '', metadata: metadataOf(headers) };
    } catch {
      return undefined;
    }
  }

  /** What S3 tells of an object to copy. Undefined when there is none, or when we may not or cannot see it. */
  async describe(at: S3Location, signal: AbortSignal): Promise<CopySource | undefined> {
    const mode = this.options.fullObjectCrc32 ? { 'x-amz-checksum-mode': 'ENABLED' } : {};
    try {
      const { headers } = await this.requests.send({ method: 'HEAD', ...at, headers: mode, signal });
      const { etag, 'last-modified': lastModified, 'content-type': contentType, 'content-encoding': contentEncoding } = headers;
      if (etag === undefined) return undefined;
      return {
        size: Number(headers['content-length']),
        etag,
        checksums: checksumsOf(headers),
        metadata: metadataOf(headers),
        ...(lastModified !== undefined && { lastModified }),
        ...(contentType !== undefined && { contentType }),
        ...(contentEncoding !== undefined && { contentEncoding }),
      };
    } catch {
      return undefined;
    }
  }

  /** Up to 5 GiB within S3, if the source is still of this ETag; the ETag of the copy. */
  copy(from: S3Location & { etag: string }, at: S3Location, attributes: ObjectAttributes, signal: AbortSignal): Promise<string> {
    return copying(at, signal, async () => {
      const checksum = this.options.fullObjectCrc32 ? { 'x-amz-checksum-algorithm': 'CRC32' } : {};
      const headers = { ...copySource(from), ...REPLACED, ...described(attributes), ...checksum };
      const request = { method: 'PUT', ...at, headers, waitsOut: true, patienceMs: COPY_PATIENCE_MS, signal } as const;
      return copied((await this.requests.send(request)).text).etag ?? '';
    });
  }

  copyPart(
    from: S3Location & { etag: string },
    at: S3Location,
    upload: string,
    { number, first, last }: CopyRange,
    signal: AbortSignal,
  ): Promise<UploadedPart> {
    return copying(at, signal, async () => {
      const headers = { ...copySource(from), 'x-amz-copy-source-range': `bytes=${first}-${last}` };
      const query = { partNumber: String(number), uploadId: upload };
      const request = { method: 'PUT', ...at, query, headers, waitsOut: true, patienceMs: COPY_PATIENCE_MS, signal } as const;
      return partOf(number, copied((await this.requests.send(request)).text));
    });
  }

  put(at: S3Location, content: Content, attributes: ObjectAttributes, signal: AbortSignal): Promise<string> {
    return storing(at, signal, () => this.putOnce(at, content, attributes, signal));
  }

  /**
   * As `put`, unless there is an object already: `taken`. Some stores of other vendors know no such condition. `unanswered`: the connection
   * failed, as it does when a store refuses and closes before it has read all bytes; sent again, they would meet the same.
   */
  putIfFree(
    at: S3Location,
    content: Content,
    attributes: ObjectAttributes,
    signal: AbortSignal,
  ): Promise<{ etag: string } | 'taken' | 'unanswered' | 'unknown condition'> {
    return storing(at, signal, async () => {
      try {
        return { etag: await this.putOnce(at, content, attributes, signal, IF_FREE) };
      } catch (error) {
        if (!(error instanceof S3Error)) throw error;
        if (error.status === undefined) return 'unanswered';
        if (error.status === 412) return 'taken';
        if (error.status === 501 || UNKNOWN_CONDITION.has(error.code)) return 'unknown condition';
        throw error;
      }
    });
  }

  private async putOnce(
    at: S3Location,
    { bytes, crc32, onFailure }: Content,
    attributes: ObjectAttributes,
    signal: AbortSignal,
    condition?: PutCondition,
  ): Promise<string> {
    const headers = { ...described(attributes), ...checksumHeader(crc32), ...condition?.headers };
    const { stopsAt } = condition ?? {};
    const request = { method: 'PUT', ...at, headers, body: bytes, onFailure, waitsOut: true, signal, ...(stopsAt && { stopsAt }) } as const;
    return (await this.requests.send(request)).headers.etag ?? '';
  }

  /** `isOnly` is false when a lost answer may have left another upload behind. */
  createMultipart(at: S3Location, attributes: ObjectAttributes, signal: AbortSignal): Promise<{ uploadId: string; isOnly: boolean }> {
    return storing(at, signal, async () => {
      const checksum = this.options.fullObjectCrc32 ? { 'x-amz-checksum-algorithm': 'CRC32', ...FULL_OBJECT } : {};
      const headers = { ...described(attributes), ...checksum };
      const request = { method: 'POST', ...at, query: { uploads: '' }, headers, waitsOut: true, signal } as const;
      const { text, isOnly } = await this.requests.send(request);
      const id = uploadId(text);
      if (id === undefined) throw new TransferError('UPLOAD_FAILED', 'S3 gave no upload id', { retryable: true });
      return { uploadId: id, isOnly };
    });
  }

  uploadPart(at: S3Location, upload: string, part: Content & { number: number }, signal: AbortSignal): Promise<UploadedPart> {
    return storing(at, signal, async () => {
      const query = { partNumber: String(part.number), uploadId: upload };
      const answer = await this.requests.send({
        method: 'PUT',
        ...at,
        query,
        headers: checksumHeader(part.crc32),
        body: part.bytes,
        onFailure: part.onFailure,
        waitsOut: true,
        signal,
      });
      return partOf(part.number, { etag: answer.headers.etag, crc32: base64Of(part.crc32) });
    });
  }

  complete(
    at: S3Location,
    upload: string,
    parts: readonly UploadedPart[],
    crc32Hex: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    return storing(at, signal, async () => {
      const headers = crc32Hex === undefined ? {} : { 'x-amz-checksum-crc32': crc32Base64(crc32Hex), ...FULL_OBJECT };
      const body = completion(parts);
      const { text } = await this.requests.send({
        method: 'POST',
        ...at,
        query: { uploadId: upload },
        headers,
        body,
        waitsOut: true,
        signal,
      });
      return completedEtag(text) ?? '';
    });
  }

  abortMultipart(at: S3Location, upload: string, signal: AbortSignal): Promise<void> {
    return translated(signal, async () => {
      await this.requests.send({ method: 'DELETE', ...at, query: { uploadId: upload }, waitsOut: true, signal });
    });
  }

  /** Uploads of this key that someone began and did not end. */
  openUploads({ bucket, key }: S3Location, signal: AbortSignal): Promise<OpenUploads> {
    return translated(signal, async () => {
      const { text, headers } = await this.requests.send({ method: 'GET', bucket, query: { prefix: key, uploads: '' }, signal });
      return { nowMs: Date.parse(String(headers.date)), uploads: openUploads(text).filter((upload) => upload.key === key) };
    });
  }

  hasParts(at: S3Location, upload: string, signal: AbortSignal): Promise<boolean> {
    return translated(signal, async () => {
      const { text } = await this.requests.send({ method: 'GET', ...at, query: { 'max-parts': '1', uploadId: upload }, signal });
      return hasParts(text);
    });
  }
}

/** The calls of an ObjectStore, for whoever makes them. */
export type ObjectCalls = Pick<ObjectStore, keyof ObjectStore>;

interface PutCondition {
  headers: Record<string, string>;
  stopsAt: (error: S3Error) => boolean;
}

const IF_FREE: PutCondition = { headers: { 'if-none-match': '*' }, stopsAt: ({ status }) => status === undefined };
const METADATA = 'x-amz-meta-';
const FULL_OBJECT = { 'x-amz-checksum-type': 'FULL_OBJECT' };

/** A source may be waiting with its answer; and what is not seen in time is not relied on. */
const LOOK_PATIENCE_MS = 10_000;
/** How long S3 may take to copy 5 GiB. */
const COPY_PATIENCE_MS = 600_000;
/** Of the source's own metadata and tags nothing is taken over: a copy is what a download would have stored. */
const REPLACED = { 'x-amz-metadata-directive': 'REPLACE', 'x-amz-tagging-directive': 'REPLACE' };

function copySource({ bucket, key, etag }: S3Location & { etag: string }): Record<string, string> {
  return { 'x-amz-copy-source': escapedPath(bucket, key), 'x-amz-copy-source-if-match': etag };
}

function partOf(number: number, { etag, crc32: checksum }: { etag?: string | undefined; crc32?: string | undefined }): UploadedPart {
  if (etag === undefined) throw new TransferError('UPLOAD_FAILED', 'S3 gave a part no ETag', { retryable: true });
  return { number, etag, ...(checksum === undefined ? {} : { crc32: checksum }) };
}

function metadataOf(headers: IncomingHttpHeaders): Record<string, string> {
  const metadata = Object.entries(headers).filter(([name]) => name.startsWith(METADATA));
  return Object.fromEntries(metadata.map(([name, value]) => [name.slice(METADATA.length), String(value)]));
}

/** Of the whole object: one of its parts' checksums says nothing to anyone who has others. */
function checksumsOf(headers: IncomingHttpHeaders): Checksum[] {
  if (headers['x-amz-checksum-type'] !== 'FULL_OBJECT') return [];
  return CHECKSUM_ALGORITHMS.flatMap((algorithm) => {
    const value = headers[`x-amz-checksum-${algorithm}`];
    return typeof value === 'string' ? [{ algorithm, value: Buffer.from(value, 'base64').toString('hex') }] : [];
  });
}

function checksumHeader(crc32: number | undefined): Record<string, string> {
  const checksum = base64Of(crc32);
  return checksum === undefined ? {} : { 'x-amz-sdk-checksum-algorithm': 'CRC32', 'x-amz-checksum-crc32': checksum };
}

function base64Of(crc32: number | undefined): string | undefined {
  return crc32 === undefined ? undefined : crc32Base64(hex32(crc32));
}

function described({ metadata, ...content }: ObjectAttributes): Record<string, string> {
  return {
    ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [METADATA + name, value])),
    ...contentHeaders(content),
  };
}

/** What is written to a bucket. */
function storing<T>({ bucket }: S3Location, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  return translated(signal, call, (error) => destinationRefused(bucket, error));
}

/** What is written to a bucket from another, which may refuse as well. */
function copying<T>({ bucket }: S3Location, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  return translated(signal, call, (error) => (isOfDestination(error) ? destinationRefused(bucket, error) : undefined));
}

async function translated<T>(
  signal: AbortSignal,
  call: () => Promise<T>,
  refusal: (error: S3Error) => TransferError | undefined = () => undefined,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TransferError) throw error;
    throw error instanceof S3Error
      ? (refusal(error) ?? uploadError(error))
      : uploadError(new S3Error('unknown', undefined, { cause: error }));
  }
}

function uploadError(error: S3Error): TransferError {
  const { message, code, status, mayPass } = error;
  const options = { cause: error, ...(status === undefined ? {} : { httpStatus: status }) };
  if (code === 'BadDigest')
    return new TransferError('UPLOAD_MISMATCH', `S3 got other bytes than came here (${message})`, { ...options, retryable: true });
  // An upload that is not there any more can be begun anew.
  return new TransferError('UPLOAD_FAILED', message, { ...options, retryable: mayPass || code === 'NoSuchUpload' });
}
