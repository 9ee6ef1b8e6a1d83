import { rowOf } from './manifest-entry.schema.js';
import { isComment, TSV_HEADER } from './manifest-format.js';
import { readLines, type Line } from './manifest-lines.js';
import type { ManifestRow } from './manifest-row.js';

/** JSONL: one object a line; blank lines are skipped. */
export function readJsonl(bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestRow[]> {
  return readRows(bytes, ({ number, text }) => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { line: number, problem: 'the line is not JSON: write one object a line' };
    }
    return rowOf(number, value);
  });
}

/** A plain list: one URL a line; blank lines and lines that start with `#` are skipped. */
export function readList(bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestRow[]> {
  return readRows(bytes, ({ number, text }) => {
    const url = text.trim();
    return isComment(url) ? undefined : { line: number, entry: { url } };
  });
}

/** TsvHttpData-1.0: that line, then `URL<TAB>size<TAB>base64 of the MD5`; size and MD5 may be missing. */
export async function* readTsvHttpData(bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestRow[]> {
  let headerSeen = false;
  yield* readRows(bytes, ({ number, text }) => {
    if (headerSeen) return tsvRow(number, text.split('\t'));
    headerSeen = true;
    return text === TSV_HEADER ? undefined : { line: number, problem: `the first line is not ${TSV_HEADER}: add it` };
  });
}

function tsvRow(line: number, fields: string[]): ManifestRow {
  const [url = '', size = '', md5 = ''] = fields;
  if (fields.length > 3) return { line, problem: `the line has ${fields.length} fields: write URL, size and MD5, with a tab between` };
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

async function* readRows(bytes: AsyncIterable<Buffer>, read: (line: Line) => ManifestRow | undefined): AsyncGenerator<ManifestRow[]> {
  for await (const lines of readLines(bytes)) {
    const rows: ManifestRow[] = [];
    for (const line of lines) {
      if (line.problem !== undefined) {
        rows.push({ line: line.number, problem: line.problem });
        continue;
      }
      if (line.text.trim() === '') continue;
      const row = read(line);
      if (row !== undefined) rows.push(row);
    }
    yield rows;
  }
}
