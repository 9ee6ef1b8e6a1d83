import { addAbortSignal, Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { textLines } from '../../shared/index.js';

/** Our own small files in S3: segments, result lines, manifests. The files of a job go another way: worker-pool/threads. */
const PART_BYTES = 8 * 1024 * 1024;

export interface S3Location {
  bucket: string;
  key: string;
}

export async function writeText(
  client: S3Client,
  at: S3Location,
  text: string,
  contentType: string,
  signal?: AbortSignal,
): Promise<{ size: number }> {
  const body = Buffer.from(text);
  await client.send(new PutObjectCommand({ Bucket: at.bucket, Key: at.key, Body: body, ContentType: contentType }), until(signal));
  return { size: body.byteLength };
}

/** @throws the SDK's error when the object is missing or the body is cut. */
export async function readText(client: S3Client, at: S3Location): Promise<string> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: at.bucket, Key: at.key }));
  if (Body === undefined) throw new Error(`s3://${at.bucket}/${at.key} has no body`);
  return Body.transformToString();
}

/** Writes lines of any number while holding one part in memory; nothing becomes visible unless the lines end well. */
export async function writeLines(
  client: S3Client,
  at: S3Location,
  lines: AsyncIterable<string> | Iterable<string>,
  signal?: AbortSignal,
): Promise<{ size: number }> {
  const upload = new LineUpload(client, at, signal);
  try {
    for await (const line of lines) await upload.add(`${line}\n`);
    return await upload.finish();
  } catch (error) {
    await upload.abort();
    throw error;
  }
}

/** @throws the SDK's error when the object is missing or the body is cut. */
export async function* readLines(client: S3Client, at: S3Location, signal?: AbortSignal): AsyncIterable<string> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: at.bucket, Key: at.key }), until(signal));
  if (!(Body instanceof Readable)) throw new Error(`s3://${at.bucket}/${at.key} has no body`);
  if (signal !== undefined) addAbortSignal(signal, Body);
  yield* textLines(Body as AsyncIterable<Buffer>);
}

function until(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal };
}

class LineUpload {
  private pending: string[] = [];
  private pendingBytes = 0;
  private size = 0;
  private uploadId: string | undefined;
  private readonly parts: { PartNumber: number; ETag: string | undefined }[] = [];

  constructor(
    private readonly client: S3Client,
    private readonly at: S3Location,
    private readonly signal?: AbortSignal,
  ) {}

  async add(text: string): Promise<void> {
    this.pending.push(text);
    this.pendingBytes += Buffer.byteLength(text);
    if (this.pendingBytes >= PART_BYTES) await this.sendPart();
  }

  async finish(): Promise<{ size: number }> {
    if (this.uploadId === undefined) return writeText(this.client, this.at, this.pending.join(''), 'application/x-ndjson', this.signal);
    if (this.pendingBytes > 0) await this.sendPart();
    await this.client.send(
      new CompleteMultipartUploadCommand({ ...this.target(), UploadId: this.uploadId, MultipartUpload: { Parts: this.parts } }),
      until(this.signal),
    );
    return { size: this.size };
  }

  async abort(): Promise<void> {
    if (this.uploadId === undefined) return;
    // The first error is the one to tell; an upload left open falls to the bucket's lifecycle rule.
    await this.client.send(new AbortMultipartUploadCommand({ ...this.target(), UploadId: this.uploadId })).catch(() => undefined);
  }

  private async sendPart(): Promise<void> {
    this.uploadId ??= await this.open();
    const body = Buffer.from(this.pending.join(''));
    const partNumber = this.parts.length + 1;
    const { ETag } = await this.client.send(
      new UploadPartCommand({ ...this.target(), UploadId: this.uploadId, PartNumber: partNumber, Body: body }),
      until(this.signal),
    );
    this.parts.push({ PartNumber: partNumber, ETag });
    this.size += body.byteLength;
    this.pending = [];
    this.pendingBytes = 0;
  }

  private async open(): Promise<string> {
    const { UploadId } = await this.client.send(
      new CreateMultipartUploadCommand({ ...this.target(), ContentType: 'application/x-ndjson' }),
      until(this.signal),
    );
    if (UploadId === undefined) throw new Error('S3 opened a multipart upload without an id');
    return UploadId;
  }

  private target(): { Bucket: string; Key: string } {
    return { Bucket: this.at.bucket, Key: this.at.key };
  }
}
