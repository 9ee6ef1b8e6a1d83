import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { parseS3Uri } from '../worker-pool/index.js';
import { CliError, explainError, UsageError } from './cli-error.js';
import { unreadableReason } from './list-problems.js';

/**
 * A list as it is.
 * @param list file, `-` for standard input, or an s3:// address, which is read with the permissions of whoever calls
 * @throws CliError when it cannot be read
 */
export async function* listBytes(s3: S3Client, list: string): AsyncGenerator<Buffer, void> {
  const object = parseS3Uri(list);
  try {
    if (object === undefined) return yield* list === '-' ? process.stdin : createReadStream(list);
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: object.bucket, Key: object.key }));
    if (Body instanceof Readable) yield* Body;
  } catch (error) {
    if (object !== undefined) throw new CliError(`The list ${list} cannot be read: ${explainError(error)}`);
    throw new UsageError(`The list ${list} cannot be read (${unreadableReason(error)}): give a file, or - for standard input`);
  }
}
