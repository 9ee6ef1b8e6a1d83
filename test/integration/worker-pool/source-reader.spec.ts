import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { buffer } from 'node:stream/consumers';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { SourceReader } from '../../../src/worker-pool/index.js';
import { head } from '../../support/raw-origin.js';
import { eventually, poolSettings, SOURCE_BUCKET, TransferBench } from './pool-support.js';

describe('SourceReader', () => {
  let bench: TransferBench;
  let reader: SourceReader;
  const signal = new AbortController().signal;

  beforeEach(async () => {
    bench = await TransferBench.start();
    reader = new SourceReader(poolSettings(), 16);
  });
  afterEach(async () => {
    await reader.close();
    await bench.close();
  });

  it('streams a manifest over http as it is on the wire', async () => {
    const bytes = gzipSync('{"url":"x"}');
    const url = bench.origin.file('/manifest', bytes, { 'content-type': 'application/jsonl', 'content-encoding': 'gzip' });
    const { body, ...rest } = await reader.openSource(url, { signal });
    expect(rest).toEqual({ size: bytes.length, contentType: 'application/jsonl', contentEncoding: 'gzip' });
    expect((await buffer(body)).equals(bytes)).toBe(true);
  });

  it('streams a manifest from an allowed bucket', async () => {
    await bench.s3.send(new PutObjectCommand({ Bucket: SOURCE_BUCKET, Key: 'manifest', Body: 'lines', ContentType: 'text/plain' }));
    const { body, size } = await reader.openSource(`s3://${SOURCE_BUCKET}/manifest`, { signal });
    expect(size).toBe(5);
    expect((await buffer(body)).toString()).toBe('lines');
  });

  it.each([
    { url: 'http://169.254.169.254/latest/meta-data', code: 'SOURCE_NOT_ALLOWED' },
    { url: 's3://other/manifest', code: 'SOURCE_NOT_ALLOWED' },
    { url: 'not a URL', code: 'URL_INVALID' },
  ])('refuses $url', async ({ url, code }) => {
    await expect(reader.openSource(url, { signal })).rejects.toMatchObject({ name: 'TransferError', code, disposition: 'reject' });
  });

  it('tells apart what is worth another try', async () => {
    const url = bench.origin.on('/busy', (socket) => void socket.write(head(503, { 'content-length': '0' })));
    await expect(reader.openSource(url, { signal })).rejects.toMatchObject({ code: 'HTTP_503', disposition: 'retry' });
    await expect(reader.openSource(`${bench.origin.url}/none`, { signal })).rejects.toMatchObject({
      code: 'HTTP_404',
      disposition: 'reject',
    });
  });

  it('waits out what a host asks for with Retry-After, and says so', async () => {
    let asked = 0;
    const url = bench.origin.on('/later', (socket) => {
      const busy = head(429, { 'retry-after': '0', 'content-length': '0' });
      socket.write(asked++ === 0 ? busy : `${head(200, { 'content-length': '5' })}lines`);
    });
    const waits: unknown[] = [];
    const { body } = await reader.openSource(url, { signal, onWait: (wait) => waits.push(wait) });
    expect((await buffer(body)).toString()).toBe('lines');
    expect([asked, ...waits]).toEqual([2, { host: `127.0.0.1:${bench.origin.port}`, forMs: 1_000 }, undefined]);
  });

  it('waits no longer than five minutes in all, nor than its signal', async () => {
    const answers = ['1', '300'];
    const url = bench.origin.on('/patience', (socket) => {
      socket.write(head(503, { 'retry-after': answers.shift() ?? '', 'content-length': '0' }));
    });
    await expect(reader.openSource(url, { signal })).rejects.toMatchObject({
      code: 'HTTP_503',
      disposition: 'retry',
      retryAfterMs: 300_000,
    });

    answers.push('300');
    const abort = new AbortController();
    const onWait = () => abort.abort(new Error('enough'));
    await expect(reader.openSource(url, { signal: abort.signal, onWait })).rejects.toThrow('enough');
  });

  it('follows as many redirects as it may', async () => {
    bench.origin.file('/manifest', Buffer.from('lines'));
    const url = bench.origin.on('/moved', (socket) => void socket.write(head(302, { location: '/manifest', 'content-length': '0' })));
    await expect(reader.openSource(url, { signal, maxRedirects: 0 })).rejects.toMatchObject({ code: 'TOO_MANY_REDIRECTS' });
    expect((await buffer((await reader.openSource(url, { signal })).body)).toString()).toBe('lines');
  });

  it('refuses a manifest whose end nothing shows, whole or cut, and says the mend', async () => {
    const url = bench.origin.on('/manifest', (socket) => void socket.end(`${head(200, { connection: 'close' })}{"url":"x"}\n{"ur`));
    await expect(reader.openSource(url, { signal })).rejects.toMatchObject({
      code: 'LENGTH_UNKNOWN',
      disposition: 'reject',
      message: expect.stringContaining('Content-Length'),
    });
    await eventually(() => bench.origin.connections === 0);
  });

  it('fails the reading of a body that is cut, and lets go of one that is not read', async () => {
    const cut = bench.origin.on('/cut', (socket) => void socket.write(`${head(200, { 'content-length': '10' })}hello`, () => socket.end()));
    await expect(buffer((await reader.openSource(cut, { signal })).body)).rejects.toMatchObject({
      code: 'SIZE_MISMATCH',
      disposition: 'retry',
    });

    const slow = bench.origin.on('/slow', (socket) => void socket.write(`${head(200, { 'content-length': '10' })}hello`));
    const { body } = await reader.openSource(slow, { signal });
    body.once('data', () => body.destroy());
    await eventually(() => body.destroyed && bench.origin.connections === 0);
  });

  it('has a connection for each list of a host that may be open: none waits for another that is silent', async () => {
    let asked = 0;
    const url = bench.origin.on('/silent', () => void asked++);
    const abort = new AbortController();
    const openings = Array.from({ length: 16 }, () => reader.openSource(url, { signal: abort.signal }));
    await eventually(() => asked === 16);
    abort.abort(new Error('enough'));
    for (const opening of openings) await expect(opening).rejects.toThrow('enough');
    await eventually(() => bench.origin.connections === 0);
  });

  it('ends the reading with its signal', async () => {
    const abort = new AbortController();
    const slow = bench.origin.on('/slow', (socket) => void socket.write(`${head(200, { 'content-length': '10' })}hello`));
    const { body } = await reader.openSource(slow, { signal: abort.signal });
    const reading = buffer(body);
    abort.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    await eventually(() => bench.origin.connections === 0);
  });
});
