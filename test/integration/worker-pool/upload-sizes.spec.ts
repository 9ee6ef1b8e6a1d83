import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { PoolManagerService } from '../../../src/worker-pool/index.js';
import { chunk, head } from '../../support/raw-origin.js';
import { benchForEach, eventually, MIB, pattern, run, type TransferBench } from './pool-support.js';

const PART = 8 * MIB;

describe('an upload', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  benchForEach((fresh) => ({ bench, pool } = fresh));

  it.each([
    { what: 'a byte less than a part', size: PART - 1, parts: 0 },
    { what: 'a part', size: PART, parts: 0 },
    { what: 'a byte more than a part', size: PART + 1, parts: 2 },
    { what: 'a byte less than two parts', size: 2 * PART - 1, parts: 2 },
    { what: 'two parts', size: 2 * PART, parts: 2 },
    { what: 'a byte more than two parts', size: 2 * PART + 1, parts: 3 },
  ])('of $what is stored as it is, of known and of unknown length', async ({ size, parts }) => {
    const bytes = pattern(size);
    const known = bench.task(bench.origin.file('/known', bytes));
    const unknown = bench.task(
      bench.origin.on('/unknown', (socket) => {
        socket.write(head(200, { 'transfer-encoding': 'chunked' }));
        socket.write(chunk(bytes));
        socket.write(chunk());
      }),
    );
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    for (const task of [known, unknown]) {
      const before = bench.operations().length;
      expect(await run(pool, task)).toMatchObject({ success: true, bytesProcessed: size, sha256 });
      const operations = bench.operations().slice(before);
      expect(operations.filter((name) => name === 'UploadPart')).toHaveLength(parts);
      expect(operations.filter((name) => name === 'PutObject')).toHaveLength(parts === 0 ? 1 : 0);
      expect((await bench.object(task)).equals(bytes)).toBe(true);
    }
  });

  it('of a claimed 20 TB is refused before a byte is read, for good, with the mend', async () => {
    const url = bench.origin.on('/lie', (socket) => {
      socket.write(head(200, { 'content-length': '20000000000000' }));
      socket.write(pattern(MIB));
    });
    const before = process.memoryUsage().arrayBuffers;
    expect(await run(pool, bench.task(url))).toMatchObject({
      success: false,
      bytesProcessed: 0,
      error: {
        code: 'TOO_LARGE',
        retryable: false,
        message: expect.stringMatching(/20,000,000,000,000 bytes.*TRANSFER_MEMORY_MB=64.*raise it/),
      },
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * MIB);
    expect(bench.operations()).toEqual(['HeadObject']);
    await eventually(() => bench.origin.connections === 0);
  });

  it('of a lying length that the memory allows holds no more than that', async () => {
    const url = bench.origin.on('/lie', (socket) => {
      socket.write(head(200, { 'content-length': String(300_000 * MIB) }));
      socket.write(pattern(40 * MIB), () => socket.end());
    });
    expect(await run(pool, bench.task(url))).toMatchObject({ success: false, error: { code: 'SIZE_MISMATCH', retryable: true } });
  });

  it('keeps on a multipart object what the source said of it', async () => {
    const bytes = pattern(PART + 1);
    const headers = { etag: '"v1"', 'content-type': 'video/mp4', 'last-modified': 'Sat, 01 Aug 2026 00:00:00 GMT' };
    const task = bench.task(bench.origin.file('/file', bytes, headers), {
      checksum: { algorithm: 'md5', value: createHash('md5').update(bytes).digest('hex') },
    });
    expect(await run(pool, task)).toMatchObject({ success: true });
    const { ContentType, Metadata } = await bench.head(task);
    expect(ContentType).toBe('video/mp4');
    expect(Metadata).toEqual({
      'upload-attempt': expect.any(String),
      checksum: `md5:${task.checksum?.value}`,
      'source-etag': '%22v1%22',
      'source-last-modified': 'Sat,%2001%20Aug%202026%2000:00:00%20GMT',
      'source-url': task.url,
      'job-id': 'job',
      'task-id': encodeURI(task.taskId),
    });
  });
});
