import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { EXPORT_FOLDER } from '../export-jobs/index.js';
import { SUBMISSIONS_PREFIX } from '../intake/index.js';
import { newId } from '../shared/index.js';
import { parseS3Uri } from '../worker-pool/index.js';
import { UsageError } from './cli-error.js';
import { listBytes } from './list-bytes.js';
import { emptyList, isBlank } from './list-problems.js';

const PART_BYTES = 8 * 1024 * 1024;

/**
 * The address of a list that the service reads where it lies; `undefined` for one that must be uploaded: a file, or what lies among results
 * or elsewhere in the export bucket. From there the service takes no list, because jobs of others share it: whoever submits it reads it,
 * with permissions of their own.
 */
export function addressOf(list: string, exportBucket: string): string | undefined {
  if (/^https?:\/\//i.test(list)) return list;
  const object = parseS3Uri(list);
  if (object === undefined) return undefined;
  if (object.bucket === exportBucket) return object.key.startsWith(SUBMISSIONS_PREFIX) ? list : undefined;
  return object.key.includes(EXPORT_FOLDER) ? undefined : list;
}

/**
 * Puts a list as it is where the service accepts lists of its own bucket, holding one part in memory.
 * @param path file, `-` for standard input, or an s3:// address
 * @returns its s3:// address
 */
export async function uploadManifest(client: S3Client, bucket: string, path: string, allowEmpty = false): Promise<string> {
  const at = { Bucket: bucket, Key: `${SUBMISSIONS_PREFIX}${newId()}` };
  const parts = partsOf(listBytes(client, path));
  const next = async () => (await parts.next()).value ?? undefined;
  const first = (await next()) ?? Buffer.alloc(0);
  if (!allowEmpty && first.byteLength < PART_BYTES && isBlank(first))
    throw new UsageError(`${emptyList(path === '-' ? 'Standard input' : path)}, or say that this is in order (--allow-empty)`);
  if (first.byteLength < PART_BYTES) await client.send(new PutObjectCommand({ ...at, Body: first }));
  else await uploadParts(client, at, first, next);
  return `s3://${at.Bucket}/${at.Key}`;
}

/** A list that no execution is about to read; one that cannot be removed falls to the bucket's lifecycle rule. */
export async function removeManifest(client: S3Client, address: string): Promise<void> {
  const object = parseS3Uri(address);
  if (object === undefined) return;
  await client.send(new DeleteObjectCommand({ Bucket: object.bucket, Key: object.key })).catch(() => undefined);
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

async function* partsOf(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
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
