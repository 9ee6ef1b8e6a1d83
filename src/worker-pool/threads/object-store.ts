import { crc32 } from 'node:zlib';
import type { StoredObject } from '../domain/object-metadata.js';
import type { S3Location } from '../domain/s3-uri.js';
import type { OpenUploads } from '../domain/stray-upload.js';
import { TransferError } from '../domain/transfer-error.js';
import { hex32 } from './crc.js';
import { crc32Base64 } from './digests.js';
import { completedEtag, completion, hasParts, openUploads, uploadId, type UploadedPart } from './s3-answers.js';
import { S3Error, type S3Requests } from './s3-requests.js';

export interface ObjectAttributes {
  contentType?: string;
  contentEncoding?: string;
  metadata: Record<string, string>;
}

/** Said with a 4xx, and yet another try of the whole task may succeed. */
const PASSING_ERRORS = new Set(['BadDigest', 'NoSuchUpload']);

/** The S3 calls of an upload, with errors of our own: `UPLOAD_FAILED`, or the reason of the signal. */
export class ObjectStore {
  constructor(
    private readonly requests: S3Requests,
    private readonly options: { fullObjectCrc32: boolean },
  ) {}

  /** What is stored under the key. Undefined when nothing is, or when we may not or cannot see it: then it is not relied on. */
  async head(at: S3Location, signal: AbortSignal): Promise<StoredObject | undefined> {
    try {
      const { headers } = await this.requests.send({ method: 'HEAD', ...at, signal });
      const metadata = Object.entries(headers).flatMap(([name, value]) =>
        name.startsWith(METADATA) ? [[name.slice(METADATA.length), String(value)]] : [],
      );
      return { size: Number(headers['content-length']), etag: headers.etag ?? '', metadata: Object.fromEntries(metadata) };
    } catch {
      return undefined;
    }
  }

  put(at: S3Location, bytes: Buffer, attributes: ObjectAttributes, signal: AbortSignal): Promise<string> {
    return translated(signal, async () => {
      const headers = { ...described(attributes), ...checksumHeader(this.checksumOf(bytes)) };
      const { headers: answer } = await this.requests.send({ method: 'PUT', ...at, headers, body: bytes, waitsOut: true, signal });
      return answer.etag ?? '';
    });
  }

  /** `isOnly` is false when a lost answer may have left another upload behind. */
  createMultipart(at: S3Location, attributes: ObjectAttributes, signal: AbortSignal): Promise<{ uploadId: string; isOnly: boolean }> {
    return translated(signal, async () => {
      const checksum = this.options.fullObjectCrc32 ? { 'x-amz-checksum-algorithm': 'CRC32', ...FULL_OBJECT } : {};
      const headers = { ...described(attributes), ...checksum };
      const request = { method: 'POST', ...at, query: { uploads: '' }, headers, waitsOut: true, signal } as const;
      const { text, isOnly } = await this.requests.send(request);
      const id = uploadId(text);
      if (id === undefined) throw new TransferError('UPLOAD_FAILED', 'S3 gave no upload id', { retryable: true });
      return { uploadId: id, isOnly };
    });
  }

  uploadPart(at: S3Location, upload: string, part: { number: number; bytes: Buffer }, signal: AbortSignal): Promise<UploadedPart> {
    return translated(signal, async () => {
      const checksum = this.checksumOf(part.bytes);
      const query = { partNumber: String(part.number), uploadId: upload };
      const answer = await this.requests.send({
        method: 'PUT',
        ...at,
        query,
        headers: checksumHeader(checksum),
        body: part.bytes,
        waitsOut: true,
        signal,
      });
      const { etag } = answer.headers;
      if (etag === undefined) throw new TransferError('UPLOAD_FAILED', 'S3 gave a part no ETag', { retryable: true });
      return { number: part.number, etag, ...(checksum === undefined ? {} : { crc32: checksum }) };
    });
  }

  complete(
    at: S3Location,
    upload: string,
    parts: readonly UploadedPart[],
    crc32Hex: string | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    return translated(signal, async () => {
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

  private checksumOf(bytes: Buffer): string | undefined {
    return this.options.fullObjectCrc32 ? crc32Base64(hex32(crc32(bytes))) : undefined;
  }
}

/** The calls of an ObjectStore, for whoever makes them. */
export type ObjectCalls = Pick<ObjectStore, keyof ObjectStore>;

const METADATA = 'x-amz-meta-';
const FULL_OBJECT = { 'x-amz-checksum-type': 'FULL_OBJECT' };

function checksumHeader(checksum: string | undefined): Record<string, string> {
  return checksum === undefined ? {} : { 'x-amz-sdk-checksum-algorithm': 'CRC32', 'x-amz-checksum-crc32': checksum };
}

function described({ contentType, contentEncoding, metadata }: ObjectAttributes): Record<string, string> {
  return {
    ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [METADATA + name, value])),
    ...plainHeader('content-type', contentType),
    ...plainHeader('content-encoding', contentEncoding),
  };
}

/** A source may say anything here; what no header can carry, or no signature, is left out. */
function plainHeader(name: string, value: string | undefined): Record<string, string> {
  return value !== undefined && /^[\x20-\x7e]+$/.test(value) ? { [name]: value } : {};
}

async function translated<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TransferError) throw error;
    throw uploadError(error);
  }
}

function uploadError(error: unknown): TransferError {
  const { message, code, status, mayPass } = error instanceof S3Error ? error : new S3Error('unknown', undefined);
  return new TransferError('UPLOAD_FAILED', message, {
    retryable: mayPass || PASSING_ERRORS.has(code),
    cause: error,
    ...(status === undefined ? {} : { httpStatus: status }),
  });
}
