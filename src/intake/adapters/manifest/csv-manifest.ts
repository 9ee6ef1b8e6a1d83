import { counted } from '../../../shared/index.js';
import type { ManifestEntry } from '../../domain/manifest-task.js';
import { readHeader, type Column } from './csv-columns.js';
import { COMMENTED_HEADER, DELIMITERS, dialectOf, isCommentedHeader, type Delimiter } from './csv-dialect.js';
import { CsvRecords, type CsvRecord } from './csv-records.js';
import { parseSize } from './line-manifests.js';
import { tells } from './manifest-format.js';
import { readLines, type Line } from './manifest-lines.js';
import type { ManifestRow } from './manifest-row.js';

/** The row of a record. */
type RowReader = (line: number, fields: string[]) => ManifestRow;

/**
 * CSV with a header (`url`, `key`, `size`, a checksum) and comma, semicolon or tab between its fields; or without one: rclone's
 * `URL,FILENAME`. Blank lines and comments may stand before the first line that tells.
 * @param ignored plain names of columns that are left unread
 */
export async function* readCsv(bytes: AsyncIterable<Buffer>, ignored: ReadonlySet<string>): AsyncGenerator<ManifestRow[]> {
  const reader = new CsvReader(ignored);
  for await (const lines of readLines(bytes)) {
    const rows: ManifestRow[] = [];
    for (const line of lines) {
      reader.read(line, rows);
      if (!reader.isUnusable) continue;
      yield rows;
      return;
    }
    yield rows;
  }
  const rest: ManifestRow[] = [];
  reader.end(rest);
  yield rest;
}

class CsvReader {
  isUnusable = false;
  #records: CsvRecords | undefined;
  /** Excel's `sep=;`. */
  #separator: Delimiter | undefined;
  /** The line of one that is a comment. */
  #commentedHeader: number | undefined;
  #hasHeader = false;
  /** It has no header: then a comment may stand anywhere. */
  #isOfUrls = false;
  #readRow: RowReader | undefined;

  constructor(private readonly ignored: ReadonlySet<string>) {}

  read(line: Line, rows: ManifestRow[]): void {
    if (this.#records === undefined) {
      if (line.problem !== undefined) rows.push({ line: line.number, problem: line.problem });
      else if (isCommentedHeader(line.text)) this.#commentedHeader ??= line.number;
      else if (tells(line.text)) this.#records = this.#begin(line.text);
    } else if (this.#isOfUrls && line.text.startsWith('#')) return;
    const record = this.#records?.push(line);
    if (record !== undefined) this.#take(record, rows);
  }

  end(rows: ManifestRow[]): void {
    const record = this.#records?.end();
    if (record !== undefined) this.#take(record, rows);
  }

  /** Where the records begin; `undefined` when this line only names what stands between the fields. */
  #begin(text: string): CsvRecords | undefined {
    const { kind, delimiter } = dialectOf(text);
    if (kind === 'separator') {
      this.#separator = delimiter;
      return undefined;
    }
    this.#hasHeader = kind === 'header';
    this.#isOfUrls = !this.#hasHeader;
    return new CsvRecords(this.#separator ?? delimiter);
  }

  #take(record: CsvRecord, rows: ManifestRow[]): void {
    if ('problem' in record) {
      const { line, problem, isLost = false } = record;
      rows.push({ line, problem });
      // What follows may be the inside of its quotes: each line of that would be a problem of its own.
      this.isUnusable = isLost;
      return;
    }
    const { line, fields } = record;
    if (fields.every((field) => field.trim() === '')) return;
    this.#readRow ??= this.#firstReader(line, fields, rows);
    const row = this.#hasHeader ? undefined : this.#readRow?.(line, fields);
    this.#hasHeader = false;
    if (row !== undefined) rows.push(row);
  }

  #firstReader(line: number, fields: string[], rows: ManifestRow[]): RowReader | undefined {
    if (!this.#hasHeader) {
      if (this.#commentedHeader !== undefined) return this.#refuse(this.#commentedHeader, COMMENTED_HEADER, rows);
      if (fields.some((field) => field.includes('://'))) return this.#separator === undefined ? readUnseparated : readUrlAndFileName;
      return this.#refuse(line, 'the first line is neither a header with a url column nor a URL: add the header', rows);
    }
    const header = readHeader(fields, this.ignored);
    if (header.kind === 'unusable') return this.#refuse(line, header.reason, rows);
    const isAlone = header.columns.length === 1 && this.#separator === undefined;
    return (at, values) => (isAlone ? inDoubt(at, values) : undefined) ?? readFields(header.columns, values, at);
  }

  #refuse(line: number, problem: string, rows: ManifestRow[]): undefined {
    this.isUnusable = true;
    rows.push({ line, problem });
  }
}

function readUnseparated(line: number, fields: string[]): ManifestRow {
  return inDoubt(line, fields) ?? readUrlAndFileName(line, fields);
}

/** Where neither a header of several columns nor `sep=` tells what separates, a comma does: a line that has another delimiter instead is in doubt. */
function inDoubt(line: number, fields: string[]): ManifestRow | undefined {
  const isOther = ([delimiter]: [string, string]) => delimiter !== ',' && fields[0]?.includes(delimiter);
  const other = fields.length === 1 ? Object.entries(DELIMITERS).find(isOther) : undefined;
  if (other === undefined) return undefined;
  const [delimiter, name] = other;
  return {
    line,
    problem: `the line has a ${name} and no comma: write sep=${delimiter} or sep=, into the first line, to tell what separates`,
  };
}

function readUrlAndFileName(line: number, fields: string[]): ManifestRow {
  const [url = '', fileName = '', ...more] = fields.map((field) => field.trim());
  if (more.some((field) => field !== ''))
    return { line, problem: `the line has ${counted(fields.length, 'field')}, not URL,FILENAME: quote a field that contains a comma` };
  return { line, entry: { url, key: fileName === '' ? undefined : fileName } };
}

function readFields(columns: readonly (Column | undefined)[], fields: string[], line: number): ManifestRow {
  if (fields.length < columns.length || fields.slice(columns.length).some((field) => field.trim() !== ''))
    return {
      line,
      problem: `the line has ${counted(fields.length, 'field')}, the header ${columns.length}: quote a field that contains a separator`,
    };
  const entry: ManifestEntry = { url: '' };
  for (const [index, column] of columns.entries()) {
    const text = fields[index]?.trim() ?? '';
    const problem = text === '' || column === undefined ? undefined : setField(entry, column, text);
    if (problem !== undefined) return { line, problem };
  }
  return { line, entry };
}

function setField(entry: ManifestEntry, column: Column, text: string): string | undefined {
  if (column === 'url' || column === 'key') entry[column] = text;
  else if (column === 'size') return setSize(entry, text);
  else return setChecksum(entry, column, text);
  return undefined;
}

function setSize(entry: ManifestEntry, text: string): string | undefined {
  const size = parseSize(text);
  if (size === 'invalid') return 'size is no whole number of bytes: give one, or leave it empty';
  entry.size = size;
  return undefined;
}

function setChecksum(entry: ManifestEntry, column: Exclude<Column, 'url' | 'key' | 'size'>, value: string): string | undefined {
  if (entry.checksum !== undefined)
    return `${entry.checksum?.algorithm ?? 'checksum'} and ${column} are both given: give one checksum a file`;
  entry.checksum = column === 'checksum' ? { value } : { algorithm: column, value };
  return undefined;
}
