import type { Delimiter } from './csv-dialect.js';
import { MAX_LINE_BYTES, type Line } from './manifest-lines.js';

/** One record; `line` is the one it begins on. `isLost`: where the next one begins cannot be told. */
export type CsvRecord = { line: number; fields: string[] } | { line: number; problem: string; isLost?: true };

const QUOTES = 'the quotes do not match: quote a whole field, and double the quotes inside it';

/** A record that is being read; `quoted` are the pieces of a field whose quotes have not been closed yet. */
interface OpenRecord {
  line: number;
  fields: string[];
  quoted?: string[] | undefined;
  length: number;
}

/**
 * Records of CSV (RFC 4180) out of its lines, as they come: only a quoted field goes on over the end of a line. They are read by hand
 * because a record must tell on which line it begins, and because a broken one must be told once and not take the next ones with it.
 */
export class CsvRecords {
  #open: OpenRecord | undefined;

  constructor(private readonly delimiter: Delimiter) {}

  /** The record that ends on this line; `undefined` when it goes on. */
  push({ number, text, problem }: Line): CsvRecord | undefined {
    const record = this.#open ?? { line: number, fields: [], length: 0 };
    this.#open = undefined;
    if (problem !== undefined) return { line: number, problem };
    record.length += text.length;
    switch (this.#readFields(record, text)) {
      case 'whole':
        return { line: record.line, fields: record.fields };
      case 'broken':
        return { line: record.line, problem: QUOTES };
      case 'open':
        if (record.length > MAX_LINE_BYTES)
          return {
            line: record.line,
            problem: `the record is over ${MAX_LINE_BYTES} characters: close its quotes, or shorten it`,
            isLost: true,
          };
        this.#open = record;
        return undefined;
    }
  }

  /** What is left after the last line. */
  end(): CsvRecord | undefined {
    return this.#open === undefined ? undefined : { line: this.#open.line, problem: QUOTES };
  }

  /** `open`: the quotes of its last field are · `broken`: something stands beside the quotes of a field. */
  #readFields(record: OpenRecord, text: string): 'whole' | 'open' | 'broken' {
    for (let at = 0; ;) {
      if (record.quoted === undefined && text[at] !== '"') {
        const end = text.indexOf(this.delimiter, at);
        const field = end === -1 ? text.slice(at) : text.slice(at, end);
        if (field.includes('"')) return 'broken';
        record.fields.push(field);
        if (end === -1) return 'whole';
        at = end + 1;
        continue;
      }
      if (record.quoted === undefined) at++;
      record.quoted ??= [];
      const end = closingQuote(text, at);
      record.quoted.push(end === -1 ? text.slice(at) : text.slice(at, end));
      if (end === -1) return 'open';
      record.fields.push(record.quoted.join('\n').replaceAll('""', '"'));
      record.quoted = undefined;
      if (end + 1 === text.length) return 'whole';
      if (text[end + 1] !== this.delimiter) return 'broken';
      at = end + 2;
    }
  }
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at;
  return -1;
}
