import { AbortMultipartUploadCommand, CreateMultipartUploadCommand, PutObjectCommand, UploadPartCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { PoolManagerService, TransferTask } from '../../../src/worker-pool/index.js';
import { head } from '../../support/raw-origin.js';
import { benchForEach, BUCKET, eventually, MIB, pattern, run, SOURCE_BUCKET, type TransferBench } from './pool-support.js';

const LARGE = pattern(17 * MIB);

describe('an upload on a store that fails', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  benchForEach((fresh) => ({ bench, pool } = fresh));

  const large = (): TransferTask => bench.task(bench.origin.file('/large', LARGE));
  const count = (operation: string) => bench.operations().filter((name) => name === operation).length;

  async function expectStored(task: TransferTask): Promise<void> {
    expect(await run(pool, task)).toMatchObject({ success: true, bytesProcessed: LARGE.length });
    expect((await bench.object(task)).equals(LARGE)).toBe(true);
  }

  it.each(['PutObject', 'HeadObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'] as const)(
    'gets over a lost answer to %s',
    async (operation) => {
      bench.endpoint.faults.add({ operation, times: 1, action: { kind: 'drop-reply' } });
      if (operation !== 'PutObject') return expectStored(large());
      expect(await run(pool, bench.task(bench.origin.file('/small', Buffer.from('hello'))))).toMatchObject({ success: true });
    },
  );

  it('finds a completed object though every answer to Complete was lost', async () => {
    bench.endpoint.faults.add({ operation: 'CompleteMultipartUpload', action: { kind: 'drop-reply' } });
    await expectStored(large());
  });

  it('takes a 200 with an error in it for the error it is', async () => {
    const heal = bench.endpoint.faults.add({
      operation: 'CompleteMultipartUpload',
      action: { kind: 'late-200-error', code: 'InternalError' },
    });
    const task = large();
    expect(await run(pool, task)).toMatchObject({ success: false, error: { code: 'UPLOAD_FAILED', retryable: true } });
    expect(await bench.keys()).toEqual([]);
    heal();
    await expectStored(task);
  });

  it('that refuses at Complete, behind a 200, is not asked again for this file', async () => {
    bench.endpoint.faults.add({ operation: 'CompleteMultipartUpload', action: { kind: 'late-200-error', code: 'AccessDenied' } });
    expect(await run(pool, large())).toMatchObject({ success: false, error: { code: 'DESTINATION_REFUSED', retryable: false } });
    expect(count('CompleteMultipartUpload')).toBe(1);
  });

  it.each(['CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'] as const)(
    'that has no such bucket at %s is told so',
    async (operation) => {
      bench.endpoint.faults.add({ operation, action: { kind: 'fail', status: 404, code: 'NoSuchBucket' } });
      expect(await run(pool, large())).toMatchObject({
        error: { code: 'DESTINATION_REFUSED', message: 'the bucket exports takes no files: NoSuchBucket (missing: the bucket)' },
      });
    },
  );

  it.each([
    { operation: 'PutObject', bytes: 5 },
    { operation: 'UploadPart', bytes: LARGE.length },
  ] as const)('that got other bytes at $operation gets the same ones again', async ({ operation, bytes }) => {
    bench.endpoint.faults.add({ operation, times: 2, action: { kind: 'fail', status: 400, code: 'BadDigest' } });
    const task = bench.task(bench.origin.file('/file', LARGE.subarray(0, bytes)));
    expect(await run(pool, task)).toMatchObject({ success: true });
    expect(bench.origin.requests).toHaveLength(1);
  });

  it.each([
    { operation: 'PutObject', bytes: 5, action: { kind: 'fail', status: 400, code: 'BadDigest' } },
    { operation: 'UploadPart', bytes: LARGE.length, action: { kind: 'fail', status: 400, code: 'BadDigest' } },
    { operation: 'CompleteMultipartUpload', bytes: LARGE.length, action: { kind: 'fail', status: 400, code: 'BadDigest' } },
    { operation: 'CompleteMultipartUpload', bytes: LARGE.length, action: { kind: 'late-200-error', code: 'BadDigest' } },
  ] as const)(
    'that always gets other bytes at $operation ($action.kind) is a mismatch, no failure that passes',
    async ({ operation, bytes, action }) => {
      bench.endpoint.faults.add({ operation, action });
      const task = bench.task(bench.origin.file('/file', LARGE.subarray(0, bytes)));
      expect(await run(pool, task)).toMatchObject({ success: false, error: { code: 'UPLOAD_MISMATCH', retryable: true } });
    },
  );

  it('does not take another’s object for its own when Complete fails', async () => {
    const task = large();
    await expectStored(task);
    bench.origin.file('/large', LARGE, { etag: '"new"' });
    bench.endpoint.faults.add({ operation: 'CompleteMultipartUpload', action: { kind: 'cut' } });
    expect(await run(pool, task)).toMatchObject({ success: false, error: { code: 'UPLOAD_FAILED', retryable: true } });
  });

  it.each([
    { operation: 'CreateMultipartUpload', parts: 3 },
    { operation: 'UploadPart', parts: 3 },
    { operation: 'CompleteMultipartUpload', parts: 3 },
  ] as const)(
    'waits where S3 wants to be asked less, at $operation, and sends nothing twice that was taken',
    async ({ operation, parts }) => {
      bench.endpoint.faults.add({ operation, times: 4, action: { kind: 'fail', status: 503, code: 'SlowDown' } });
      await expectStored(large());
      const struck = 4;
      expect(count('CreateMultipartUpload')).toBe(operation === 'CreateMultipartUpload' ? 1 + struck : 1);
      expect(count('UploadPart')).toBe(operation === 'UploadPart' ? parts + struck : parts);
      expect(count('ListMultipartUploads')).toBe(0);
    },
  );

  it('waits where S3 wants to be asked less, for a small file too', async () => {
    bench.endpoint.faults.add({ operation: 'PutObject', times: 4, action: { kind: 'fail', status: 503, code: 'SlowDown' } });
    expect(await run(pool, bench.task(bench.origin.file('/small', Buffer.from('hello'))))).toMatchObject({ success: true });
  });

  it('tells once that the source has been read, before S3 has its end and whatever S3 makes of it; never of a source that fails', async () => {
    bench.endpoint.faults.add({ operation: 'PutObject', action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
    let told = 0;
    const read = (task: TransferTask) => pool.run(task, { signal: new AbortController().signal, onRead: () => (told += 1) });
    expect(await read(bench.task(bench.origin.file('/read', Buffer.from('hello'))))).toMatchObject({
      error: { code: 'DESTINATION_REFUSED' },
    });
    expect(told).toBe(1);
    expect(
      await read(bench.task(bench.origin.on('/missing', (socket) => socket.write(head(404, { 'content-length': '0' }))))),
    ).toMatchObject({ error: { code: 'HTTP_404' } });
    expect(told).toBe(1);
  });

  it('tells by the object whether a Complete that finds no upload has been done', async () => {
    bench.endpoint.faults.add({ operation: 'CompleteMultipartUpload', times: 1, action: { kind: 'drop-reply' } });
    bench.endpoint.faults.add({ operation: 'CompleteMultipartUpload', action: { kind: 'fail', status: 404, code: 'NoSuchUpload' } });
    await expectStored(large());
    expect(await run(pool, large())).toMatchObject({ success: false, error: { code: 'UPLOAD_FAILED', httpStatus: 404, retryable: true } });
    expect(await bench.keys()).toHaveLength(1);
  });

  it('tries again, and harms nothing, when the object of a lost Complete cannot be looked at', async () => {
    const healComplete = bench.endpoint.faults.add({ operation: 'CompleteMultipartUpload', action: { kind: 'drop-reply' } });
    const healHead = bench.endpoint.faults.add({ operation: 'HeadObject', action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
    const task = large();
    expect(await run(pool, task)).toMatchObject({ success: false, error: { code: 'UPLOAD_FAILED', retryable: true } });
    healComplete();
    healHead();
    await expectStored(task);
  });

  it('aborts the upload though S3 does not listen at first', async () => {
    bench.endpoint.faults.add({ operation: 'AbortMultipartUpload', times: 1, action: { kind: 'cut' } });
    bench.endpoint.faults.add({ operation: 'AbortMultipartUpload', times: 1, action: { kind: 'fail', status: 503, code: 'SlowDown' } });
    bench.endpoint.faults.add({
      operation: 'AbortMultipartUpload',
      times: 1,
      action: { kind: 'fail', status: 500, code: 'InternalError' },
    });
    const wrong = { ...large(), checksum: { algorithm: 'crc32', value: '00000000' } as const };
    expect(await run(pool, wrong)).toMatchObject({ success: false, error: { code: 'CHECKSUM_MISMATCH' } });
    expect(count('AbortMultipartUpload')).toBe(4);
  });

  it('leaves another’s upload to its key alone when an answer to Create is lost', async () => {
    const task = large();
    const at = { Bucket: BUCKET, Key: task.s3Key };
    const { UploadId } = await bench.s3.send(new CreateMultipartUploadCommand(at));
    await bench.s3.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: 'a part' }));
    bench.endpoint.faults.add({ operation: 'CreateMultipartUpload', times: 1, action: { kind: 'drop-reply' } });
    await expectStored(task);
    expect(bench.endpoint.openUploads(BUCKET)).toEqual([{ key: task.s3Key, uploadId: UploadId }]);
    await bench.s3.send(new AbortMultipartUploadCommand({ ...at, UploadId }));
  });

  it.each([
    { operation: 'CreateMultipartUpload', ms: 300 },
    { operation: 'UploadPart', ms: 60_000 },
    { operation: 'CompleteMultipartUpload', ms: 60_000 },
  ] as const)('leaves nothing behind when the service ends during $operation', async ({ operation, ms }) => {
    bench.endpoint.faults.add({ operation, action: { kind: 'delay', ms } });
    const running = run(pool, large());
    const reached = {
      CreateMultipartUpload: () => count('HeadObject') === 1,
      UploadPart: () => count('CreateMultipartUpload') === 1,
      CompleteMultipartUpload: () => count('UploadPart') === 3,
    };
    await eventually(reached[operation]);
    await pool.stop();
    expect(await running).toMatchObject({ success: false, error: { code: 'ABORTED', retryable: true } });
    expect(bench.endpoint.openUploads(BUCKET)).toEqual([]);
    expect(await bench.keys()).toEqual([]);
  });

  it('never waits for a connection that a source in S3 holds until the upload goes on', async () => {
    const narrow = await bench.pool({ pool: { tasksPerWorker: 2, uploadConcurrency: 1, memoryMb: 32 } });
    await bench.s3.send(new PutObjectCommand({ Bucket: SOURCE_BUCKET, Key: 'large', Body: LARGE }));
    const checksum = { algorithm: 'md5', value: createHash('md5').update(LARGE).digest('hex') } as const;
    const tasks = [1, 2].map(() => bench.task(`s3://${SOURCE_BUCKET}/large`, { checksum }));
    expect(await Promise.all(tasks.map((task) => run(narrow, task)))).toMatchObject([{ success: true }, { success: true }]);
  });

  it('refuses a source in S3 whose body is cut', async () => {
    await bench.s3.send(new PutObjectCommand({ Bucket: SOURCE_BUCKET, Key: 'large', Body: LARGE }));
    bench.endpoint.faults.add({ action: { kind: 'cut-body', afterBytes: MIB } });
    const checksum = { algorithm: 'md5', value: '0'.repeat(32) } as const;
    expect(await run(pool, bench.task(`s3://${SOURCE_BUCKET}/large`, { checksum }))).toMatchObject({
      success: false,
      error: { code: 'SIZE_MISMATCH', retryable: true },
    });
    expect(await bench.keys()).toEqual([]);
  });

  it('takes a copy’s 200 with an error in it for the error it is', async () => {
    await bench.s3.send(new PutObjectCommand({ Bucket: SOURCE_BUCKET, Key: 'small', Body: 'hello' }));
    const heal = bench.endpoint.faults.add({ operation: 'CopyObject', action: { kind: 'late-200-error', code: 'InternalError' } });
    const task = bench.task(`s3://${SOURCE_BUCKET}/small`);
    expect(await run(pool, task)).toMatchObject({ success: false, error: { code: 'UPLOAD_FAILED', retryable: true } });
    heal();
    expect(await run(pool, task)).toMatchObject({ success: true });
  });

  it('gives up at a refused part, stops the download and says why', async () => {
    bench.endpoint.faults.add({ operation: 'UploadPart', action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
    const url = bench.origin.on('/endless', (socket) => {
      socket.write(head(200, { 'content-length': String(100 * MIB) }));
      socket.write(LARGE);
    });
    expect(await run(pool, bench.task(url))).toMatchObject({
      success: false,
      error: {
        code: 'DESTINATION_REFUSED',
        message: 'the bucket exports takes no files: AccessDenied (missing: s3:PutObject)',
        httpStatus: 403,
        retryable: false,
      },
    });
    await eventually(() => bench.origin.connections === 0);
  });

  it('aborts the upload of a task that is aborted while parts are in flight', async () => {
    bench.endpoint.faults.add({ operation: 'UploadPart', action: { kind: 'delay', ms: 60_000 } });
    const abort = new AbortController();
    const running = run(pool, large(), abort.signal);
    await eventually(() => count('CreateMultipartUpload') === 1);
    abort.abort();
    expect(await running).toMatchObject({ success: false, error: { code: 'ABORTED', retryable: true } });
    expect(count('AbortMultipartUpload')).toBe(1);
    expect(await bench.keys()).toEqual([]);
  });

  it('moves files larger than its memory side by side', async () => {
    const small = await bench.pool({ pool: { memoryMb: 16, uploadConcurrency: 2 } });
    const tasks = Array.from({ length: 5 }, () => large());
    for (const outcome of await Promise.all(tasks.map((task) => run(small, task)))) expect(outcome).toMatchObject({ success: true });
    for (const task of tasks) expect((await bench.object(task)).equals(LARGE)).toBe(true);
  });
});
