import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PoolManagerService, TransferTask } from '../../../src/worker-pool/index.js';
import { head } from '../../support/raw-origin.js';
import { BUCKET, eventually, MIB, pattern, run, TransferBench } from './pool-support.js';

const LARGE = pattern(17 * MIB);

describe('an upload on a store that fails', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  beforeEach(async () => {
    bench = await TransferBench.start();
    pool = await bench.pool();
  });
  afterEach(async () => {
    const left = bench.endpoint.openUploads(BUCKET);
    await bench.close();
    expect(left).toEqual([]);
  });

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
      action: { kind: 'complete-200-error', code: 'InternalError' },
    });
    const task = large();
    expect(await run(pool, task)).toMatchObject({ success: false, error: { code: 'UPLOAD_FAILED', retryable: true } });
    expect(await bench.keys()).toEqual([]);
    heal();
    await expectStored(task);
  });

  it('does not take another’s object for its own when Complete fails', async () => {
    const task = large();
    await expectStored(task);
    bench.origin.file('/large', LARGE, { etag: '"new"' });
    bench.endpoint.faults.add({ operation: 'CompleteMultipartUpload', action: { kind: 'cut' } });
    expect(await run(pool, task)).toMatchObject({ success: false, error: { code: 'UPLOAD_FAILED', retryable: true } });
  });

  it('gives up at a refused part, stops the download and says why', async () => {
    bench.endpoint.faults.add({ operation: 'UploadPart', action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
    const url = bench.origin.on('/endless', (socket) => {
      socket.write(head(200, { 'content-length': String(100 * MIB) }));
      socket.write(LARGE);
    });
    expect(await run(pool, bench.task(url))).toMatchObject({
      success: false,
      error: { code: 'UPLOAD_FAILED', message: 'S3 answered 403 AccessDenied', httpStatus: 403, retryable: false },
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
