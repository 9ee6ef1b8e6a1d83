import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3ServiceException,
  UploadPartCommand,
  type CompletedPart,
  type S3Client,
} from '@aws-sdk/client-s3';
import { crc32 } from 'node:zlib';
import { isRetryableStatus } from '../domain/http-response.js';
import type { StoredObject } from '../domain/object-metadata.js';
import type { S3Location } from '../domain/s3-uri.js';
import { TransferError } from '../domain/transfer-error.js';
import { hex32 } from './crc.js';
import { crc32Base64 } from './digests.js';
import { requestTimeoutMs } from './s3-client.js';

export interface ObjectAttributes {
  contentType?: string;
  contentEncoding?: string;
  metadata: Record<string, string>;
}

/** Said with a 4xx, and yet another try may succeed. */
const PASSING_ERRORS = new Set([
  'BadDigest',
  'ExpiredToken',
  'ExpiredTokenException',
  'NoSuchUpload',
  'RequestTimeout',
  'RequestTimeTooSkewed',
]);

/** The S3 calls of an upload, with errors of our own: `UPLOAD_FAILED`, or the reason of the signal. */
export class ObjectStore {
  constructor(
    private readonly client: S3Client,
    private readonly options: { fullObjectCrc32: boolean },
  ) {}

  /** What is stored under the key. Undefined when nothing is, or when we may not or cannot see it: then it is not relied on. */
  async head(at: S3Location, signal: AbortSignal): Promise<StoredObject | undefined> {
    try {
      const head = await this.client.send(new HeadObjectCommand(target(at)), { abortSignal: signal });
      return { size: head.ContentLength ?? 0, etag: head.ETag ?? '', metadata: head.Metadata ?? {} };
    } catch {
      return undefined;
    }
  }

  put(at: S3Location, bytes: Buffer, attributes: ObjectAttributes, signal: AbortSignal): Promise<string> {
    return translated(signal, async () => {
      const command = new PutObjectCommand({ ...target(at), ...described(attributes), Body: bytes, ...this.partChecksum(bytes) });
      const put = await this.client.send(command, { abortSignal: signal, requestTimeout: requestTimeoutMs(bytes.length) });
      return put.ETag ?? '';
    });
  }

  /** `isOnly` is false when a lost answer may have left another upload behind. */
  createMultipart(at: S3Location, attributes: ObjectAttributes, signal: AbortSignal): Promise<{ uploadId: string; isOnly: boolean }> {
    return translated(signal, async () => {
      const checksum = this.options.fullObjectCrc32 ? ({ ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const) : {};
      const command = new CreateMultipartUploadCommand({ ...target(at), ...described(attributes), ...checksum });
      const created = await this.client.send(command, { abortSignal: signal });
      if (created.UploadId === undefined) throw new TransferError('UPLOAD_FAILED', 'S3 gave no upload id', { retryable: true });
      return { uploadId: created.UploadId, isOnly: created.$metadata.attempts === 1 };
    });
  }

  uploadPart(at: S3Location, uploadId: string, part: { number: number; bytes: Buffer }, signal: AbortSignal): Promise<CompletedPart> {
    return translated(signal, async () => {
      const checksum = this.partChecksum(part.bytes);
      const command = new UploadPartCommand({
        ...target(at),
        UploadId: uploadId,
        PartNumber: part.number,
        Body: part.bytes,
        ...checksum,
      });
      const { ETag } = await this.client.send(command, { abortSignal: signal, requestTimeout: requestTimeoutMs(part.bytes.length) });
      if (ETag === undefined) throw new TransferError('UPLOAD_FAILED', 'S3 gave a part no ETag', { retryable: true });
      return { PartNumber: part.number, ETag, ...checksum };
    });
  }

  complete(at: S3Location, uploadId: string, parts: CompletedPart[], crc32Hex: string | undefined, signal: AbortSignal): Promise<string> {
    return translated(signal, async () => {
      const checksum = crc32Hex === undefined ? {} : ({ ChecksumCRC32: crc32Base64(crc32Hex), ChecksumType: 'FULL_OBJECT' } as const);
      const command = new CompleteMultipartUploadCommand({
        ...target(at),
        UploadId: uploadId,
        MultipartUpload: { Parts: parts },
        ...checksum,
      });
      const completed = await this.client.send(command, { abortSignal: signal });
      return completed.ETag ?? '';
    });
  }

  abortMultipart(at: S3Location, uploadId: string, signal: AbortSignal): Promise<void> {
    return translated(signal, async () => {
      await this.client.send(new AbortMultipartUploadCommand({ ...target(at), UploadId: uploadId }), { abortSignal: signal });
    });
  }

  /** Uploads of this key that someone began and did not end. */
  openUploads(at: S3Location, signal: AbortSignal): Promise<string[]> {
    return translated(signal, async () => {
      const listed = await this.client.send(new ListMultipartUploadsCommand({ Bucket: at.bucket, Prefix: at.key }), {
        abortSignal: signal,
      });
      return (listed.Uploads ?? []).flatMap(({ Key, UploadId }) => (Key === at.key && UploadId !== undefined ? [UploadId] : []));
    });
  }

  private partChecksum(bytes: Buffer): { ChecksumCRC32?: string } {
    return this.options.fullObjectCrc32 ? { ChecksumCRC32: crc32Base64(hex32(crc32(bytes))) } : {};
  }
}

/** The calls of an ObjectStore, for whoever makes them. */
export type ObjectCalls = Pick<ObjectStore, keyof ObjectStore>;

function target(at: S3Location): { Bucket: string; Key: string } {
  return { Bucket: at.bucket, Key: at.key };
}

function described(attributes: ObjectAttributes): { ContentType?: string; ContentEncoding?: string; Metadata: Record<string, string> } {
  return {
    Metadata: attributes.metadata,
    ...(attributes.contentType === undefined ? {} : { ContentType: attributes.contentType }),
    ...(attributes.contentEncoding === undefined ? {} : { ContentEncoding: attributes.contentEncoding }),
  };
}

async function translated<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof TransferError) throw error;
    throw uploadError(error);
  }
}

/** Only name and status: the SDK's errors carry requests. */
function uploadError(error: unknown): TransferError {
  const name = error instanceof Error ? error.name : 'unknown';
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  return new TransferError('UPLOAD_FAILED', status === undefined ? `S3: ${name}` : `S3 answered ${status} ${name}`, {
    retryable: status === undefined || isRetryableStatus(status) || PASSING_ERRORS.has(name),
    cause: error,
    ...(status === undefined ? {} : { httpStatus: status }),
  });
}
