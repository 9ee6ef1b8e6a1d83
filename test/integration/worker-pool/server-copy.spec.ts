import { CreateMultipartUploadCommand, CompleteMultipartUploadCommand, PutObjectCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { ChecksumAlgorithm } from '../../../src/shared/index.js';
import type { PoolManagerService, TransferTask } from '../../../src/worker-pool/index.js';
import { BucketAccesses } from '../../../src/worker-pool/threads/bucket-accesses.js';
import { Digests } from '../../../src/worker-pool/threads/digests.js';
import { Multiparts } from '../../../src/worker-pool/threads/multiparts.js';
import { ObjectStore } from '../../../src/worker-pool/threads/object-store.js';
import { S3Requests } from '../../../src/worker-pool/threads/s3-requests.js';
import { ServerCopy } from '../../../src/worker-pool/threads/server-copy.js';
import { SourceGuard } from '../../../src/worker-pool/threads/source-guard.js';
import { BUCKET, eventually, MIB, pattern, poolSettings, run, SOURCE_BUCKET, TransferBench } from './pool-support.js';

const HELLO = Buffer.from('hello');
const PART = 5 * MIB;

/** The given checksum of these bytes, found by the message that refuses a wrong one. */
function hexOf(algorithm: ChecksumAlgorithm, bytes: Buffer): string {
  const digests = new Digests({ algorithm, value: '' });
  digests.update(bytes);
  try {
    return digests.verify().sha256;
  } catch (error) {
    return / is ([0-9a-f]+), not /.exec(String(error))?.[1] ?? '';
  }
}

describe('a source in S3', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;
  let requests: S3Requests;

  beforeEach(async () => {
    bench = await TransferBench.start();
    pool = await bench.pool();
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
    requests = new S3Requests(
      new BucketAccesses(async (bucket) => ({ url: `${bench.endpoint.url}/${bucket}`, region: 'us-east-1', credentials })),
      8,
    );
  });
  afterEach(async () => {
    const left = bench.endpoint.openUploads(BUCKET);
    await requests.close();
    await bench.close();
    expect(left).toEqual([]);
  });

  async function source(bytes: Buffer, rest: Partial<ConstructorParameters<typeof PutObjectCommand>[0]> = {}): Promise<TransferTask> {
    await bench.s3.send(new PutObjectCommand({ Bucket: SOURCE_BUCKET, Key: 'a b/%2B+ü', Body: bytes, ContentType: 'text/plain', ...rest }));
    return bench.task(`s3://${SOURCE_BUCKET}/a b/%2B+ü`);
  }

  /** What S3 was asked, but for HeadObject. */
  const operations = (): string[] => bench.operations().filter((name) => name !== 'HeadObject');

  it('is copied there, as a download would have stored it', async () => {
    const task = await source(HELLO, { ContentEncoding: 'gzip', Metadata: { secret: 'of the source' }, CacheControl: 'no-store' });
    const progress: number[] = [];
    const outcome = await pool.run(task, { signal: new AbortController().signal, onProgress: (bytes) => progress.push(bytes) });
    expect(outcome).toEqual({ success: true, bytesProcessed: 5, etag: `"${createHash('md5').update(HELLO).digest('hex')}"` });
    expect(operations()).toEqual(['PutObject', 'CopyObject']);
    const { ContentType, ContentEncoding, CacheControl, Metadata } = await bench.head(task);
    expect({ ContentType, ContentEncoding, CacheControl }).toEqual({
      ContentType: 'text/plain',
      ContentEncoding: 'gzip',
      CacheControl: undefined,
    });
    expect(Metadata).toMatchObject({ 'task-id': encodeURI(task.taskId), 'source-etag': expect.any(String) });
    expect(Metadata).not.toHaveProperty('secret');
    expect((await bench.object(task)).equals(HELLO)).toBe(true);
  });

  it('is left alone where the identical object is', async () => {
    const task = await source(HELLO);
    const first = await run(pool, task);
    expect(await run(pool, task)).toEqual({ ...first, skipped: true });
    expect(operations()).toEqual(['PutObject', 'CopyObject']);
  });

  it.each(['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const)(
    'is copied when S3’s %s is the one given, and refused before a byte moves when it is not',
    async (name) => {
      const algorithm = name.toLowerCase() as ChecksumAlgorithm;
      const task = await source(HELLO, { ChecksumAlgorithm: name });
      const value = hexOf(algorithm, HELLO);
      expect(await run(pool, { ...task, checksum: { algorithm, value: value.replaceAll(/./g, '0') } })).toMatchObject({
        success: false,
        bytesProcessed: 0,
        error: { code: 'CHECKSUM_MISMATCH', retryable: true },
      });
      expect(operations()).toEqual(['PutObject']);
      const outcome = await run(pool, { ...task, checksum: { algorithm, value } });
      expect(outcome).toMatchObject({ success: true, ...(name === 'SHA256' && { sha256: value }) });
      expect(operations()).toEqual(['PutObject', 'CopyObject']);
      expect((await bench.head(task)).Metadata).toMatchObject({ checksum: `${algorithm}:${value}` });
    },
  );

  it.each(['md5', 'sha512', 'crc32c'] as const)('is read where a %s is given that S3 does not know', async (algorithm) => {
    const task = await source(HELLO, { ChecksumAlgorithm: 'CRC32' });
    const sha256 = hexOf('sha256', HELLO);
    expect(await run(pool, { ...task, checksum: { algorithm, value: hexOf(algorithm, HELLO) } })).toMatchObject({ success: true, sha256 });
    expect(operations()).toEqual(['PutObject', 'GetObject', 'PutObject']);
  });

  it('is read where S3’s checksum is one of its parts’ checksums', async () => {
    const at = { Bucket: SOURCE_BUCKET, Key: 'parts' };
    const { UploadId } = await bench.s3.send(new CreateMultipartUploadCommand({ ...at, ChecksumAlgorithm: 'SHA256' }));
    const part = { ...at, UploadId, PartNumber: 1 };
    const { ETag, ChecksumSHA256 } = await bench.s3.send(new UploadPartCommand({ ...part, Body: HELLO, ChecksumAlgorithm: 'SHA256' }));
    const Parts = [{ PartNumber: 1, ETag, ChecksumSHA256 }];
    await bench.s3.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts } }));
    const checksum = { algorithm: 'sha256', value: hexOf('sha256', HELLO) } as const;
    expect(await run(pool, bench.task(`s3://${SOURCE_BUCKET}/parts`, { checksum }))).toMatchObject({ success: true });
    expect(operations()).toContain('GetObject');
  });

  it('keeps the sha256 it was exported with', async () => {
    const sha256 = hexOf('sha256', HELLO);
    const task = await source(HELLO, { Metadata: { 'upload-attempt': 'earlier', sha256 } });
    expect(await run(pool, task)).toMatchObject({ success: true, sha256 });
    expect((await bench.head(task)).Metadata).toMatchObject({ sha256 });
  });

  it('is not looked at in a bucket that is not allowed', async () => {
    expect(await run(pool, bench.task('s3://others/key'))).toMatchObject({ error: { code: 'SOURCE_NOT_ALLOWED', retryable: false } });
    expect(bench.operations()).toEqual([]);
  });

  it('of another size or type, or none, is refused as any source is', async () => {
    const task = await source(HELLO);
    expect(await run(pool, { ...task, size: 4 })).toMatchObject({ error: { code: 'SIZE_MISMATCH' } });
    expect(await run(pool, { ...task, expectContentType: 'text/csv' })).toMatchObject({ error: { code: 'CONTENT_TYPE_MISMATCH' } });
    expect(await run(pool, bench.task(`s3://${SOURCE_BUCKET}/none`))).toMatchObject({ error: { code: 'HTTP_404' } });
    expect(await bench.keys()).toEqual([]);
  });

  it('that changes meanwhile is tried again', async () => {
    bench.endpoint.faults.add({ operation: 'CopyObject', action: { kind: 'fail', status: 412, code: 'PreconditionFailed' } });
    expect(await run(pool, await source(HELLO))).toMatchObject({ error: { code: 'SOURCE_CHANGED', retryable: true } });
  });

  it.each([
    { status: 403, code: 'AccessDenied' },
    { status: 501, code: 'NotImplemented' },
  ])('is read where a copy is refused with $status', async ({ status, code }) => {
    bench.endpoint.faults.add({ operation: 'CopyObject', action: { kind: 'fail', status, code } });
    const task = await source(HELLO);
    expect(await run(pool, task)).toMatchObject({ success: true, sha256: hexOf('sha256', HELLO) });
    expect((await bench.object(task)).equals(HELLO)).toBe(true);
  });

  it('is not read where S3 says that it is the destination that refuses', async () => {
    bench.endpoint.faults.add({ operation: 'CopyObject', action: { kind: 'fail', status: 404, code: 'NoSuchBucket' } });
    expect(await run(pool, await source(HELLO))).toMatchObject({ error: { code: 'DESTINATION_REFUSED', retryable: false } });
    expect(bench.operations()).not.toContain('GetObject');
  });

  it('gets over lost answers to the copy', async () => {
    bench.endpoint.faults.add({ operation: 'CopyObject', times: 2, action: { kind: 'drop-reply' } });
    const task = await source(HELLO);
    expect(await run(pool, task)).toMatchObject({ success: true });
    expect((await bench.object(task)).equals(HELLO)).toBe(true);
  });

  it('ends with its task', async () => {
    bench.endpoint.faults.add({ operation: 'CopyObject', action: { kind: 'delay', ms: 60_000 } });
    const abort = new AbortController();
    const running = run(pool, await source(HELLO), abort.signal);
    await eventually(() => bench.operations().includes('HeadObject'));
    abort.abort();
    expect(await running).toMatchObject({ error: { code: 'ABORTED' } });
  });

  describe('too large for one copy', () => {
    const LARGE = pattern(2 * PART + 7);
    /** What the pool hears. */
    let told: object[];
    beforeEach(() => void (told = []));

    function copy(task: TransferTask, work = new AbortController(), onBytes: (bytes: number) => void = () => {}) {
      const { access } = poolSettings();
      const store = new ObjectStore(requests, { fullObjectCrc32: true });
      const existing = store.head({ bucket: task.s3Bucket, key: task.s3Key }, work.signal);
      const multiparts = new Multiparts(store, ({ type, payload }) => told.push({ type, ...payload }));
      const limits = { concurrency: 2, wholeBytes: PART, partBytes: PART };
      const signs = { onBytes, onRead: () => {}, wait: { begin: () => {}, heard: () => {} } };
      return new ServerCopy(new SourceGuard(access), store, multiparts, limits).tryCopy(task, existing, work, signs);
    }

    it('is copied in ranges, with the checksum of the whole where S3 has it', async () => {
      for (const ChecksumAlgorithm of ['CRC32', 'SHA256'] as const) {
        const task = await source(LARGE, { ChecksumAlgorithm });
        const progress: number[] = [];
        const outcome = await copy(task, undefined, (bytes) => progress.push(bytes));
        expect(outcome).toMatchObject({ success: true, bytesProcessed: LARGE.length });
        expect(progress).toEqual([...progress].sort((a, b) => a - b));
        expect(progress.at(-1)).toBe(LARGE.length);
        expect((await bench.object(task)).equals(LARGE)).toBe(true);
        expect((await bench.head(task)).ContentType).toBe('text/plain');
      }
      expect(operations().filter((name) => name === 'UploadPartCopy')).toHaveLength(6);
    });

    it('tells the pool of its upload before its first part, and when it is ended', async () => {
      const task = await source(LARGE);
      const { taskId, s3Bucket: bucket, s3Key: key } = task;
      const uploadId = expect.any(String);
      const opened = { type: 'UPLOAD_OPENED', taskId, bucket, key, uploadId };
      bench.endpoint.faults.add({ operation: 'UploadPartCopy', times: 1, action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
      expect(await copy(task)).toBeUndefined();
      expect(told).toEqual([opened, { type: 'UPLOAD_CLOSED', taskId, uploadId }]);
      expect(await copy(task)).toMatchObject({ success: true });
      expect(told.slice(2)).toEqual([opened, { type: 'UPLOAD_CLOSED', taskId, uploadId }]);
    });

    it.each(['CreateMultipartUpload', 'UploadPartCopy', 'CompleteMultipartUpload'] as const)(
      'gets over a lost answer to %s',
      async (operation) => {
        bench.endpoint.faults.add({ operation, times: 1, action: { kind: 'drop-reply' } });
        const task = await source(LARGE);
        expect(await copy(task)).toMatchObject({ success: true });
        expect((await bench.object(task)).equals(LARGE)).toBe(true);
      },
    );

    it('leaves no upload behind when it is refused, and is read', async () => {
      bench.endpoint.faults.add({ operation: 'UploadPartCopy', after: 1, action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
      const work = new AbortController();
      expect(await copy(await source(LARGE), work)).toBeUndefined();
      expect(work.signal.aborted).toBe(false);
      expect(operations()).toContain('AbortMultipartUpload');
    });

    it('that changes between two parts is tried again, and nothing becomes visible', async () => {
      bench.endpoint.faults.add({
        operation: 'UploadPartCopy',
        after: 1,
        action: { kind: 'fail', status: 412, code: 'PreconditionFailed' },
      });
      await expect(copy(await source(LARGE))).rejects.toMatchObject({ code: 'SOURCE_CHANGED', disposition: 'retry' });
      expect(await bench.keys()).toEqual([]);
    });

    it('leaves no upload behind when its task is aborted', async () => {
      bench.endpoint.faults.add({ operation: 'UploadPartCopy', action: { kind: 'delay', ms: 60_000 } });
      const work = new AbortController();
      const running = copy(await source(LARGE), work);
      await eventually(() => bench.operations().includes('CreateMultipartUpload'));
      work.abort(new Error('no longer wanted'));
      await expect(running).rejects.toThrow('no longer wanted');
    });
  });
});
