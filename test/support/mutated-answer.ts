import type { SeededRandom } from '../chaos/random.js';

/** A piece of an answer on the wire. */
interface Segment {
  /** `length` decides where the body ends: changed, the answer may be a whole one of another body. */
  kind: 'framing' | 'length' | 'data';
  bytes: Buffer;
}

export interface MutatedAnswer {
  /** As it is written, write by write; the origin waits a moment before some. */
  writes: { bytes: Buffer; waitMs: number }[];
  /** What follows; the connection stays otherwise. */
  ending: 'end' | 'resetAndDestroy' | undefined;
  /** What the origin meant. */
  body: Buffer;
  etag: string | undefined;
  /** Nothing was changed: it must arrive. */
  isWhole: boolean;
  /** Only a checksum can tell that something was changed. */
  needsProof: boolean;
  /** For whom it may concern: what was done. */
  story: string;
}

type Fault = 'none' | 'cut' | 'flip' | 'flip data' | 'drop' | 'duplicate' | 'swap' | 'insert';

const CRLF = '\r\n';

/** A valid answer, and what a network, a proxy or a broken server may make of it; the same seed makes the same. */
export function mutatedAnswer(random: SeededRandom, large: Buffer): MutatedAnswer {
  const body = bodyOf(random, large);
  const etag = random.chance(0.5) ? '"v1"' : undefined;
  const isChunked = random.chance(0.6);
  const segments = [...headOf(random, etag, isChunked ? undefined : body.length), ...(isChunked ? chunksOf(random, body) : whole(body))];
  const fault = random.pick<Fault>([
    'none',
    'cut',
    'cut',
    'cut',
    'flip',
    'flip',
    'flip',
    'flip data',
    'drop',
    'duplicate',
    'swap',
    'insert',
  ]);
  const at = random.integer(0, segments.length - 1);
  const damaged = damage(random, segments, fault, at);
  const wire = Buffer.concat(damaged.map(({ bytes }) => bytes));
  const until = fault === 'cut' ? random.integer(0, wire.length - 1) : wire.length;
  const ending = random.pick(['end', 'resetAndDestroy', undefined] as const);
  return {
    writes: writesOf(random, wire.subarray(0, until)),
    // A reset may overtake what was written before it.
    ending: fault === 'none' && ending === 'resetAndDestroy' ? undefined : ending,
    body,
    etag,
    isWhole: fault === 'none',
    needsProof: !['none', 'cut'].includes(fault) && (fault !== 'flip' || segments[at]?.kind !== 'framing'),
    story: `${isChunked ? 'chunks' : 'length'} of ${body.length} bytes, ${fault} at ${fault === 'cut' ? until : at}, then ${ending ?? 'nothing'}`,
  };
}

function bodyOf(random: SeededRandom, large: Buffer): Buffer {
  const size = random.chance(0.03)
    ? random.integer(8_388_607, large.length)
    : random.pick([0, 1, 5, random.integer(2, 3_000), random.integer(3_000, 70_000)]);
  return large.subarray(large.length - size);
}

function headOf(random: SeededRandom, etag: string | undefined, length: number | undefined): Segment[] {
  const line = (text: string, kind: Segment['kind'] = 'framing'): Segment => ({ kind, bytes: Buffer.from(text + CRLF, 'latin1') });
  const framing = length === undefined ? line('transfer-encoding: chunked') : line(`content-length: ${length}`, 'length');
  const headers = [line('content-type: text/plain'), line('x-pad: value'), framing, ...(etag === undefined ? [] : [line(`etag: ${etag}`)])];
  return [line('HTTP/1.1 200 OK'), ...random.shuffled(headers), line('')];
}

function whole(body: Buffer): Segment[] {
  return [{ kind: 'data', bytes: body }];
}

function chunksOf(random: SeededRandom, body: Buffer): Segment[] {
  const framing = (text: string): Segment => ({ kind: 'framing', bytes: Buffer.from(text, 'latin1') });
  const extension = random.chance(0.2) ? ';name="value"' : '';
  const segments: Segment[] = [];
  for (let at = 0; at < body.length;) {
    const size = Math.min(body.length - at, random.integer(1, Math.max(1, Math.ceil(body.length / 3))));
    segments.push(framing(size.toString(16) + extension + CRLF), { kind: 'data', bytes: body.subarray(at, at + size) }, framing(CRLF));
    at += size;
  }
  const trailer = random.chance(0.2) ? `x-sum: 1${CRLF}` : '';
  return [...segments, framing(`0${CRLF}`), framing(trailer + CRLF)];
}

function damage(random: SeededRandom, segments: Segment[], fault: Fault, at: number): Segment[] {
  const [before, after] = [segments.slice(0, at), segments.slice(at + 1)];
  const struck = segments[at] as Segment;
  switch (fault) {
    case 'none':
    case 'cut':
      return segments;
    case 'flip':
    case 'flip data':
      return [...before, { ...struck, bytes: flipped(random, struck.bytes) }, ...after];
    case 'drop':
      return [...before, ...after];
    case 'duplicate':
      return [...before, struck, struck, ...after];
    case 'swap':
      return [...before, ...after.slice(0, 1), struck, ...after.slice(1)];
    case 'insert':
      return [
        ...before,
        { kind: 'framing', bytes: Buffer.from(random.pick([CRLF, '\n', '\0', 'x', '0', ' ', ';', ': '])) },
        struck,
        ...after,
      ];
  }
}

function flipped(random: SeededRandom, bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  const at = random.integer(0, copy.length - 1);
  copy[at] = (copy[at] ?? 0) ^ (1 << random.integer(0, 7));
  return copy;
}

function writesOf(random: SeededRandom, wire: Buffer): MutatedAnswer['writes'] {
  const writes: MutatedAnswer['writes'] = [];
  const most = random.pick([wire.length, 1_000, 50]);
  for (let at = 0; at < wire.length;) {
    // So many small writes at most: the rest comes as one.
    const size = writes.length < 20 ? random.integer(1, Math.max(1, most)) : wire.length;
    writes.push({ bytes: wire.subarray(at, at + size), waitMs: random.chance(0.2) ? random.integer(0, 3) : 0 });
    at += size;
  }
  return writes;
}
