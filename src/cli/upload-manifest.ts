import { createReadStream } from 'node:fs';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { SUBMISSIONS_PREFIX } from '../intake/index.js';
import { newId } from '../shared/index.js';
import { UsageError } from './cli-error.js';
import { emptyList, isBlank, unreadableReason } from './list-problems.js';

const PART_BYTES = 8 * 1024 * 1024;

/**
 * Puts a list as it is where the service accepts lists of its own bucket, holding one part in memory.
 * @param path `-` for standard input
 * @returns its s3:// address
 */
export async function uploadManifest(client: S3Client, bucket: string, path: string): Promise<string> {
  const at = { Bucket: bucket, Key: `${SUBMISSIONS_PREFIX}${newId()}` };
  const parts = partsOf(path === '-' ? process.stdin : createReadStream(path));
  const first = await next(parts, path);
  if (first === undefined || (first.byteLength < PART_BYTES && isBlank(first)))
    throw new UsageError(emptyList(path === '-' ? 'Standard input' : path));
  if (first.byteLength < PART_BYTES) await client.send(new PutObjectCommand({ ...at, Body: first }));
  else await uploadParts(client, at, first, () => next(parts, path));
  return `s3://${at.Bucket}/${at.Key}`;
}

/** A list that no execution is about to read; one that cannot be removed falls to the bucket's lifecycle rule. */
export async function removeManifest(client: S3Client, address: string): Promise<void> {
  const [, Bucket = '', Key = ''] = /^s3:\/\/([^/]+)\/(.+)$/.exec(address) ?? [];
  await client.send(new DeleteObjectCommand({ Bucket, Key })).catch(() => undefined);
}

async function uploadParts(
  client: S3Client,
  at: { Bucket: string; Key: string },
  first: Buffer,
  nextPart: () => Promise<Buffer | undefined>,
): Promise<void> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
  const upload = { ...at, UploadId };
  try {
    const sent: { PartNumber: number; ETag: string | undefined }[] = [];
    for (let part: Buffer | undefined = first; part !== undefined; part = await nextPart()) {
      const PartNumber = sent.length + 1;
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, PartNumber, Body: part }));
      sent.push({ PartNumber, ETag });
    }
    await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: sent } }));
  } catch (error) {
    // The first error is the one to tell; an upload left open falls to the bucket's lifecycle rule.
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
    throw error;
  }
}

async function next(parts: AsyncGenerator<Buffer>, path: string): Promise<Buffer | undefined> {
  try {
    const part = await parts.next();
    return part.done === true ? undefined : part.value;
  } catch (error) {
    throw new UsageError(`The list ${path} cannot be read (${unreadableReason(error)}): give a file, or - for standard input`);
  }
}

async function* partsOf(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    if (bytes < PART_BYTES) continue;
    yield Buffer.concat(chunks);
    chunks = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}
