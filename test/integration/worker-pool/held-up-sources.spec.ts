import { afterEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import type { TransferTask } from '../../../src/worker-pool/index.js';
import { head } from '../../support/raw-origin.js';
import { benchForEach, BUCKET, MIB, pattern, SOURCE_BUCKET, type TransferBench } from './pool-support.js';
import { FAR, QuickTransfers, type Limits } from './quick-transfers.js';

const LARGE = pattern(25 * MIB);

describe('a source that is held up', () => {
  let bench: TransferBench;
  let transfers: QuickTransfers;

  afterEach(() => transfers.close());
  benchForEach((fresh) => ({ bench } = fresh));

  function within(limits: Partial<Limits>): QuickTransfers {
    transfers = QuickTransfers.create({ ...FAR, ...limits });
    return transfers;
  }

  describe('by S3, which takes its parts slowly and so stops the reading', () => {
    /** Two parts fill the memory: the third is read when S3 has taken one. */
    const HELD_MS = 3_000;
    /** Less than it is held up, and more than a busy machine takes from one read to the next. */
    const limits = { memoryMb: 16, stallTimeoutMs: 2_000 };
    const holdUp = () => bench.endpoint.faults.add({ operation: 'UploadPart', action: { kind: 'delay', ms: HELD_MS } });

    it('is not taken for silent meanwhile', async () => {
      holdUp();
      const task = bench.task(bench.origin.file('/large', LARGE));
      expect(await within(limits).run(task)).toMatchObject({ success: true });
      expect((await bench.object(task)).equals(LARGE)).toBe(true);
    });

    it('is found silent all the same, once it is read again', async () => {
      holdUp();
      const url = bench.origin.on('/silent', (socket) => {
        socket.write(head(200, { 'content-length': String(LARGE.length) }));
        socket.write(LARGE.subarray(0, 17 * MIB));
      });
      const before = performance.now();
      expect(await within(limits).run(bench.task(url))).toMatchObject({
        success: false,
        bytesProcessed: 17 * MIB,
        error: { code: 'SOURCE_STALLED', retryable: true },
      });
      expect(performance.now() - before).toBeGreaterThan(HELD_MS);
      expect(await bench.keys()).toEqual([]);
      expect(bench.endpoint.openUploads(BUCKET)).toEqual([]);
    });
  });

  describe('by this thread, which is busy for longer than any deadline', () => {
    const BUSY_MS = 2_000;
    const limits = { headersMs: BUSY_MS / 2, stallTimeoutMs: BUSY_MS / 2 };
    function beBusy(): void {
      for (const until = performance.now() + BUSY_MS; performance.now() < until;);
    }

    it('is heard all the same when its answer came meanwhile', async () => {
      const url = bench.origin.on('/file', (socket) => {
        socket.write(head(200, { 'content-length': '5' }));
        socket.write('hello');
        beBusy();
      });
      expect(await within(limits).run(bench.task(url))).toMatchObject({ success: true });
    });

    it('is heard all the same when its bytes came meanwhile', async () => {
      const url = bench.origin.on('/file', (socket) => {
        socket.write(head(200, { 'content-length': '5' }));
        // Not in a timer: after one, this loop reads its sockets before it looks at its timers again.
        const busily = () => {
          socket.write('hello');
          beBusy();
        };
        setTimeout(() => setImmediate(busily), 50);
      });
      expect(await within(limits).run(bench.task(url))).toMatchObject({ success: true });
    });
  });

  describe('in S3', () => {
    /** Of a checksum that S3 does not know, so that it must be read. */
    async function inS3(bytes: Buffer): Promise<TransferTask> {
      await bench.s3.send(new PutObjectCommand({ Bucket: SOURCE_BUCKET, Key: 'file', Body: bytes }));
      const checksum = { algorithm: 'md5', value: createHash('md5').update(bytes).digest('hex') } as const;
      return bench.task(`s3://${SOURCE_BUCKET}/file`, { checksum });
    }

    it('as S3 wants to be asked less is asked again', async () => {
      bench.endpoint.faults.add({ operation: 'GetObject', times: 2, action: { kind: 'fail', status: 503, code: 'SlowDown' } });
      expect(await within({}).run(await inS3(pattern(1_000)))).toMatchObject({ success: true });
    });

    it('for ever is another try’s business', async () => {
      bench.endpoint.faults.add({ operation: 'GetObject', action: { kind: 'fail', status: 503, code: 'SlowDown' } });
      expect(await within({}).run(await inS3(pattern(1_000)))).toMatchObject({
        success: false,
        error: { code: 'HTTP_503', httpStatus: 503, retryable: true },
      });
      expect(await bench.keys()).toEqual([]);
    });

    it('and cut again and again is read on until it is whole', async () => {
      const bytes = pattern(20 * MIB);
      bench.endpoint.faults.add({ times: 2, action: { kind: 'cut-body', afterBytes: 7 * MIB } });
      const task = await inS3(bytes);
      expect(await within({}).run(task)).toMatchObject({ success: true, bytesProcessed: bytes.length });
      expect((await bench.object(task)).equals(bytes)).toBe(true);
      expect(bench.operations().filter((operation) => operation === 'GetObject')).toHaveLength(4);
    });

    it('and slow is waited for as long as something comes', async () => {
      bench.endpoint.faults.add({ times: 1, action: { kind: 'slow-body', bytesPerSecond: 350 } });
      expect(await within({ stallTimeoutMs: 2_000 }).run(await inS3(pattern(1_000)))).toMatchObject({ success: true });
    });

    it('and slow is ended by the task’s timeout', async () => {
      bench.endpoint.faults.add({ times: 1, action: { kind: 'slow-body', bytesPerSecond: 100 } });
      expect(await within({ taskTimeoutMs: 500 }).run(await inS3(pattern(1_000)))).toMatchObject({
        success: false,
        error: { code: 'TASK_TIMEOUT', retryable: true },
      });
      expect(await bench.keys()).toEqual([]);
    });
  });
});
