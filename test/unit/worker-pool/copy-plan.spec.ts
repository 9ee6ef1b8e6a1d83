import { describe, expect, it } from '@jest/globals';
import { COPY_LIMITS, copyRanges, judgeCopy, knownSha256, type CopySource } from '../../../src/worker-pool/domain/copy-plan.js';
import type { TransferTask } from '../../../src/worker-pool/domain/transfer-task.js';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const task = (rest: Partial<TransferTask> = {}): TransferTask => ({
  taskId: 'job#0#0',
  jobId: 'job',
  url: 's3://sources/key',
  s3Bucket: 'exports',
  s3Key: 'key',
  attempt: 1,
  ...rest,
});
const source = (rest: Partial<CopySource> = {}): CopySource => ({ size: 5, etag: '"e"', checksums: [], metadata: {}, ...rest });
const crc32 = { algorithm: 'crc32', value: '3610a686' } as const;
const sha256 = 'ab'.repeat(32);

describe('a copy within S3', () => {
  it('is made where nothing must be checked, or S3 knows the checksum', () => {
    expect(judgeCopy(task(), source())).toBe('copy');
    expect(judgeCopy(task({ size: 5, expectContentType: 'text/csv' }), source({ contentType: 'text/csv; charset=utf-8' }))).toBe('copy');
    expect(judgeCopy(task({ checksum: crc32 }), source({ checksums: [crc32] }))).toBe('copy');
  });

  it('is refused where S3 knows another checksum', () => {
    const checksums = [{ ...crc32, value: '00000000' }];
    expect(judgeCopy(task({ checksum: crc32 }), source({ checksums }))).toEqual({ checksumIs: '00000000' });
  });

  it.each([
    { why: 'S3 has no checksum', of: task({ checksum: crc32 }), from: source() },
    { why: 'S3 has one of another kind', of: task({ checksum: { algorithm: 'md5', value: '00' } }), from: source({ checksums: [crc32] }) },
    {
      why: 'only the metadata has it',
      of: task({ checksum: { algorithm: 'sha256', value: sha256 } }),
      from: source({ metadata: { sha256 } }),
    },
    { why: 'the size is another', of: task({ size: 4 }), from: source() },
    { why: 'the content type is another', of: task({ expectContentType: 'text/csv' }), from: source({ contentType: 'text/html' }) },
  ])('is left to a download where $why', ({ of, from }) => {
    expect(judgeCopy(of, from)).toBe('stream');
  });

  it('has the sha256 that S3 tells, or that we stored with the source', () => {
    const ours = { 'upload-attempt': 'a', sha256 };
    const told = { algorithm: 'sha256', value: 'cd'.repeat(32) } as const;
    expect(knownSha256(source({ metadata: ours, checksums: [told] }))).toBe(told.value);
    expect(knownSha256(source({ metadata: ours }))).toBe(sha256);
    expect(knownSha256(source({ metadata: { sha256 } }))).toBeUndefined();
    expect(knownSha256(source({ metadata: { ...ours, sha256: 'no hash' } }))).toBeUndefined();
  });

  it('of more than 5 GiB goes in ranges that cover it once, of 256 MiB at least and 10,000 at most', () => {
    expect(COPY_LIMITS.wholeBytes).toBe(5 * GIB);
    for (const size of [5 * GIB + 1, 2 * 256 * MIB, 40_000 * GIB]) {
      const ranges = [...copyRanges(size, COPY_LIMITS)];
      expect(ranges.length).toBeLessThanOrEqual(10_000);
      expect(ranges.map(({ first }) => first)).toEqual([0, ...ranges.slice(0, -1).map(({ last }) => last + 1)]);
      expect(ranges.at(-1)).toMatchObject({ number: ranges.length, last: size - 1 });
      expect(ranges.slice(0, -1).every(({ first, last }) => last - first + 1 >= 256 * MIB)).toBe(true);
    }
  });
});
