import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolManagerService } from '../../../src/worker-pool/index.js';
import { BucketAccesses } from '../../../src/worker-pool/threads/bucket-accesses.js';
import { guardedAgent } from '../../../src/worker-pool/threads/guarded-agent.js';
import { ResumableBody } from '../../../src/worker-pool/threads/resumable-body.js';
import { S3Requests } from '../../../src/worker-pool/threads/s3-requests.js';
import { SourceGuard } from '../../../src/worker-pool/threads/source-guard.js';
import { SourceOpener } from '../../../src/worker-pool/threads/source-opener.js';
import { chunk, head, type RawAnswer, type RawRequest } from '../../support/raw-origin.js';
import { benchForEach, MIB, pattern, poolSettings, run, SOURCE_BUCKET, type TransferBench } from './pool-support.js';

const BYTES = pattern(20 * MIB);
const SHA256 = createHash('sha256').update(BYTES).digest('hex');
const ETAG = { etag: '"v1"' };

const offsetOf = ({ headers }: RawRequest) => Number(/^bytes=(\d+)-$/.exec(headers['range'] ?? '')?.[1] ?? 0);

/** BYTES, cut after each of these many bytes, as a server that resumes sends them. */
function cutAt(cuts: number[], answers: Record<string, string> = ETAG): RawAnswer {
  let request = 0;
  return (socket, asked) => {
    const from = offsetOf(asked);
    const until = cuts[request++];
    const length = { 'content-length': String(BYTES.length - from) };
    const range = asked.headers['range'] === undefined ? {} : { 'content-range': `bytes ${from}-${BYTES.length - 1}/${BYTES.length}` };
    socket.write(head(asked.headers['range'] === undefined ? 200 : 206, { ...length, ...range, ...answers }));
    socket.write(BYTES.subarray(from, until), () => until !== undefined && socket.end());
  };
}

describe('a transfer whose source is cut', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  benchForEach((fresh) => ({ bench, pool } = fresh));

  it('goes on from the byte it has, and keeps the parts that are uploaded', async () => {
    const task = bench.task(bench.origin.on('/file', cutAt([9 * MIB + 7, 17 * MIB])));
    expect(await run(pool, task)).toMatchObject({ success: true, bytesProcessed: BYTES.length, sha256: SHA256 });
    expect((await bench.object(task)).equals(BYTES)).toBe(true);
    expect(bench.origin.requests.map(({ headers }) => [headers['range'], headers['if-range']])).toEqual([
      [undefined, undefined],
      [`bytes=${9 * MIB + 7}-`, '"v1"'],
      [`bytes=${17 * MIB}-`, '"v1"'],
    ]);
    expect(bench.operations().filter((operation) => operation === 'UploadPart')).toHaveLength(3);
    expect(bench.operations().filter((operation) => operation === 'CreateMultipartUpload')).toHaveLength(1);
  });

  it('asks the URL of the task again, with its headers and through its redirects', async () => {
    bench.origin.on('/signed', cutAt([1 * MIB]));
    const url = bench.origin.on('/first', (socket) => void socket.write(head(302, { location: '/signed', 'content-length': '0' })));
    expect(await run(pool, bench.task(url, { headers: { authorization: 'x' } }))).toMatchObject({ success: true, sha256: SHA256 });
    expect(bench.origin.requests.map(({ path, headers }) => [path, headers['authorization']])).toEqual([
      ['/first', 'x'],
      ['/signed', 'x'],
      ['/first', 'x'],
      ['/signed', 'x'],
    ]);
  });

  it('goes on by a date, when that had settled before the answer', async () => {
    const dates = { 'last-modified': 'Thu, 01 Jan 2026 12:00:00 GMT', date: 'Thu, 01 Jan 2026 13:00:00 GMT' };
    expect(await run(pool, bench.task(bench.origin.on('/file', cutAt([MIB], dates))))).toMatchObject({ success: true, sha256: SHA256 });
    expect(bench.origin.requests[1]?.headers['if-range']).toBe(dates['last-modified']);
  });

  it('goes on with a body that was chunked', async () => {
    const rest = cutAt([]);
    const url = bench.origin.on('/file', (socket, request) => {
      if (request.headers['range'] !== undefined) return rest(socket, request);
      socket.write(head(200, { 'transfer-encoding': 'chunked', ...ETAG }));
      socket.write(chunk(BYTES.subarray(0, MIB)), () => socket.end());
    });
    expect(await run(pool, bench.task(url))).toMatchObject({ success: true, sha256: SHA256 });
  });

  it('is not gone on with when its chunks were broken: what came before may be wrong already', async () => {
    const rest = cutAt([]);
    const url = bench.origin.on('/file', (socket, request) => {
      if (request.headers['range'] !== undefined) return rest(socket, request);
      // A byte longer than its bytes: the line end behind them passes for one.
      const size = (MIB + 1).toString(16);
      socket.write(head(200, { 'transfer-encoding': 'chunked', ...ETAG }));
      socket.write(Buffer.concat([Buffer.from(`${size}\r\n`), BYTES.subarray(0, MIB), Buffer.from('\r\n0\r\n\r\n')]));
    });
    expect(await run(pool, bench.task(url))).toMatchObject({ success: false, error: { code: 'SOURCE_PROTOCOL', retryable: true } });
    expect(bench.origin.requests).toHaveLength(1);
    expect(await bench.keys()).toEqual([]);
  });

  const rest = { 'content-length': String(19 * MIB), 'content-range': `bytes ${MIB}-${20 * MIB - 1}/${20 * MIB}`, ...ETAG };
  it.each([
    { why: 'the whole file', status: 200, headers: { 'content-length': String(20 * MIB), etag: '"v2"' } },
    { why: 'a 206 that starts elsewhere', status: 206, headers: { ...rest, 'content-range': `bytes 0-${20 * MIB - 1}/${20 * MIB}` } },
    { why: 'a 206 of another version', status: 206, headers: { ...rest, etag: '"v2"' } },
    { why: 'a 206 of several ranges', status: 206, headers: { ...rest, 'content-type': 'multipart/byteranges; boundary=x' } },
    { why: 'a 206 without Content-Range', status: 206, headers: { 'content-length': String(19 * MIB), ...ETAG } },
    { why: 'a 206 in another coding', status: 206, headers: { ...rest, 'content-encoding': 'gzip' } },
    { why: 'a 416', status: 416, headers: { 'content-length': '0' } },
  ])('begins anew, as another try, when it is answered with $why', async ({ status, headers }) => {
    const first = cutAt([MIB]);
    const url = bench.origin.on('/file', (socket, request) => {
      if (request.headers['range'] === undefined) first(socket, request);
      else socket.write(head(status, headers));
    });
    expect(await run(pool, bench.task(url))).toMatchObject({
      success: false,
      bytesProcessed: MIB,
      error: { code: 'SIZE_MISMATCH', retryable: true },
    });
    expect(bench.origin.requests).toHaveLength(2);
    expect(await bench.keys()).toEqual([]);
  });

  describe('below the pool', () => {
    let sources: SourceOpener;
    let close: () => Promise<unknown>;
    const { signal } = new AbortController();

    beforeEach(() => {
      const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
      const at = { url: `${bench.origin.url}/${SOURCE_BUCKET}`, region: 'us-east-1', credentials };
      const s3 = new S3Requests(new BucketAccesses(() => Promise.resolve(at)), 2);
      const guard = new SourceGuard(poolSettings().access);
      const agent = guardedAgent(guard, 2);
      sources = new SourceOpener(guard, agent, s3, 'tests');
      close = () => Promise.all([s3.close(), agent.destroy()]);
    });
    afterEach(() => close());

    async function open(url: string, stallTimeoutMs = 10_000): Promise<AsyncGenerator<Buffer, void, void>> {
      const opened = await sources.open(url, { signal });
      return new ResumableBody(sources, { url }, opened, { stallTimeoutMs, signal, size: BYTES.length }).chunks();
    }

    async function hashOf(chunks: AsyncIterable<Buffer>): Promise<string> {
      const hash = createHash('sha256');
      for await (const bytes of chunks) hash.update(bytes);
      return hash.digest('hex');
    }

    it('is read on from a bucket, by ETag', async () => {
      bench.origin.on(`/${SOURCE_BUCKET}/file`, cutAt([MIB]));
      expect(await hashOf(await open(`s3://${SOURCE_BUCKET}/file`))).toBe(SHA256);
      expect(bench.origin.requests[1]?.headers).toMatchObject({ range: `bytes=${MIB}-`, 'if-match': '"v1"' });
    });

    it('begins anew when the object in a bucket has changed', async () => {
      const first = cutAt([MIB]);
      bench.origin.on(`/${SOURCE_BUCKET}/file`, (socket, request) => {
        if (request.headers['range'] === undefined) first(socket, request);
        else socket.write(head(412, { 'content-length': '0' }));
      });
      await expect(hashOf(await open(`s3://${SOURCE_BUCKET}/file`))).rejects.toMatchObject({ code: 'SIZE_MISMATCH', disposition: 'retry' });
    });

    it('goes on over a new connection when the source sends nothing any more', async () => {
      const rest = cutAt([]);
      const url = bench.origin.on('/file', (socket, request) => {
        if (request.headers['range'] !== undefined) return rest(socket, request);
        socket.write(head(200, { 'content-length': String(BYTES.length), ...ETAG }));
        socket.write(BYTES.subarray(0, MIB));
      });
      expect(await hashOf(await open(url, 100))).toBe(SHA256);
      expect(bench.origin.requests[1]?.headers['range']).toBe(`bytes=${MIB}-`);
    });

    it('is given up when it sends nothing any more and cannot be resumed', async () => {
      const url = bench.origin.on('/file', (socket) => {
        socket.write(head(200, { 'content-length': String(BYTES.length) }));
        socket.write(BYTES.subarray(0, MIB));
      });
      await expect(hashOf(await open(url, 100))).rejects.toMatchObject({ code: 'SOURCE_STALLED', disposition: 'retry' });
    });

    it('is not taken for silent while it is not read, as S3 is slow', async () => {
      const chunks = await open(bench.origin.on('/file', cutAt([])), 1_000);
      const first = await chunks.next();
      await sleep(1_500);
      const all = [first.value as Buffer];
      for await (const bytes of chunks) all.push(bytes);
      expect(Buffer.concat(all).equals(BYTES)).toBe(true);
      expect(bench.origin.requests).toHaveLength(1);
    });
  });
});
