import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { PoolManagerService, TransferTask } from '../../../src/worker-pool/index.js';
import { benchForEach, MIB, pattern, run, type TransferBench } from './pool-support.js';

const HELLO = Buffer.from('hello');
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const checksumOf = (bytes: Buffer) => ({ algorithm: 'sha256', value: sha256(bytes) }) as const;

describe('a transfer whose key', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  benchForEach((fresh) => ({ bench, pool } = fresh));

  /** What S3 and the origin were asked by this. */
  async function asked(what: () => Promise<unknown>): Promise<{ s3: string[]; origin: number }> {
    const [operations, requests] = [bench.operations().length, bench.origin.requests.length];
    await what();
    return { s3: bench.operations().slice(operations), origin: bench.origin.requests.length - requests };
  }

  const hello = (rest: Partial<TransferTask> = {}) => bench.task(bench.origin.file('/hello', HELLO, { etag: '"v1"' }), rest);

  describe('is free', () => {
    it('is put without a look, if it is small; a large one is looked at first', async () => {
      expect(await asked(() => run(pool, hello()))).toEqual({ s3: ['PutObject'], origin: 1 });
      const large = bench.task(bench.origin.file('/large', pattern(9 * MIB)));
      expect((await asked(() => run(pool, large))).s3[0]).toBe('HeadObject');
    });

    it('is stored by one attempt though the answer was lost', async () => {
      bench.endpoint.faults.add({ operation: 'PutObject', times: 1, action: { kind: 'drop-reply' } });
      const task = hello();
      expect(await asked(() => run(pool, task))).toEqual({ s3: ['PutObject', 'HeadObject'], origin: 1 });
      expect(await bench.object(task)).toEqual(HELLO);
    });

    it('is put again, once it has been looked at, when the connection failed', async () => {
      bench.endpoint.faults.add({ operation: 'PutObject', times: 1, action: { kind: 'cut' } });
      const task = hello();
      expect(await asked(() => run(pool, task))).toEqual({ s3: ['PutObject', 'HeadObject', 'PutObject'], origin: 1 });
      expect(await bench.object(task)).toEqual(HELLO);
    });

    it('keeps no later file of the job from being put at once, though an answer was lost', async () => {
      bench.endpoint.faults.add({ operation: 'PutObject', times: 1, action: { kind: 'drop-reply' } });
      await run(pool, hello());
      expect((await asked(() => run(pool, hello()))).s3).toEqual(['PutObject']);
    });

    it('is put again when another is put there at the same time', async () => {
      bench.endpoint.faults.add({
        operation: 'PutObject',
        times: 1,
        action: { kind: 'fail', status: 409, code: 'ConditionalRequestConflict' },
      });
      expect(await asked(() => run(pool, hello()))).toEqual({ s3: ['PutObject', 'PutObject'], origin: 1 });
    });

    it.each([
      { status: 501, code: 'NotImplemented' },
      { status: 400, code: 'InvalidArgument' },
    ])('is put without a condition where the store knows none ($code), and looked at first from then on', async ({ status, code }) => {
      bench.endpoint.faults.add({ operation: 'PutObject', times: 1, action: { kind: 'fail', status, code } });
      expect(await asked(() => run(pool, hello()))).toEqual({ s3: ['PutObject', 'PutObject'], origin: 1 });
      const again = hello();
      await run(pool, again);
      expect(await asked(async () => expect(await run(pool, again)).toMatchObject({ skipped: true }))).toEqual({
        s3: ['HeadObject'],
        origin: 1,
      });
    });
  });

  describe('holds what it would store', () => {
    it.each([5, 9 * MIB])('is left alone, by its checksum or its source’s ETag (%d bytes)', async (size) => {
      const bytes = pattern(size);
      const url = bench.origin.file('/file', bytes, { etag: '"v1"' });
      for (const task of [bench.task(url), bench.task(url, { checksum: checksumOf(bytes) })]) {
        const first = await run(pool, task);
        const { s3 } = await asked(async () =>
          expect(await run(pool, task)).toMatchObject({
            success: true,
            skipped: true,
            bytesProcessed: bytes.length,
            etag: first.success ? first.etag : '',
          }),
        );
        expect(s3.filter((operation) => operation !== 'HeadObject')).toEqual(
          size === 5 && task.checksum === undefined ? ['PutObject'] : [],
        );
      }
    });

    it('is found by the refused PutObject once; from then on the job looks before it reads', async () => {
      const tasks = [hello(), hello(), hello()];
      for (const task of tasks) await run(pool, task);
      const asks: unknown[] = [];
      for (const task of tasks) asks.push(await asked(async () => expect(await run(pool, task)).toMatchObject({ skipped: true })));
      const [byPut, byLook] = [
        { s3: ['PutObject', 'HeadObject'], origin: 1 },
        { s3: ['HeadObject'], origin: 1 },
      ];
      expect(asks).toEqual([byPut, byLook, byLook]);
    });

    it('is found with one download though the store closes before it has answered that the key is taken', async () => {
      const task = hello();
      await run(pool, task);
      bench.endpoint.faults.add({ operation: 'PutObject', action: { kind: 'cut' } });
      expect(await asked(async () => expect(await run(pool, task)).toMatchObject({ success: true, skipped: true }))).toEqual({
        s3: ['PutObject', 'HeadObject'],
        origin: 1,
      });
    });

    it('is left alone without a word to its source, where the task tells size and checksum', async () => {
      const tasks = [hello(), hello({ size: HELLO.length, checksum: checksumOf(HELLO) })];
      for (const task of tasks) await run(pool, task);
      await run(pool, tasks[0] as TransferTask);
      expect(await asked(() => run(pool, tasks[1] as TransferTask))).toEqual({ s3: ['HeadObject'], origin: 0 });
    });
  });

  describe('holds another object', () => {
    it('is written over, whether it was looked at before or not', async () => {
      const task = hello();
      await run(pool, task);
      for (const text of ['other', 'again']) {
        bench.origin.file('/hello', Buffer.from(text), { etag: `"${text}"` });
        expect(await run(pool, task)).toMatchObject({ success: true, sha256: sha256(Buffer.from(text)) });
        expect(await bench.object(task)).toEqual(Buffer.from(text));
      }
    });

    it('is written over when it may not be looked at', async () => {
      const task = hello();
      await run(pool, task);
      bench.endpoint.faults.add({ operation: 'HeadObject', action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
      bench.origin.file('/hello', Buffer.from('other'));
      expect(await asked(() => run(pool, task))).toEqual({ s3: ['PutObject', 'HeadObject', 'PutObject'], origin: 1 });
    });
  });
});
