import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { encodingOf, fromUtf16, MARK_BYTES, withLineFeeds } from './manifest-text.js';

const START_BYTES = 65_536;

export interface ManifestBytes {
  /** The first 64 KiB (less if that is all), for a look at the format. */
  start: string;
  /** Everything, the start included, uncompressed, as UTF-8 without a byte order mark; LF ends each line. */
  bytes: AsyncIterable<Buffer>;
}

export async function openManifest(body: AsyncIterable<Buffer>): Promise<ManifestBytes> {
  const raw = await peek(toBuffers(body), 2);
  const gzipped = raw.head[0] === 0x1f && raw.head[1] === 0x8b;
  const plain = await peek(gzipped ? gunzip(raw) : join(raw), MARK_BYTES);
  const { markBytes, encoding } = encodingOf(plain.head);
  const marked = join({ head: plain.head.subarray(markBytes), rest: plain.rest });
  const { head, rest } = await peek(withLineFeeds(encoding === 'utf-8' ? marked : fromUtf16(marked, encoding)), START_BYTES);
  return { start: head.toString('utf8', 0, START_BYTES), bytes: join({ head, rest }) };
}

/** What zlib says when the compressed data itself is at fault, not its transport. */
export function isBrokenGzip(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_');
}

interface Peeked {
  head: Buffer;
  rest: AsyncIterator<Buffer>;
}

async function peek(source: AsyncIterable<Buffer>, bytes: number): Promise<Peeked> {
  const rest = source[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  for (let length = 0; length < bytes;) {
    const next = await rest.next();
    if (next.done === true) break;
    chunks.push(next.value);
    length += next.value.length;
  }
  return { head: Buffer.concat(chunks), rest };
}

async function* join({ head, rest }: Peeked): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

function gunzip(compressed: Peeked): AsyncIterable<Buffer> {
  const plain = createGunzip();
  // An error of the source reaches the reader through `plain`, which the pipeline destroys with it.
  pipeline(Readable.from(join(compressed)), plain, () => undefined);
  return plain;
}

async function* toBuffers(body: AsyncIterable<Buffer | Uint8Array | string>): AsyncGenerator<Buffer> {
  for await (const chunk of body) yield Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
}
