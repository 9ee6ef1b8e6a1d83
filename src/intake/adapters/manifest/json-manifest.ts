import { TextDecoder } from 'node:util';
import { jsonParser, type Token } from 'stream-json/core/parser.js';
import { streamArray } from 'stream-json/core/streamers/stream-array.js';
import { rowOf } from './manifest-entry.schema.js';
import { MAX_LINE_BYTES } from './manifest-lines.js';
import type { ManifestRow } from './manifest-row.js';
import { NamesOnce } from './names-once.js';

const LF = 0x0a;
const STRAY_COMMA = /,\s*[\]}]/;

/** A JSON array of objects, on as many lines as it likes; a row's line is the one its object starts on. */
export async function* readJsonArray(bytes: AsyncIterable<Buffer>, ignored: ReadonlySet<string>): AsyncGenerator<ManifestRow[]> {
  const reader = new ArrayReader(ignored);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  for await (const chunk of bytes) {
    const rows: ManifestRow[] = [];
    for (const piece of piecesOf(chunk)) {
      const problem = feed(reader, decoder, piece, line, rows);
      if (problem !== undefined) {
        yield [...rows, { line, problem }];
        return;
      }
      if (piece.at(-1) === LF) line++;
    }
    yield rows;
  }
  if (!reader.complete) yield [{ line, problem: 'the JSON array does not end: the manifest is cut short' }];
}

function feed(reader: ArrayReader, decoder: TextDecoder, piece: Buffer, line: number, rows: ManifestRow[]): string | undefined {
  let text: string;
  try {
    text = decoder.decode(piece, { stream: true });
  } catch {
    return 'the line is not UTF-8: save the manifest as UTF-8';
  }
  try {
    reader.push(text, line, rows);
  } catch {
    if (!reader.started) return 'the manifest is no JSON array: start it with "["';
    return `the JSON is broken here: ${STRAY_COMMA.test(reader.lastText) ? 'remove the comma before the bracket that closes' : 'correct it'}`;
  }
  return reader.pendingChars > MAX_LINE_BYTES ? `an element is over ${MAX_LINE_BYTES} characters: shorten it` : undefined;
}

/** Drives the library's parser by hand: only so can a row be given its line, and an endless element be stopped. */
class ArrayReader {
  readonly #tokens = jsonParser({ packValues: true, streamValues: false });
  readonly #elements = streamArray();
  readonly #names = new NamesOnce();
  #depth = 0;
  #startLine = 1;
  #elementsRead = 0;
  started = false;
  complete = false;
  /** What was pushed last, and the end of what was before that. */
  lastText = '';
  /** Characters read since the last element ended. */
  pendingChars = 0;

  constructor(private readonly ignored: ReadonlySet<string>) {}

  /** @throws when the text is no continuation of a JSON array */
  push(text: string, line: number, rows: ManifestRow[]): void {
    this.pendingChars += text.length;
    // The parser gives out nothing of a text that breaks further on.
    this.started ||= text.trimStart().startsWith('[');
    this.lastText = this.lastText.trimEnd().slice(-1) + text;
    const tokens = this.#tokens(text);
    if (typeof tokens !== 'object' || !('values' in tokens)) return;
    for (const token of tokens.values) {
      if (this.#depth === 1) this.#startLine = line;
      this.#names.see(token);
      const element: unknown = this.#elements(token);
      this.#track(token);
      if (typeof element !== 'object' || element === null || !('value' in element)) continue;
      const problem = this.#names.takeProblem();
      const row = problem === undefined ? rowOf(this.#startLine, element.value, this.ignored) : { line: this.#startLine, problem };
      rows.push({ ...row, element: ++this.#elementsRead });
      this.pendingChars = 0;
    }
  }

  #track(token: Token): void {
    if (token.name === 'startArray' || token.name === 'startObject') this.#depth++;
    else if (token.name === 'endArray' || token.name === 'endObject') this.#depth--;
    this.complete = this.started && this.#depth === 0;
  }
}

/** A chunk's lines with their ends, an over-long one in pieces. */
function* piecesOf(chunk: Buffer): Generator<Buffer> {
  for (let from = 0; from < chunk.length;) {
    const at = chunk.indexOf(LF, from);
    const to = Math.min(at === -1 ? chunk.length : at + 1, from + MAX_LINE_BYTES);
    yield chunk.subarray(from, to);
    from = to;
  }
}
