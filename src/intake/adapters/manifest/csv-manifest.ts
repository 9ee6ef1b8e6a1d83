import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm } from '../../../shared/index.js';
import type { ManifestEntry } from '../../domain/manifest-task.js';
import { parseSize } from './line-manifests.js';
import { isComment } from './manifest-format.js';
import { MAX_LINE_BYTES, readLines } from './manifest-lines.js';
import type { ManifestRow } from './manifest-row.js';

interface CsvRecord {
  record: string[];
  info: { lines: number };
}

type RowReader = (fields: string[], line: number) => ManifestRow | undefined;

const ROWS_AT_ONCE = 1_000;

/** CSV with a header (`url`, `key`, `size`, and checksums by the algorithm's name), or without one: rclone's `URL,FILENAME`. */
export async function* readCsv(bytes: AsyncIterable<Buffer>): AsyncGenerator<ManifestRow[]> {
  let rows: ManifestRow[] = [];
  const parser = parse({
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    record_delimiter: '\n',
    max_record_size: MAX_LINE_BYTES,
    skip_records_with_error: true,
    on_skip: (error) => {
      // After an endless record the parser cannot find the next one: this ends the reading.
      if (error?.code === 'CSV_MAX_RECORD_SIZE') throw error;
      rows.push({ line: lineOf(error), problem: 'the quotes do not match: quote a whole field, and double the quotes inside it' });
      return undefined;
    },
  });
  const lines = Readable.from(textOf(bytes, (row) => rows.push(row)));
  // An error of the source reaches the loop below through the parser, which the pipeline destroys with it.
  pipeline(lines, parser, () => undefined);
  let read: RowReader | undefined;
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRecord>) {
      if (record.length === 1 && record[0]?.trim() === '') continue;
      if (read === undefined && isComment(record[0] ?? '')) continue;
      if (read === undefined) {
        const first = readFirstRecord(record);
        if (first.kind === 'unusable') {
          yield [...rows, { line: info.lines, problem: first.reason }];
          return;
        }
        read = first.read;
        if (first.isHeader) continue;
      }
      const row = read(record, info.lines);
      if (row !== undefined) rows.push(row);
      if (rows.length < ROWS_AT_ONCE) continue;
      yield rows;
      rows = [];
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    rows.push({ line: lineOf(error), problem: `a record reaches over ${MAX_LINE_BYTES} bytes here: close its quotes or shorten it` });
  }
  yield rows;
}

/** The lines again, checked: the parser itself would turn broken UTF-8 into other characters. */
async function* textOf(bytes: AsyncIterable<Buffer>, onProblem: (row: ManifestRow) => void): AsyncGenerator<string> {
  for await (const lines of readLines(bytes)) {
    let text = '';
    for (const line of lines) {
      if (line.problem !== undefined) onProblem({ line: line.number, problem: line.problem });
      text += `${line.text}\n`;
    }
    if (text !== '') yield text;
  }
}

function lineOf(error: CsvError | undefined): number {
  return typeof error?.lines === 'number' ? error.lines : 1;
}

const COLUMNS = ['url', 'key', 'size', ...CHECKSUM_ALGORITHMS] as const;
type Column = (typeof COLUMNS)[number];

type FirstRecord = { kind: 'usable'; isHeader: boolean; read: RowReader } | { kind: 'unusable'; reason: string };

function readFirstRecord(record: string[]): FirstRecord {
  const names = record.map((name) => name.trim().toLowerCase());
  if (!names.includes('url'))
    return record[0]?.includes('://') === true
      ? { kind: 'usable', isHeader: false, read: readUrlAndFileName }
      : { kind: 'unusable', reason: 'the first line is neither a header with a url column nor a URL: add the header' };
  const columns = names.filter(isColumn);
  if (columns.length < names.length) return { kind: 'unusable', reason: `the header has an unknown column: use ${COLUMNS.join(', ')}` };
  if (new Set(columns).size < columns.length) return { kind: 'unusable', reason: 'the header names a column twice: remove one' };
  return { kind: 'usable', isHeader: true, read: (fields, line) => readFields(columns, fields, line) };
}

function isColumn(name: string): name is Column {
  return (COLUMNS as readonly string[]).includes(name);
}

function readUrlAndFileName(fields: string[], line: number): ManifestRow | undefined {
  const [url = '', fileName = ''] = fields;
  if (isComment(url)) return undefined;
  if (fields.length > 2)
    return { line, problem: `the line has ${fields.length} fields, not URL,FILENAME: quote a field that contains a comma` };
  return { line, entry: { url: url.trim(), key: fileName === '' ? undefined : fileName } };
}

function readFields(columns: readonly Column[], fields: string[], line: number): ManifestRow {
  if (fields.length !== columns.length)
    return { line, problem: `the line has ${fields.length} fields, the header ${columns.length}: quote a field that contains a comma` };
  const entry: ManifestEntry = { url: '' };
  for (const [index, column] of columns.entries()) {
    const text = fields[index] ?? '';
    const problem = text === '' ? undefined : setField(entry, column, text);
    if (problem !== undefined) return { line, problem };
  }
  return { line, entry };
}

function setField(entry: ManifestEntry, column: Column, text: string): string | undefined {
  if (column === 'url') entry.url = text.trim();
  else if (column === 'key') entry.key = text;
  else if (column === 'size') return setSize(entry, text);
  else return setChecksum(entry, column, text);
  return undefined;
}

function setSize(entry: ManifestEntry, text: string): string | undefined {
  const size = parseSize(text.trim());
  if (size === 'invalid') return 'size is no whole number of bytes: give one, or leave it empty';
  entry.size = size;
  return undefined;
}

function setChecksum(entry: ManifestEntry, algorithm: ChecksumAlgorithm, value: string): string | undefined {
  if (entry.checksum !== undefined) return `${entry.checksum.algorithm} and ${algorithm} are both given: give one checksum a file`;
  entry.checksum = { algorithm, value };
  return undefined;
}
