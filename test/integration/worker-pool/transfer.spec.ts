import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { packageVersion } from '../../../src/config/index.js';
import type { PoolManagerService, TransferTask } from '../../../src/worker-pool/index.js';
import { chunk, head, RawOrigin } from '../../support/raw-origin.js';
import { benchForEach, eventually, MIB, pattern, run, SOURCE_BUCKET, type TransferBench } from './pool-support.js';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const HELLO = Buffer.from('hello');

describe('a transfer', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  benchForEach((fresh) => ({ bench, pool } = fresh));

  async function expectFailure(task: TransferTask, error: object): Promise<void> {
    expect(await run(pool, task)).toMatchObject({ success: false, error });
    expect(await bench.keys()).toEqual([]);
  }

  describe('of a whole file', () => {
    it.each([0, 1, 5_000, 8 * MIB])('of %i bytes stores it in one request', async (size) => {
      const bytes = pattern(size);
      const task = bench.task(bench.origin.file('/file', bytes, { 'content-type': 'text/csv', etag: '"v1"' }), {
        checksum: { algorithm: 'md5', value: createHash('md5').update(bytes).digest('hex') },
      });
      expect(await run(pool, task)).toEqual({ success: true, bytesProcessed: size, etag: expect.any(String), sha256: sha256(bytes) });
      expect((await bench.object(task)).equals(bytes)).toBe(true);
      const { ContentType, Metadata } = await bench.head(task);
      expect(ContentType).toBe('text/csv');
      expect(Metadata).toMatchObject({
        'job-id': 'job',
        sha256: sha256(bytes),
        checksum: `md5:${task.checksum?.value}`,
        'source-etag': '%22v1%22',
      });
      expect(bench.operations().filter((operation) => operation.includes('Multipart'))).toEqual([]);
    });

    it('stores a large one in parts, each where it belongs', async () => {
      const bytes = pattern(20 * MIB + 13);
      const task = bench.task(bench.origin.file('/large', bytes), { size: bytes.length });
      expect(await run(pool, task)).toMatchObject({ success: true, bytesProcessed: bytes.length, sha256: sha256(bytes) });
      expect((await bench.object(task)).equals(bytes)).toBe(true);
      expect(bench.operations().filter((operation) => operation === 'UploadPart')).toHaveLength(3);
    });

    it('stores one of unknown length, in one request or in parts', async () => {
      for (const bytes of [HELLO, pattern(9 * MIB)]) {
        const url = bench.origin.on('/chunked', (socket) => {
          socket.write(head(200, { 'transfer-encoding': 'chunked' }));
          socket.write(chunk(bytes));
          socket.write(chunk());
        });
        const task = bench.task(url);
        expect(await run(pool, task)).toMatchObject({ success: true, sha256: sha256(bytes) });
        expect((await bench.object(task)).equals(bytes)).toBe(true);
      }
    });

    it('adds no checksum where the store may reject it', async () => {
      const plain = await bench.pool({ aws: { s3Checksums: 'none' } });
      for (const bytes of [HELLO, pattern(9 * MIB)]) {
        const task = bench.task(bench.origin.file('/file', bytes));
        expect(await run(plain, task)).toMatchObject({ success: true });
        expect((await bench.object(task)).equals(bytes)).toBe(true);
      }
    });

    it('reads from an allowed bucket what S3 cannot check', async () => {
      await bench.s3.send(new PutObjectCommand({ Bucket: SOURCE_BUCKET, Key: 'a b/%20', Body: HELLO, ContentType: 'text/plain' }));
      const checksum = { algorithm: 'sha256', value: sha256(HELLO) } as const;
      const task = bench.task(`s3://${SOURCE_BUCKET}/a b/%20`, { checksum });
      expect(await run(pool, task)).toMatchObject({ success: true, sha256: sha256(HELLO) });
      expect((await bench.head(task)).ContentType).toBe('text/plain');
      expect(await run(pool, bench.task(`s3://${SOURCE_BUCKET}/none`))).toMatchObject({ error: { code: 'HTTP_404', retryable: false } });
    });
  });

  describe('of what is not the file', () => {
    it('refuses a wrong checksum, small or large', async () => {
      for (const bytes of [HELLO, pattern(9 * MIB)]) {
        const url = bench.origin.file('/file', bytes);
        await expectFailure(bench.task(url, { checksum: { algorithm: 'crc32', value: '00000000' } }), {
          code: 'CHECKSUM_MISMATCH',
          retryable: true,
        });
      }
      expect(bench.operations()).toContain('AbortMultipartUpload');
      expect(bench.operations()).not.toContain('CompleteMultipartUpload');
    });

    it.each([4, 6])('refuses 5 bytes where the task says %i, before reading them', async (size) => {
      await expectFailure(bench.task(bench.origin.file('/file', HELLO), { size }), { code: 'SIZE_MISMATCH', retryable: true });
    });

    it.each([
      { why: 'short', size: 10 * MIB },
      { why: 'long', size: 9 * MIB - 1 },
    ])('refuses a $why chunked body of more than a part', async ({ size }) => {
      const url = bench.origin.on('/chunked', (socket) => {
        socket.write(head(200, { 'transfer-encoding': 'chunked' }));
        socket.write(chunk(pattern(9 * MIB)));
        socket.write(chunk());
      });
      await expectFailure(bench.task(url, { size }), { code: 'SIZE_MISMATCH', retryable: true });
    });

    it.each([
      { how: 'ended', cut: 'end' as const, sent: 3 },
      { how: 'reset', cut: 'resetAndDestroy' as const, sent: 3 },
      { how: 'ended after a part', cut: 'end' as const, sent: 9 * MIB },
    ])('refuses a body whose connection is $how', async ({ cut, sent }) => {
      const url = bench.origin.on('/cut', (socket) => {
        socket.write(head(200, { 'content-length': String(10 * MIB) }));
        socket.write(pattern(sent), () => socket[cut]());
      });
      await expectFailure(bench.task(url), { code: 'SIZE_MISMATCH', retryable: true });
    });

    it('refuses a cut chunked body', async () => {
      const url = bench.origin.on('/cut', (socket) => {
        socket.write(head(200, { 'transfer-encoding': 'chunked' }));
        socket.write(chunk(HELLO), () => socket.end());
      });
      await expectFailure(bench.task(url), { code: 'SOURCE_CONNECTION', retryable: true });
    });

    it('refuses a body that ends with its connection, unless size or checksum prove it whole', async () => {
      const url = bench.origin.on('/close', (socket) => void socket.end(`${head(200, { connection: 'close' })}hello`));
      await expectFailure(bench.task(url), { code: 'LENGTH_UNKNOWN', retryable: false });
      expect(await run(pool, bench.task(url, { size: 5 }))).toMatchObject({ success: true });
      expect(await run(pool, bench.task(url, { checksum: { algorithm: 'sha256', value: sha256(HELLO) } }))).toMatchObject({
        success: true,
      });
    });

    it('refuses another type than the expected one', async () => {
      const url = bench.origin.file('/login', HELLO, { 'content-type': 'text/html; charset=utf-8' });
      await expectFailure(bench.task(url, { expectContentType: 'text/csv' }), { code: 'CONTENT_TYPE_MISMATCH', retryable: false });
    });

    it('refuses a login page behind a redirect, where the file’s type is known', async () => {
      bench.origin.file('/login', HELLO, { 'content-type': 'text/html; charset=utf-8' });
      const url = bench.origin.on('/file', (socket) => void socket.write(head(302, { location: '/login', 'content-length': '0' })));
      await expectFailure(bench.task(url, { expectContentType: 'text/csv' }), { code: 'CONTENT_TYPE_MISMATCH', retryable: false });
    });

    it.each([
      { status: 204, retryable: false },
      { status: 206, retryable: false },
      { status: 304, retryable: false },
      { status: 404, retryable: false },
      { status: 503, retryable: true },
    ])('refuses a $status and lets go of its body', async ({ status, retryable }) => {
      const url = bench.origin.on('/status', (socket) => {
        socket.write(head(status, { 'retry-after': '7', ...([204, 304].includes(status) ? {} : { 'content-length': '1000000' }) }));
      });
      const wish = { retryAfterMs: 7_000, retryAfterHost: `127.0.0.1:${bench.origin.port}` };
      await expectFailure(bench.task(url), { code: `HTTP_${status}`, httpStatus: status, retryable, ...wish });
      if (![204, 304].includes(status)) await eventually(() => bench.origin.connections === 0);
    });

    it('refuses a destination that is not allowed', async () => {
      const task = bench.task(bench.origin.file('/file', HELLO), { s3Bucket: SOURCE_BUCKET });
      await expectFailure(task, { code: 'DESTINATION_NOT_ALLOWED', retryable: false });
      expect(bench.origin.requests).toEqual([]);
    });
  });

  describe('over a difficult line', () => {
    it('sends the caller’s headers, but not those that change the framing', async () => {
      const url = bench.origin.file('/file', HELLO);
      const headers = { Authorization: 'Bearer x', Host: 'evil', 'Accept-Encoding': 'gzip', Range: 'bytes=0-1' };
      expect(await run(pool, bench.task(url, { headers }))).toMatchObject({ success: true });
      const sent = bench.origin.requests[0]?.headers;
      expect(sent).toMatchObject({ authorization: 'Bearer x', 'accept-encoding': 'identity', host: `127.0.0.1:${bench.origin.port}` });
      expect(sent).not.toHaveProperty('range');
    });

    it.each([{ x: 'a\r\ny: b' }, { 'x y': 'a' }, { '': 'a' }, { x: '\0' }, { x: '日本' }])(
      'refuses headers that no request can carry: %j',
      async (headers) => {
        await expectFailure(bench.task(bench.origin.file('/file', HELLO), { headers }), { code: 'REQUEST_INVALID', retryable: false });
        expect(bench.origin.requests).toEqual([]);
      },
    );

    it('drops the caller’s headers when a redirect changes the origin, for good', async () => {
      bench.origin.file('/file', HELLO);
      const back = `http://127.0.0.1:${bench.origin.port}/file`;
      const other = await RawOrigin.start();
      try {
        const away = other.on('/hop', (socket) => void socket.write(head(302, { location: back, 'content-length': '0' })));
        bench.origin.on('/same', (socket) => void socket.write(head(307, { location: away, 'content-length': '0' })));
        const url = bench.origin.on('/first', (socket) => void socket.write(head(301, { location: '/same', 'content-length': '0' })));
        const headers = { authorization: 'x', 'X-Tenant': 'y' };
        expect(await run(pool, bench.task(url, { headers }))).toMatchObject({ success: true });
        const sent = [...bench.origin.requests, ...other.requests];
        expect(sent.map(({ path, headers }) => [path, headers['authorization'], headers['x-tenant']])).toEqual([
          ['/first', 'x', 'y'],
          ['/same', 'x', 'y'],
          ['/file', undefined, undefined],
          ['/hop', undefined, undefined],
        ]);
      } finally {
        await other.close();
      }
    });

    it.each([
      { given: {}, sent: [`export-worker/${packageVersion()}`, undefined] },
      { given: { 'User-Agent': 'Tenant/1 (mail@h.test)', Accept: 'text/csv' }, sent: ['Tenant/1 (mail@h.test)', 'text/csv'] },
    ])('says who asks, and for what, also where a redirect leads to another origin: $sent', async ({ given, sent }) => {
      const other = await RawOrigin.start();
      try {
        const away = other.file('/file', HELLO);
        const url = bench.origin.on('/hop', (socket) => void socket.write(head(302, { location: away, 'content-length': '0' })));
        expect(await run(pool, bench.task(url, { headers: given }))).toMatchObject({ success: true });
        const asked = [...bench.origin.requests, ...other.requests];
        expect(asked.map(({ headers }) => [headers['user-agent'], headers['accept']])).toEqual([sent, sent]);
      } finally {
        await other.close();
      }
    });

    it('says which host of a redirect asks for patience, and does not ask one again that has', async () => {
      const away = `http://localhost:${bench.origin.port}/busy`;
      bench.origin.on('/busy', (socket) => void socket.write(head(429, { 'retry-after': '7', 'content-length': '0' })));
      const url = bench.origin.on('/hop', (socket) => void socket.write(head(302, { location: away, 'content-length': '0' })));
      const named = await bench.pool({ access: { sourceHosts: ['127.0.0.1', 'localhost'] } });
      const wish = { retryable: true, retryAfterMs: 7_000, retryAfterHost: `localhost:${bench.origin.port}` };
      expect(await run(named, bench.task(url))).toMatchObject({ error: { code: 'HTTP_429', ...wish } });
      const pausedHosts = [{ host: `localhost:${bench.origin.port}`, forMs: 7_000 }];
      const left = { ...wish, retryAfterMs: expect.any(Number) };
      expect(await run(named, bench.task(url, { pausedHosts }))).toMatchObject({ error: { code: 'SOURCE_PAUSED', ...left } });
      expect(bench.origin.requests.map(({ path }) => path)).toEqual(['/hop', '/busy', '/hop']);
    });

    it('says whom a redirect led to that could not be reached', async () => {
      const gone = await RawOrigin.start();
      const { port } = gone;
      await gone.close();
      const away = `http://127.0.0.1:${port}/file`;
      const url = bench.origin.on('/hop', (socket) => void socket.write(head(302, { location: away, 'content-length': '0' })));
      const error = { code: 'SOURCE_UNREACHABLE', retryable: true, failedHost: `127.0.0.1:${port}` };
      expect(await run(pool, bench.task(url))).toMatchObject({ error });
    });

    it('follows a redirect to a host whose pause ended while the first host thought', async () => {
      const named = await bench.pool({ access: { sourceHosts: ['127.0.0.1', 'localhost'] } });
      bench.origin.file('/there', HELLO);
      const away = `http://localhost:${bench.origin.port}/there`;
      const url = bench.origin.on('/hop', (socket) => {
        setTimeout(() => socket.write(head(302, { location: away, 'content-length': '0' })), 100);
      });
      expect(await run(named, bench.task(url, { pausedHosts: [{ host: `localhost:${bench.origin.port}`, forMs: 50 }] }))).toMatchObject({
        success: true,
      });
    });

    it('stores the bytes of a content coding as they are, and its name', async () => {
      const bytes = gzipSync(pattern(5_000));
      const task = bench.task(bench.origin.file('/file', bytes, { 'content-encoding': 'gzip' }));
      expect(await run(pool, task)).toMatchObject({ success: true, bytesProcessed: bytes.length, sha256: sha256(bytes) });
      expect((await bench.head(task)).ContentEncoding).toBe('gzip');
    });

    it('follows ten redirects and no more', async () => {
      const url = bench.origin.on('/loop', (socket) => void socket.write(head(302, { location: '/loop', 'content-length': '0' })));
      await expectFailure(bench.task(url), { code: 'TOO_MANY_REDIRECTS', retryable: false });
      expect(bench.origin.requests).toHaveLength(11);
    });

    it.each([
      'http://169.254.169.254/latest/meta-data',
      'http://[::ffff:7f00:1]/',
      'http://localhost/',
      'ftp://example.com/',
      's3://sources/x',
      'http://user:password@127.0.0.1/',
      '//user@127.0.0.1/',
    ])('refuses a redirect to %s', async (location) => {
      const url = bench.origin.on('/away', (socket) => void socket.write(head(302, { location, 'content-length': '0' })));
      await expectFailure(bench.task(url), { code: 'SOURCE_NOT_ALLOWED', retryable: false });
    });

    it('refuses a name that resolves to this machine, and never connects', async () => {
      const url = bench.origin.file('/file', HELLO).replace('127.0.0.1', 'localhost');
      await expectFailure(bench.task(url), { code: 'SOURCE_NOT_ALLOWED', retryable: false });
      expect(bench.origin.connections).toBe(0);
    });

    it('asks again at once when a kept connection turns out to be dead', async () => {
      let answers = 0;
      const url = bench.origin.on('/flaky', (socket) => {
        answers += 1;
        if (answers === 2) socket.resetAndDestroy();
        else socket.write(`${head(200, { 'content-length': '5' })}hello`);
      });
      expect(await run(pool, bench.task(url))).toMatchObject({ success: true });
      expect(await run(pool, bench.task(url))).toMatchObject({ success: true });
      expect(answers).toBe(3);
    });

    it('says of which host nobody listens, and not to which address it led', async () => {
      const url = new URL(bench.origin.file('/file', HELLO));
      url.hostname = 'localhost';
      await bench.origin.close();
      const named = await bench.pool({ access: { sourceHosts: ['localhost'] } });
      const outcome = await run(named, bench.task(url.href));
      const error = { code: 'SOURCE_UNREACHABLE', message: `${url.host} cannot be reached (ECONNREFUSED)`, retryable: true };
      expect(outcome).toMatchObject({ success: false, error });
      expect(JSON.stringify(outcome)).not.toContain('127.0.0.1');
    });

    it('ends at the task’s timeout', async () => {
      const quick = await bench.pool({ pool: { taskTimeoutMs: 100 } });
      const url = bench.origin.on('/slow', (socket) => void socket.write(head(200, { 'content-length': '5' })));
      expect(await run(quick, bench.task(url))).toMatchObject({ error: { code: 'TASK_TIMEOUT', retryable: true } });
      await eventually(() => bench.origin.connections === 0);
    });
  });
});
