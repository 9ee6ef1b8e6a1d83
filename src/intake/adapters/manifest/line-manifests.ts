import { counted } from '../../../shared/index.js';
import { rowOf } from './manifest-entry.schema.js';
import { COMMENTED_HEADER, isCommentedHeader } from './csv-dialect.js';
import { tells, TSV_HEADER } from './manifest-format.js';
import { readLines, type Line } from './manifest-lines.js';
import type { ManifestRow } from './manifest-row.js';
import { nameTwice } from './names-once.js';

type LineReader = (line: Line) => ManifestRow | undefined;

/** JSONL: one object a line; blank lines are skipped, as is a comma after the object. */
export function readJsonl(bytes: AsyncIterable<Buffer>, ignored: ReadonlySet<string>): AsyncGenerator<ManifestRow[]> {
  return readRows(bytes, ({ number, text }) => {
    const json = text.replace(/\}\s*,\s*$/, '}');
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      return { line: number, problem: 'the line is not JSON: write one object a line' };
    }
    const problem = nameTwice(json, value);
    return problem === undefined ? rowOf(number, value, ignored) : { line: number, problem };
  });
}

/** A plain list: one URL a line, whatever it holds; blank lines and lines that start with `#` are skipped. */
export function readList(bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestRow[]> {
  return readRows(bytes, urlOfLine);
}

/** What may separate fields, and the quotes around one. */
const SEPARATES = /[,;\t]|^"/;

/**
 * A list that does not tell its format: a plain one, as long as no line may be read in another way. `https://h/a,b.pdf` is a URL, and
 * rclone's `URL,FILENAME`, too: a wrong guess would store other bytes under other keys, so nothing is guessed.
 */
export async function* readUnnamed(bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestRow[]> {
  let commentedHeader: number | undefined;
  for await (const lines of readLines(bytes)) {
    commentedHeader ??= lines.find(({ text }) => isCommentedHeader(text))?.number;
    const inDoubt = lines.findIndex(({ text }) => tells(text) && SEPARATES.test(text.trim()));
    yield rowsOf(inDoubt === -1 ? lines : lines.slice(0, inDoubt), urlOfLine);
    const doubt = lines[inDoubt];
    if (doubt === undefined) continue;
    yield [commentedHeader === undefined ? { line: doubt.number, problem: DOUBT } : { line: commentedHeader, problem: COMMENTED_HEADER }];
    return;
  }
}

const DOUBT =
  'the line may be one URL, or a URL and a name with a separator between, and nothing tells which: name the format, list or csv ' +
  '(source.format, or --format), or begin the list with a header like url,key';

function urlOfLine({ number, text }: Line): ManifestRow | undefined {
  return tells(text) ? { line: number, entry: { url: text.trim() } } : undefined;
}

/** TsvHttpData-1.0: that line, then `URL<TAB>size<TAB>base64 of the MD5`; size and MD5 may be missing. */
export async function* readTsvHttpData(bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestRow[]> {
  let headerSeen = false;
  yield* readRows(bytes, ({ number, text }) => {
    if (!tells(text)) return undefined;
    if (headerSeen) return tsvRow(number, text.split('\t'));
    headerSeen = true;
    return text.trim() === TSV_HEADER ? undefined : { line: number, problem: `the first line is not ${TSV_HEADER}: add it` };
  });
}

function tsvRow(line: number, fields: string[]): ManifestRow {
  const [url = '', size = '', md5 = '', ...more] = fields.map((field) => field.trim());
  if (more.some((field) => field !== ''))
    return { line, problem: `the line has ${counted(fields.length, 'field')}: write URL, size and MD5, with a tab between` };
  if (/^[0-9a-f]{32}$/i.test(md5))
    return { line, problem: 'the MD5 is hex: TsvHttpData-1.0 takes the base64 of its 16 bytes (a CSV manifest takes either)' };
  const sizeBytes = parseSize(size);
  if (sizeBytes === 'invalid') return { line, problem: 'size is no whole number of bytes: give one, or leave it out' };
  return { line, entry: { url, size: sizeBytes, checksum: md5 === '' ? undefined : { algorithm: 'md5', value: md5 } } };
}

/** A size written as text; undefined when there is none. */
export function parseSize(text: string): number | undefined | 'invalid' {
  if (text === '') return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : 'invalid';
}

async function* readRows(bytes: AsyncIterable<Buffer>, read: LineReader): AsyncGenerator<ManifestRow[]> {
  for await (const lines of readLines(bytes)) yield rowsOf(lines, read);
}

function rowsOf(lines: readonly Line[], read: LineReader): ManifestRow[] {
  return lines.flatMap((line) => {
    if (line.problem !== undefined) return [{ line: line.number, problem: line.problem }];
    const row = line.text.trim() === '' ? undefined : read(line);
    return row === undefined ? [] : [row];
  });
}
