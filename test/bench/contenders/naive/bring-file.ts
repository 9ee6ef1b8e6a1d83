import { createHash } from 'node:crypto';
import { Readable, Transform } from 'node:stream';
import { crc32 } from 'node:zlib';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { PlannedFile } from '../../transfers/transfer-plan.js';
import { BUCKET } from '../node-contender.js';

const s3 = new S3Client({ forcePathStyle: true, requestChecksumCalculation: 'WHEN_REQUIRED' });

/** fetch, hashed on the way, into S3 as one stream: the same hashes as the service takes. */
export async function bringFile({ url, key, sizeBytes, sha256 }: PlannedFile): Promise<void> {
  const response = await fetch(url);
  if (!response.ok || response.body === null) throw new Error(`the source answered ${response.status}`);
  const hash = createHash('sha256');
  let crc = 0;
  const hashed = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      crc = crc32(chunk, crc);
      done(null, chunk);
    },
  });
  const Body = Readable.fromWeb(response.body).pipe(hashed);
  await s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body, ContentLength: sizeBytes }));
  if (hash.digest('hex') !== sha256) throw new Error('the checksum differs');
}
