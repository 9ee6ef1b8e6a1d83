import { AppError } from '../../../shared/index.js';

const CR = 0x0d;
const LF = 0x0a;
const NOTHING = Buffer.alloc(0);

/** Byte order marks, and the decoder that Node has for what follows them; UTF-8 is what we read anyway. */
const MARKS: readonly [mark: Buffer, encoding: 'utf-8' | 'utf-16le' | 'utf-16be'][] = [
  [Buffer.from([0xef, 0xbb, 0xbf]), 'utf-8'],
  [Buffer.from([0xff, 0xfe]), 'utf-16le'],
  [Buffer.from([0xfe, 0xff]), 'utf-16be'],
];
export const MARK_BYTES = 3;

/** Code of the error that says that a list is no text in the encoding that its byte order mark names. */
export const BROKEN_TEXT = 'BROKEN_TEXT';

/** How a text begins: its byte order mark, if it has one, and its encoding. */
export function encodingOf(head: Buffer): { markBytes: number; encoding: 'utf-8' | 'utf-16le' | 'utf-16be' } {
  const [mark = NOTHING, encoding = 'utf-8'] = MARKS.find(([bytes]) => head.subarray(0, bytes.length).equals(bytes)) ?? [];
  return { markBytes: mark.length, encoding };
}

/**
 * UTF-16 as UTF-8.
 * @throws AppError `BROKEN_TEXT` when it is none
 */
export async function* fromUtf16(chunks: AsyncIterable<Buffer>, encoding: 'utf-16le' | 'utf-16be'): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { fatal: true });
  const decode = (chunk?: Buffer) => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }));
    } catch (cause) {
      throw new AppError(BROKEN_TEXT, 'The list is no UTF-16', { disposition: 'reject', cause });
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}

/** Every line ended by LF: CR and CRLF end one, too. */
export async function* withLineFeeds(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  // A CR at the end of a chunk has been passed on as LF: an LF after it belongs to it.
  let endsInCr = false;
  for await (const chunk of chunks) {
    const from = endsInCr && chunk[0] === LF ? 1 : 0;
    if (chunk.length > 0) endsInCr = chunk.at(-1) === CR;
    if (chunk.length > from) yield unixLines(from === 0 ? chunk : chunk.subarray(from));
  }
}

function unixLines(chunk: Buffer): Buffer {
  let at = chunk.indexOf(CR);
  if (at === -1) return chunk;
  const lines = Buffer.allocUnsafe(chunk.length);
  let length = 0;
  for (let from = 0; ; at = chunk.indexOf(CR, from)) {
    length += chunk.copy(lines, length, from, at === -1 ? chunk.length : at);
    if (at === -1) return lines.subarray(0, length);
    lines[length++] = LF;
    from = chunk[at + 1] === LF ? at + 2 : at + 1;
  }
}
