import { columnOf } from './csv-columns.js';

export const DELIMITERS = { ',': 'comma', ';': 'semicolon', '\t': 'tab' } as const;
export type Delimiter = keyof typeof DELIMITERS;

/** What the first line of a CSV tells: `separator` is Excel's `sep=;`, which is no record; `none`: it is neither that nor a header. */
export interface Dialect {
  kind: 'separator' | 'header' | 'none';
  delimiter: Delimiter;
}

const SEPARATOR = /^"?sep=([,;\t])"?\s*$/i;

/** The problem of such a line, where the list has no other header, and its lines have several fields, or may have. */
export const COMMENTED_HEADER = 'the line is a comment, and reads like the header of the list: remove its #, or else the line';

/** A header of several columns, all of them ours, behind a `#`. */
export function isCommentedHeader(line: string): boolean {
  const [, text] = /^\s*#\s*(.*)$/.exec(line) ?? [];
  if (text === undefined) return false;
  const { kind, delimiter } = dialectOf(text);
  const names = text.split(delimiter);
  return kind === 'header' && names.length > 1 && names.every((name) => columnOf(name.replaceAll('"', '')) !== undefined);
}

/** A header is a line that has a column for the URL, whichever delimiter makes it so, and no URL. */
export function dialectOf(line: string): Dialect {
  if (line.includes('://')) return { kind: 'none', delimiter: ',' };
  const delimiters = Object.keys(DELIMITERS) as Delimiter[];
  const separator = delimiters.find((delimiter) => SEPARATOR.exec(line.trimStart())?.[1] === delimiter);
  if (separator !== undefined) return { kind: 'separator', delimiter: separator };
  const [most = ','] = delimiters.toSorted((a, b) => line.split(b).length - line.split(a).length);
  const hasUrl = (delimiter: Delimiter) => line.split(delimiter).some((name) => columnOf(name.replaceAll('"', '')) === 'url');
  const header = [most, ...delimiters].find(hasUrl);
  return header === undefined ? { kind: 'none', delimiter: ',' } : { kind: 'header', delimiter: header };
}
