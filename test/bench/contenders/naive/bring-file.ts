import { createHash } from 'node:crypto';
import { Readable, Transform } from 'node:stream';
import { crc32 } from 'node:zlib';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { PlannedFile } from '../../transfers/transfer-plan.js';
import type { Limits } from '../contender.js';
import { BUCKET } from '../node-contender.js';

const client = new S3Client({ forcePathStyle: true, requestChecksumCalculation: 'WHEN_REQUIRED' });

/** fetch, hashed on the way, into S3 by lib-storage: the same hashes as the service takes, and as many parts at a time. */
export async function bringFile({ url, key, sha256 }: PlannedFile, { partBytes, partsPerFile }: Limits): Promise<void> {
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
  await new Upload({ client, params: { Bucket: BUCKET, Key: key, Body }, partSize: partBytes, queueSize: partsPerFile }).done();
  if (hash.digest('hex') !== sha256) throw new Error('the checksum differs');
}
