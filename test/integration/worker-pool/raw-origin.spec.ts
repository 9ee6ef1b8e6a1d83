import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import type { PoolManagerService, TaskOutcome, TransferTask } from '../../../src/worker-pool/index.js';
import { head } from '../../support/raw-origin.js';
import { BUCKET, eventually, run, TransferBench } from './pool-support.js';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const ENDED = '5\r\nhello\r\n0\r\n\r\n';
const sized = (length: number | string, body = 'hello') => `${OK}content-length: ${length}\r\n\r\n${body}`;
const under = (coding: string, body = ENDED) => `${OK}transfer-encoding: ${coding}\r\n\r\n${body}`;

/** The end of the connection follows; without it the origin keeps it. */
const END = Symbol('end');
type Wire = string | [string, typeof END];

/*
 * Every answer here is what an origin wrote on the wire, and what must become of it: the object that it meant, or a failure and no object.
 * Whatever it was, the next file from the same origin comes.
 */
describe('an answer on the wire', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  beforeAll(async () => {
    bench = await TransferBench.start();
    pool = await bench.pool();
  });
  afterAll(async () => {
    const left = bench.endpoint.openUploads(BUCKET);
    await bench.close();
    expect(left).toEqual([]);
  });

  const answered = (wire: Wire) =>
    bench.origin.on('/raw', (socket) => {
      const [text, end] = typeof wire === 'string' ? [wire] : wire;
      socket.write(text, 'latin1', () => end === END && socket.end());
    });

  async function expectObject(task: TransferTask, outcome: TaskOutcome, meant: string): Promise<void> {
    expect(outcome).toMatchObject({ success: true, bytesProcessed: meant.length });
    expect((await bench.object(task)).toString('latin1')).toBe(meant);
  }

  async function expectFailure(task: TransferTask, outcome: TaskOutcome, error: object): Promise<void> {
    expect(outcome).toMatchObject({ success: false, error });
    expect(await bench.keys()).not.toContain(task.s3Key);
  }

  async function expectNextToCome(): Promise<void> {
    const next = bench.task(bench.origin.file('/next', Buffer.from('next')));
    await expectObject(next, await run(pool, next), 'next');
  }

  const passing = { code: 'SOURCE_CONNECTION', retryable: true };
  const broken = { code: 'SOURCE_PROTOCOL', retryable: true };
  const protocol = { code: 'SOURCE_PROTOCOL', retryable: false };
  const coding = { code: 'TRANSFER_CODING', retryable: false };
  const lengthUnknown = { code: 'LENGTH_UNKNOWN', retryable: false };
  const tooLarge = { code: 'TOO_LARGE', retryable: false };
  const status = (code: number, retryable = false) => ({ code: `HTTP_${code}`, httpStatus: code, retryable });

  it.each<[name: string, wire: Wire, meant: string]>([
    ['has a length', sized(5), 'hello'],
    ['has a length of 0', sized(0, ''), ''],
    ['has zeros before its length', sized('005'), 'hello'],
    ['has white space before its length', sized('\t 5'), 'hello'],
    ['is of HTTP/1.0 and has a length', sized(5).replace('1.1', '1.0'), 'hello'],
    ['has no reason', sized(5).replace(' OK', ''), 'hello'],
    ['comes after empty lines', `\r\n\r\n${sized(5)}`, 'hello'],
    ['is announced sixteen times', head(103, { link: '<x>' }).repeat(16) + sized(5), 'hello'],
    ['offers an upgrade', `${OK}connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 5\r\n\r\nhello`, 'hello'],
    ['goes on behind its length', sized(5, 'hello world'), 'hello'],
    ['goes on with another answer', sized(5) + sized(5, 'wrong'), 'hello'],
    ['is in chunks', `${CHUNKED}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`, 'hello'],
    ['is in Chunked', under('Chunked'), 'hello'],
    ['is in chunks, with blanks around the coding', under('\t chunked  '), 'hello'],
    ['is in chunks of upper hex and leading zeros', `${CHUNKED}000A\r\nhellohello\r\n0000\r\n\r\n`, 'hellohello'],
    ['has chunk extensions', `${CHUNKED}5;a=b;c="d;e"\r\nhello\r\n0;x\r\n\r\n`, 'hello'],
    ['has a chunk extension of 100 kB', `${CHUNKED}5;${'x'.repeat(100_000)}\r\nhello\r\n0\r\n\r\n`, 'hello'],
    ['has trailers', `${CHUNKED}5\r\nhello\r\n0\r\nx-sum: 3\r\netag: "x"\r\n\r\n`, 'hello'],
    ['goes on behind its last chunk', `${CHUNKED}${ENDED}${sized(5, 'wrong')}`, 'hello'],
    [
      'has headers that are no ASCII, no date and no ETag',
      `${OK}etag: \xff"\r\nlast-modified: never\r\ncontent-type: \xe9\r\ncontent-length: 5\r\n\r\nhello`,
      'hello',
    ],
    [
      'has headers that no object could hold',
      `${OK}etag: "${'e'.repeat(9_000)}"\r\ncontent-type: a/${'b'.repeat(5_000)}\r\ncontent-length: 5\r\n\r\nhello`,
      'hello',
    ],
  ])('that %s is the object', async (_name, wire, meant) => {
    const task = bench.task(answered(wire));
    await expectObject(task, await run(pool, task), meant);
    await expectNextToCome();
  });

  it.each<[name: string, wire: Wire, error: object]>([
    ['is none', ['', END], passing],
    ['is no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n\r\n', protocol],
    ['is binary', '\x00\x01\x02\xff\xfe', protocol],
    ['is a TLS alert', '\x15\x03\x01\x00\x02\x02\x46', protocol],
    ['is HTML and no HTTP', '<html>login</html>', protocol],
    ['is of ICY', sized(5).replace('HTTP/1.1', 'ICY'), protocol],
    ['is of HTTP/9.9', sized(5).replace('1.1', '9.9'), protocol],
    ['has a status of two digits', sized(5).replace('200', '20'), protocol],
    ['has a status of four digits', sized(5).replace('200', '2000'), protocol],
    ['has the status 000', sized(5).replace('200', '000'), passing],
    ['has the status 999', sized(5).replace('200', '999'), status(999, true)],
    ['has bare line feeds', sized(5).replaceAll('\r\n', '\n'), protocol],
    ['has bare carriage returns', [sized(5).replaceAll('\r\n', '\r'), END], protocol],
    ['changes the protocol', head(101, { upgrade: 'h2c', connection: 'upgrade' }), protocol],
    ['continues what nobody asked for', head(100) + sized(5), protocol],
    ['is announced for ever', head(103, { link: '<x>' }).repeat(17) + sized(5), protocol],
    ['is 204', 'HTTP/1.1 204 No\r\n\r\n', status(204)],
    ['is 204 with a body', 'HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\nhello', status(204)],
    ['is 205', 'HTTP/1.1 205 No\r\ncontent-length: 0\r\n\r\n', status(205)],
    ['is 206, unasked', 'HTTP/1.1 206 P\r\ncontent-range: bytes 0-4/5\r\ncontent-length: 5\r\n\r\nhello', status(206)],
    ['is 304, with a body', 'HTTP/1.1 304 No\r\ncontent-length: 5\r\n\r\nhello', status(304)],
    ['redirects nowhere', 'HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n', status(302)],
    [
      'redirects to no URL',
      'HTTP/1.1 302 Found\r\nlocation: http://[\r\ncontent-length: 0\r\n\r\n',
      { code: 'URL_INVALID', retryable: false },
    ],
    [
      'asks for eternal patience',
      `HTTP/1.1 503 x\r\nretry-after: ${'9'.repeat(40)}\r\ncontent-length: 0\r\n\r\n`,
      { ...status(503, true), retryAfterMs: 300_000 },
    ],
    ['folds a header', `${OK}x-a: b\r\n c\r\ncontent-length: 5\r\n\r\nhello`, protocol],
    ['has a blank before a colon', `${OK}content-length : 5\r\n\r\nhello`, protocol],
    ['has a header without colon', `${OK}oops\r\ncontent-length: 5\r\n\r\nhello`, protocol],
    ['has a header without name', `${OK}: a\r\ncontent-length: 5\r\n\r\nhello`, protocol],
    ['has NUL in a header', `${OK}x: a\x00b\r\ncontent-length: 5\r\n\r\nhello`, protocol],
    ['has CR in a header', `${OK}x: a\rb\r\ncontent-length: 5\r\n\r\nhello`, protocol],
    ['has a header of 70 kB', `${OK}x: ${'x'.repeat(70_000)}\r\n\r\n`, protocol],
    ['has 20,000 headers', `${OK}${'x: y\r\n'.repeat(20_000)}\r\n`, protocol],
    ['has two lengths', `${OK}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`, protocol],
    ['has its length twice', `${OK}content-length: 5\r\ncontent-length: 5\r\n\r\nhello`, protocol],
    ['has a length and chunks', `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n${ENDED}`, protocol],
    ['has chunks and a length', `${OK}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n${ENDED}`, protocol],
    ...['5, 5', '5,6', '-5', '+5', '', '0x5', '5.0', '5e0', 'five', '5 5', '5;', '5\t', '5\xa0', '9'.repeat(30)].map(
      (length): [string, Wire, object] => [`has the length ${JSON.stringify(length)}`, sized(length), protocol],
    ),
    ['has a blank behind its length, which undici takes for a digit', sized('5 '), lengthUnknown],
    ...['18446744073709551615', '9007199254740993', '20000000000000'].map((length): [string, Wire, object] => [
      `has the length ${length}`,
      sized(length),
      tooLarge,
    ]),
    ...[
      'identity',
      'gzip',
      'gzip, chunked',
      'chunked, identity',
      'chunked, chunked',
      'xchunked',
      '"chunked"',
      'chunked;q=1',
      'chunked,',
    ].map((name): [string, Wire, object] => [`is in the transfer coding ${name}`, [under(name), END], coding]),
    ...['chunked\t', 'chunked \t', 'chunked\xa0'].map((name): [string, Wire, object] => [
      `is in the transfer coding ${JSON.stringify(name)}, whose chunks nobody undoes`,
      [under(name), END],
      coding,
    ]),
    ['is in chunked twice', [`${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n${ENDED}`, END], coding],
    ['ends with its connection', [`${OK}connection: close\r\n\r\nhello`, END], lengthUnknown],
    ['says nothing of its end', `${OK}\r\nhello`, lengthUnknown],
    ['is of HTTP/1.0 and ends with its connection', [`HTTP/1.0 200 OK\r\n\r\nhello`, END], lengthUnknown],
    ['has chunks with bare line feeds', `${CHUNKED}5\nhello\n0\n\n`, broken],
    ['has a chunk that is longer than its size', `${CHUNKED}5\r\nhello!\r\n0\r\n\r\n`, broken],
    ['has a chunk that is shorter than its size', `${CHUNKED}5\r\nhell\r\n0\r\n\r\n`, broken],
    ...['5 ', '0x5', '-5', '+5', '', 'g', 'f'.repeat(18)].map((size): [string, Wire, object] => [
      `has the chunk size ${JSON.stringify(size)}`,
      `${CHUNKED}${size}\r\nhello\r\n0\r\n\r\n`,
      broken,
    ]),
    ['has a chunk of 8 EiB', [`${CHUNKED}7fffffffffffffff\r\nhello`, END], passing],
    ['has a broken trailer', `${CHUNKED}5\r\nhello\r\n0\r\noops\r\n\r\n`, broken],
    ['has 20,000 trailers', `${CHUNKED}5\r\nhello\r\n0\r\n${'x: y\r\n'.repeat(20_000)}\r\n`, broken],
  ])('that %s is a failure and no object', async (_name, wire, error) => {
    const task = bench.task(answered(wire));
    await expectFailure(task, await run(pool, task), error);
    await expectNextToCome();
  });

  it('that is in another transfer coding is refused even where the task knows the size, and let go', async () => {
    const task = bench.task(answered(under('gzip', '3\r\nhel\r\n0\r\n\r\n')), { size: 3 });
    await expectFailure(task, await run(pool, task), coding);
    await eventually(() => bench.origin.connections <= 1);
  });

  describe('that is cut', () => {
    it.each([
      { framing: 'with a length', text: sized(5), head: sized(5, '') },
      { framing: 'in chunks', text: `${CHUNKED}2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nx-sum: 3\r\n\r\n`, head: CHUNKED },
    ])('$framing after any of its bytes, by an end or a reset, is a failure that may pass and no object', async ({ text, head: start }) => {
      const cuts = Array.from({ length: text.length }, (_, at) => [at, 'end'] as const);
      const all = [...cuts, ...cuts.map(([at]) => [at, 'resetAndDestroy'] as const)];
      const outcomes = all.map(async ([at, how]) => {
        const url = bench.origin.on(`/${how}/${at}`, (socket) => {
          if (at === 0) socket[how]();
          else socket.write(text.slice(0, at), 'latin1', () => socket[how]());
        });
        const task = bench.task(url);
        return { at, how, task, outcome: await run(pool, task) };
      });
      for (const { at, how, outcome } of await Promise.all(outcomes)) {
        const code = at >= start.length && start !== CHUNKED ? 'SIZE_MISMATCH' : 'SOURCE_CONNECTION';
        expect({ at, how, outcome }).toMatchObject({ at, how, outcome: { success: false, error: { code, retryable: true } } });
      }
      const keys = await bench.keys();
      for (const { task } of await Promise.all(outcomes)) expect(keys).not.toContain(task.s3Key);
      await expectNextToCome();
    });

    it('before it began is asked for three times at once, and is then worth another try', async () => {
      const url = bench.origin.on('/reset', (socket) => void socket.resetAndDestroy());
      const task = bench.task(url);
      await expectFailure(task, await run(pool, task), passing);
      expect(bench.origin.requests.filter(({ path }) => path === '/reset')).toHaveLength(3);
    });
  });

  it.each([
    { framing: 'with a length', text: sized(5) },
    { framing: 'in chunks', text: `${CHUNKED}2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nx-sum: 3\r\n\r\n` },
  ])('that comes byte by byte, $framing, is the object', async ({ text }) => {
    const url = bench.origin.on('/bytes', (socket) => {
      void (async () => {
        for (const byte of text) {
          socket.write(byte, 'latin1');
          await setImmediate();
        }
      })();
    });
    const task = bench.task(url);
    await expectObject(task, await run(pool, task), 'hello');
  });

  it('ends where its length says: what comes after is no answer to the next request', async () => {
    const one = await bench.pool({ pool: { maxConnectionsPerHost: 1 } });
    const surplus = answered(sized(5) + sized(5, 'wrong'));
    const tasks = [bench.task(surplus), bench.task(bench.origin.file('/world', Buffer.from('world')))];
    const outcomes = await Promise.all(tasks.map((task) => run(one, task)));
    for (const [index, meant] of ['hello', 'world'].entries())
      await expectObject(tasks[index] as TransferTask, outcomes[index] as TaskOutcome, meant);
  });

  it('is stored without what S3 could not take of its headers, and with what it can', async () => {
    const headers = { 'content-length': '3', 'content-type': 'text/plain; name="\u00c3\u00bc"', 'content-encoding': 'gzip, aws-chunked' };
    const task = bench.task(answered(`${head(200, headers)}hel`));
    await expectObject(task, await run(pool, task), 'hel');
    const { ContentType, ContentEncoding } = await bench.head(task);
    expect(ContentType ?? '').not.toContain('name');
    expect(ContentEncoding).toBe('gzip');
  });

  it('leads to a path in raw UTF-8, byte by byte', async () => {
    bench.origin.file('/%C3%BC.pdf', Buffer.from('hello'));
    const task = bench.task(answered(head(302, { location: '/\u00c3\u00bc.pdf', 'content-length': '0' })));
    await expectObject(task, await run(pool, task), 'hello');
  });
});
