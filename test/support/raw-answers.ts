import type { Socket } from 'node:net';
import { head } from './raw-origin.js';

const OK = 'HTTP/1.1 200 OK\r\n';
export const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const ENDED = '5\r\nhello\r\n0\r\n\r\n';
export const sized = (length: number | string, body = 'hello') => `${OK}content-length: ${length}\r\n\r\n${body}`;
export const under = (coding: string, body = ENDED) => `${OK}transfer-encoding: ${coding}\r\n\r\n${body}`;

/** The end of the connection follows; without it the origin keeps it. */
const END = Symbol('end');
export type Wire = string | [string, typeof END];

export interface Failure {
  code: string;
  retryable: boolean;
  retryAfterMs?: number;
}

/** As it stands, byte by byte. */
export function writeTo(socket: Socket, wire: Wire): void {
  const [text, end] = typeof wire === 'string' ? [wire] : wire;
  socket.write(text, 'latin1', () => end === END && socket.end());
}

const passing = { code: 'SOURCE_CONNECTION', retryable: true };
const broken = { code: 'SOURCE_PROTOCOL', retryable: true };
const protocol = { code: 'SOURCE_PROTOCOL', retryable: false };
const coding = { code: 'TRANSFER_CODING', retryable: false };
const lengthUnknown = { code: 'LENGTH_UNKNOWN', retryable: false };
const tooLarge = { code: 'TOO_LARGE', retryable: false };
const status = (code: number, retryable = false) => ({ code: `HTTP_${code}`, httpStatus: code, retryable });

/** Of origins that keep to the rules, if barely: each with the body that it means. */
export const WHOLE_ANSWERS: [name: string, wire: Wire, meant: string][] = [
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
];

/** Of origins that break the rules, or whose answer is not the file: each with its failure. */
export const REFUSED_ANSWERS: [name: string, wire: Wire, error: Failure][] = [
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
    (length): [string, Wire, Failure] => [`has the length ${JSON.stringify(length)}`, sized(length), protocol],
  ),
  ['has a blank behind its length, which undici takes for a digit', sized('5 '), lengthUnknown],
  ...['18446744073709551615', '9007199254740993', '20000000000000'].map((length): [string, Wire, Failure] => [
    `has the length ${length}`,
    sized(length),
    tooLarge,
  ]),
  ...['identity', 'gzip', 'gzip, chunked', 'chunked, identity', 'chunked, chunked', 'xchunked', '"chunked"', 'chunked;q=1', 'chunked,'].map(
    (name): [string, Wire, Failure] => [`is in the transfer coding ${name}`, [under(name), END], coding],
  ),
  ...['chunked\t', 'chunked \t', 'chunked\xa0'].map((name): [string, Wire, Failure] => [
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
  ...['5 ', '0x5', '-5', '+5', '', 'g', 'f'.repeat(18)].map((size): [string, Wire, Failure] => [
    `has the chunk size ${JSON.stringify(size)}`,
    `${CHUNKED}${size}\r\nhello\r\n0\r\n\r\n`,
    broken,
  ]),
  ['has a chunk of 8 EiB', [`${CHUNKED}7fffffffffffffff\r\nhello`, END], passing],
  ['has a broken trailer', `${CHUNKED}5\r\nhello\r\n0\r\noops\r\n\r\n`, broken],
  ['has 20,000 trailers', `${CHUNKED}5\r\nhello\r\n0\r\n${'x: y\r\n'.repeat(20_000)}\r\n`, broken],
];
