import { describe, expect, it } from '@jest/globals';
import type { PoolManagerService } from '../../../src/worker-pool/index.js';
import { eventually } from '../../support/local-aws.js';
import { chunk, head, type RawAnswer } from '../../support/raw-origin.js';
import { benchForEach, MIB, pattern, run, type TransferBench } from './pool-support.js';
import { FAR, QuickTransfers, type Limits } from './quick-transfers.js';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const sized = (length: number, body: string) => `${OK}content-length: ${length}\r\n\r\n${body}`;

describe('an answer that never ends', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  benchForEach((fresh) => ({ bench, pool } = fresh));

  /** Again and again, until the connection ends. */
  const dripping =
    (start: string, drop: string): RawAnswer =>
    (socket) => {
      if (start !== '') socket.write(start, 'latin1');
      const drip = setInterval(() => socket.write(drop, 'latin1'), 20);
      socket.on('close', () => clearInterval(drip));
    };
  const silent =
    (start: string): RawAnswer =>
    (socket) =>
      void (start !== '' && socket.write(start, 'latin1'));
  /** Each row has the limit that must end it close by, and the others far off, so that a busy machine changes nothing. */
  const noHead = { limits: { ...FAR, headersMs: 150 }, code: 'HEADERS_TIMEOUT' };
  const stalled = { limits: { ...FAR, stallTimeoutMs: 150 }, code: 'SOURCE_STALLED' };
  const tooLong = { limits: { ...FAR, taskTimeoutMs: 900 }, code: 'TASK_TIMEOUT' };

  it.each<[name: string, answer: RawAnswer, ends: { limits: Limits; code: string }]>([
    ['says nothing', silent(''), noHead],
    ['falls silent in its status line', silent('HTTP/1.1 2'), noHead],
    ['falls silent in its headers', silent(`${OK}content-le`), noHead],
    ['drips its headers', dripping(`${OK}x: `, 'x'), noHead],
    ['drips header after header', dripping(OK, 'x: y\r\n'), noHead],
    ['announces itself now and then', dripping('', 'HTTP/1.1 103 Early\r\n\r\n'), noHead],
    ['falls silent before its body', silent(sized(5, '')), stalled],
    ['falls silent in its body', silent(sized(5, 'hel')), stalled],
    ['falls silent in a chunk size', silent(`${CHUNKED}1`), stalled],
    ['falls silent in a chunk', silent(`${CHUNKED}5\r\nhel`), stalled],
    ['falls silent before its last chunk', silent(`${CHUNKED}5\r\nhello\r\n`), stalled],
    ['falls silent in its last chunk', silent(`${CHUNKED}5\r\nhello\r\n0\r\n`), stalled],
    ['drips a chunk extension', dripping(`${CHUNKED}5;`, 'x'), stalled],
    ['floods a chunk extension', dripping(`${CHUNKED}5;`, 'x'.repeat(MIB)), stalled],
    ['drips a chunk size of zeros', dripping(CHUNKED, '0'), stalled],
    ['drips its trailers', dripping(`${CHUNKED}5\r\nhello\r\n0\r\nx: `, 'x'), stalled],
    ['drips its body', dripping(sized(1_000_000, ''), 'x'), tooLong],
    ['drips chunk after chunk', dripping(CHUNKED, '1\r\nx\r\n'), tooLong],
    ['floods chunk after chunk', flooding, tooLong],
  ])(
    'because it %s is given up in time, and its connection with it: no object, and the next file comes',
    async (_name, answer, { limits, code }) => {
      const quick = QuickTransfers.create(limits);
      const task = bench.task(bench.origin.on('/endless', answer));
      expect(await quick.run(task)).toMatchObject({ success: false, error: { code, retryable: true } });
      await eventually(() => bench.origin.connections === 0);
      // A busy machine may overrun the short limit with this one, too: then it comes with the next
      // try.
      const next = bench.origin.file('/next', Buffer.from('next'));
      await eventually(async () => (await quick.run(bench.task(next))).success);
      expect(await bench.keys()).toHaveLength(1);
      await quick.close();
    },
  );

  it('but redirects is not read', async () => {
    bench.origin.file('/file', Buffer.from('hello'));
    const url = bench.origin.on('/away', dripping(head(302, { location: '/file', 'content-length': '1000000000' }), 'x'.repeat(65_536)));
    const task = bench.task(url);
    expect(await run(pool, task)).toMatchObject({ success: true, bytesProcessed: 5 });
    await eventually(() => bench.origin.connections <= 1);
  });
});

const BLOCK = chunk(pattern(MIB));

/** As much as the connection takes. */
function flooding(...[socket]: Parameters<RawAnswer>): void {
  socket.write(CHUNKED);
  const more = () => {
    while (socket.writable && socket.write(BLOCK));
  };
  socket.on('drain', more);
  more();
}
