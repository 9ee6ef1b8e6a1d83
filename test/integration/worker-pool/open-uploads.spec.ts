import { describe, expect, it } from '@jest/globals';
import type { PoolManagerService, TransferTask } from '../../../src/worker-pool/index.js';
import { head } from '../../support/raw-origin.js';
import { benchForEach, BUCKET, eventually, MIB, pattern, run, type TransferBench } from './pool-support.js';

const DOOMED = new URL('./fixtures/doomed-thread.ts', import.meta.url);
const QUICK = { abortGraceMs: 200, stopGraceMs: 200, pingIntervalMs: 300, restartBackoff: { baseMs: 10, capMs: 50 } };
const LARGE = pattern(17 * MIB);
const BROKEN = { kind: 'fail', status: 500, code: 'InternalError' } as const;
/** So often a thread asks for an abort when S3 answers it so. */
const TRIES_OF_THREAD = 3;

/** Each test ends without an open upload: `benchForEach` sees to it. */
describe('a multipart upload', () => {
  let bench: TransferBench;
  let inline: PoolManagerService;
  benchForEach((fresh) => ({ bench, pool: inline } = fresh));

  const open = () => bench.endpoint.openUploads(BUCKET).length;
  const count = (operation: string) => bench.operations().filter((name) => name === operation).length;
  const large = (): TransferTask => bench.task(bench.origin.file('/large', LARGE));
  const wrong = (): TransferTask => ({ ...large(), checksum: { algorithm: 'crc32', value: '00000000' } });

  /** A task that has sent a part and gets no more bytes, in a thread of its own pool. */
  async function halfUploaded(signal?: AbortSignal) {
    const pool = await bench.pool({ pool: { size: 1, tasksPerWorker: 3 } }, { threadUrl: DOOMED, timings: QUICK });
    const url = bench.origin.on('/half', (socket) => {
      socket.write(head(200, { 'content-length': String(LARGE.length) }));
      socket.write(LARGE.subarray(0, 9 * MIB));
    });
    const outcome = run(pool, bench.task(url), signal);
    await eventually(() => open() === 1 && count('UploadPart') === 1);
    return { pool, outcome };
  }

  it.each(['exit', 'throw', 'out-of-heap', 'hang'])('is aborted when its thread does “%s”', async (what) => {
    const { pool, outcome } = await halfUploaded();
    expect(await run(pool, bench.task(what))).toMatchObject({ success: false, error: { code: 'THREAD_LOST' } });
    expect(await outcome).toMatchObject({ success: false, error: { code: 'THREAD_LOST', retryable: true } });
    await eventually(() => open() === 0);
  });

  it('is aborted when its task is aborted and its thread, which does not obey, is terminated', async () => {
    const abort = new AbortController();
    const { pool, outcome } = await halfUploaded(abort.signal);
    const hanging = run(pool, bench.task('hang'));
    abort.abort();
    expect(await outcome).toMatchObject({ success: false, error: { code: 'ABORTED' } });
    await hanging;
    await eventually(() => open() === 0);
  });

  it('is gone once the pool has stopped, though its thread hangs and S3 does not listen at first', async () => {
    const { pool, outcome } = await halfUploaded();
    const hanging = run(pool, bench.task('hang'));
    bench.endpoint.faults.add({ operation: 'AbortMultipartUpload', times: 1, action: BROKEN });
    await pool.stop(performance.now() + 60_000);
    expect(open()).toBe(0);
    expect(await Promise.all([outcome, hanging])).toMatchObject([{ success: false }, { success: false }]);
  });

  it('that S3 did not let its thread abort in time is aborted later', async () => {
    bench.endpoint.faults.add({ operation: 'AbortMultipartUpload', times: TRIES_OF_THREAD + 2, action: BROKEN });
    expect(await run(inline, wrong())).toMatchObject({ success: false, error: { code: 'CHECKSUM_MISMATCH' } });
    expect(open()).toBe(1);
    await eventually(() => open() === 0);
    expect(count('AbortMultipartUpload')).toBe(TRIES_OF_THREAD + 3);
  });

  it('of a former attempt is aborted without harm to the next one', async () => {
    const heal = bench.endpoint.faults.add({ operation: 'AbortMultipartUpload', action: BROKEN });
    const task = wrong();
    expect(await run(inline, task)).toMatchObject({ success: false });
    const { checksum: _, ...right } = task;
    const next = run(inline, { ...right, attempt: 2 });
    await eventually(() => count('CreateMultipartUpload') === 2);
    heal();
    expect(await next).toMatchObject({ success: true });
    expect((await bench.object(task)).equals(LARGE)).toBe(true);
    await eventually(() => open() === 0);
  });

  it('that is completed is never touched, not even when nobody here heard of it', async () => {
    const task = large();
    expect(await run(inline, task)).toMatchObject({ success: true });
    expect(count('AbortMultipartUpload')).toBe(0);

    bench.endpoint.faults.add({ operation: 'CompleteMultipartUpload', action: { kind: 'drop-reply' } });
    const blind = bench.endpoint.faults.add({ operation: 'HeadObject', action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
    const unheard = large();
    expect(await run(inline, unheard)).toMatchObject({ success: false, error: { code: 'UPLOAD_FAILED' } });
    await inline.stop();
    blind();
    expect((await bench.object(unheard)).equals(LARGE)).toBe(true);
    expect((await bench.object(task)).equals(LARGE)).toBe(true);
  });
});
