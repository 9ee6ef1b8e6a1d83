import { describe, expect, it } from '@jest/globals';
import type { PoolManagerService, TransferTask } from '../../../src/worker-pool/index.js';
import { head } from '../../support/raw-origin.js';
import { benchForEach, eventually, run, type TransferBench } from './pool-support.js';

describe('an answer that no HTTP library would give', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  benchForEach((fresh) => ({ bench, pool } = fresh));

  async function expectFailure(task: TransferTask, error: object): Promise<void> {
    expect(await run(pool, task)).toMatchObject({ success: false, error });
    expect(await bench.keys()).toEqual([]);
  }

  /** An answer given as it stands on the wire, and then the end of the connection. */
  const answered = (text: string) => bench.origin.on('/raw', (socket) => void socket.end(text, 'latin1'));

  describe('in its framing', () => {
    it.each(['identity', 'gzip', 'gzip, chunked', 'chunked, identity', 'chunked, chunked'])(
      'is refused for the transfer coding %s, even where the task knows the size',
      async (coding) => {
        const url = answered(`${head(200, { 'transfer-encoding': coding })}3\r\nhel\r\n0\r\n\r\n`);
        await expectFailure(bench.task(url, { size: 3 }), { code: 'TRANSFER_CODING', retryable: false });
        await eventually(() => bench.origin.connections === 0);
      },
    );

    it.each(['chunked', 'Chunked'])('is whole as %s', async (coding) => {
      const url = answered(`${head(200, { 'transfer-encoding': coding })}3\r\nhel\r\n0\r\n\r\n`);
      expect(await run(pool, bench.task(url))).toMatchObject({ success: true, bytesProcessed: 3 });
    });
  });

  it('ends where its length says: what comes after is no part of it, nor an answer to the next request', async () => {
    const one = await bench.pool({ pool: { maxConnectionsPerHost: 1 } });
    const whole = (body: string) => `${head(200, { 'content-length': '5' })}${body}`;
    const url = bench.origin.on('/surplus', (socket) => void socket.write(whole('hello') + whole('wrong')));
    const next = bench.origin.on('/next', (socket) => void socket.write(whole('world')));
    const tasks = [bench.task(url), bench.task(next)];
    const outcomes = await Promise.all(tasks.map((task) => run(one, task)));
    expect(outcomes).toEqual([expect.objectContaining({ success: true }), expect.objectContaining({ success: true })]);
    expect((await Promise.all(tasks.map((task) => bench.object(task)))).map(String)).toEqual(['hello', 'world']);
  });

  describe('in its headers', () => {
    it('is stored without what S3 could not take, and with what it can', async () => {
      const url = answered(
        `${head(200, { 'content-length': '3', 'content-type': 'text/plain; name="\u00c3\u00bc"', 'content-encoding': 'gzip, aws-chunked' })}hel`,
      );
      const task = bench.task(url);
      expect(await run(pool, task)).toMatchObject({ success: true });
      const { ContentType, ContentEncoding } = await bench.head(task);
      expect(ContentType ?? '').not.toContain('name');
      expect(ContentEncoding).toBe('gzip');
    });

    it('leads to a path in raw UTF-8, byte by byte', async () => {
      bench.origin.file('/%C3%BC.pdf', Buffer.from('hello'));
      const url = answered(head(302, { location: '/\u00c3\u00bc.pdf', 'content-length': '0' }));
      expect(await run(pool, bench.task(url))).toMatchObject({ success: true });
    });
  });

  describe('in its protocol', () => {
    const hello = `${head(200, { 'content-length': '5' })}hello`;
    it.each([
      { why: 'is no HTTP', text: 'SSH-2.0-OpenSSH_9.6\r\n\r\n' },
      { why: 'has two lengths', text: 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello' },
      { why: 'has a length and chunks', text: `${head(200, { 'content-length': '5', 'transfer-encoding': 'chunked' })}hello` },
      { why: 'has a negative length', text: head(200, { 'content-length': '-5' }) },
      { why: 'has headers without end', text: head(200, { 'x-flood': 'x'.repeat(40_000) }) },
      { why: 'changes the protocol', text: head(101, { upgrade: 'h2c', connection: 'upgrade' }) },
      { why: 'continues what nobody asked for', text: `${head(100)}${hello}` },
      { why: 'is announced for ever', text: head(103, { link: '<x>' }).repeat(17) + hello },
    ])('fails at once when it $why', async ({ text }) => {
      await expectFailure(bench.task(answered(text)), { code: 'SOURCE_PROTOCOL', retryable: false });
    });

    it('may be announced a few times', async () => {
      expect(await run(pool, bench.task(answered(head(103, { link: '<x>' }).repeat(16) + hello)))).toMatchObject({ success: true });
    });

    it('is asked for three times when the connection ends before it, and is then worth another try', async () => {
      const url = bench.origin.on('/reset', (socket) => void socket.resetAndDestroy());
      await expectFailure(bench.task(url), { code: 'SOURCE_CONNECTION', retryable: true });
      expect(bench.origin.requests).toHaveLength(3);
    });
  });
});
