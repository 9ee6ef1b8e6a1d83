import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { HeadObjectCommand } from '@aws-sdk/client-s3';
import { parseChecksum } from '../../../src/shared/index.js';
import type { PoolManagerService } from '../../../src/worker-pool/index.js';
import { crc32Base64 } from '../../../src/worker-pool/threads/digests.js';
import { benchForEach, MIB, pattern, run, type TransferBench } from './pool-support.js';

const HELLO = Buffer.from('hello');
const hashed = (algorithm: string) => createHash(algorithm).update(HELLO).digest('hex');
const CHECKSUMS = [
  { algorithm: 'md5', hex: hashed('md5') },
  { algorithm: 'sha1', hex: hashed('sha1') },
  { algorithm: 'sha256', hex: hashed('sha256') },
  { algorithm: 'sha512', hex: hashed('sha512') },
  { algorithm: 'crc32', hex: '3610a686' },
  { algorithm: 'crc32c', hex: '9a71bb4c' },
  { algorithm: 'crc64nvme', hex: '3377857006524257' },
] as const;
const base64 = (hex: string, coding: 'base64' | 'base64url' = 'base64') => Buffer.from(hex, 'hex').toString(coding);
const FORMS = [
  { form: 'hex', write: (hex: string) => hex },
  { form: 'upper hex in quotes', write: (hex: string) => `"${hex.toUpperCase()}"` },
  { form: 'base64', write: (hex: string) => base64(hex) },
  { form: 'base64url', write: (hex: string) => base64(hex, 'base64url') },
];

describe('a checksum', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  benchForEach((fresh) => ({ bench, pool } = fresh));

  it.each(CHECKSUMS.flatMap((checksum) => FORMS.map((form) => ({ ...checksum, ...form }))))(
    'of $algorithm is checked, given in $form, and another is refused',
    async ({ algorithm, hex, write }) => {
      const url = bench.origin.file('/file', HELLO);
      const checksums = [hex, hex.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))].map((value) => {
        const parsed = parseChecksum(algorithm, write(value));
        if (!parsed.ok) throw new Error(parsed.reason);
        return { algorithm, value: parsed.value };
      });
      const [right, wrong] = await Promise.all(checksums.map((checksum) => run(pool, bench.task(url, { checksum }))));
      expect(right).toMatchObject({ success: true, sha256: hashed('sha256') });
      expect(wrong).toMatchObject({ success: false, error: { code: 'CHECKSUM_MISMATCH', retryable: true } });
      expect(await bench.keys()).toHaveLength(1);
    },
  );

  it('of CRC-32 is S3’s to check too, over the whole object, small or large', async () => {
    for (const bytes of [HELLO, pattern(9 * MIB)]) {
      const task = bench.task(bench.origin.file('/file', bytes));
      expect(await run(pool, task)).toMatchObject({ success: true });
      const at = { Bucket: task.s3Bucket, Key: task.s3Key };
      expect(await bench.s3.send(new HeadObjectCommand({ ...at, ChecksumMode: 'ENABLED' }))).toMatchObject({
        ChecksumType: 'FULL_OBJECT',
        ChecksumCRC32: crc32Base64(crc32(bytes).toString(16).padStart(8, '0')),
      });
    }
  });
});
