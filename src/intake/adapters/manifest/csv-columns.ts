import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm } from '../../../shared/index.js';
import { algorithmOf } from '../../domain/given-checksum.js';
import { plainName, shortened } from './column-names.js';

export type Column = 'url' | 'key' | 'size' | 'checksum' | ChecksumAlgorithm;

const COLUMNS = ['url', 'key', 'size', 'checksum', ...CHECKSUM_ALGORITHMS] as const;

/** Our columns by other names that people give them. */
const OTHER_NAMES = new Map<string, Column>([
  ['urls', 'url'],
  ['link', 'url'],
  ['links', 'url'],
  ['filename', 'key'],
]);

/** `undefined` for a column that is not ours. `SHA-256`, `File name` and `LINK` are. */
export function columnOf(name: string): Column | undefined {
  const plain = plainName(name);
  return COLUMNS.find((column) => column === plain) ?? OTHER_NAMES.get(plain) ?? algorithmOf(plain);
}

export type Header =
  /** `undefined` for a column that is left unread. */
  { kind: 'usable'; columns: readonly (Column | undefined)[] } | { kind: 'unusable'; reason: string };

/** @param ignored plain names */
export function readHeader(names: readonly string[], ignored: ReadonlySet<string>): Header {
  const named = names.slice(0, names.findLastIndex((name) => name.trim() !== '') + 1);
  const titles = named.map((name, index) => name.trim() || `column ${index + 1}`);
  const columns = titles.map((title) => (ignored.has(plainName(title)) ? undefined : columnOf(title)));
  const strange = titles.filter((title, index) => columns[index] === undefined && !ignored.has(plainName(title)));
  if (strange.length > 0) return { kind: 'unusable', reason: strangeColumns(strange) };
  const twice = columns.find((column, index) => column !== undefined && columns.indexOf(column) < index);
  if (twice !== undefined) {
    const both = titles.filter((_title, index) => columns[index] === twice).map(shortened);
    return {
      kind: 'unusable',
      reason: `the header has more than one ${twice} column (${both.join(', ')}): remove one, or name it in ignoreColumns (--ignore-columns)`,
    };
  }
  if (!columns.includes('url')) return { kind: 'unusable', reason: 'the header has no url column: add it' };
  return { kind: 'usable', columns };
}

function strangeColumns(titles: readonly string[]): string {
  const names = titles.map(shortened);
  return (
    `the header has columns that are not ours (${names.join(', ')}): correct them if they are misspelt (ours are ${COLUMNS.join(', ')}), ` +
    `else take the list with them: ${takingOf(titles, names)}`
  );
}

/** What the command's option reads as JSON, because commas between them would not tell where names end. */
const NEEDS_JSON = /^\s*\[|,|"|\p{C}/u;

/** As it can be pasted, into a message and into a shell. */
function takingOf(titles: readonly string[], shown: readonly string[]): string {
  if (shown.some((name, index) => name !== titles[index])) return 'ignoreColumns, or --ignore-columns, with their whole names';
  const json = JSON.stringify(shown);
  const option = shown.some((name) => NEEDS_JSON.test(name)) ? json : shown.join(',');
  return `ignoreColumns ${json}, or --ignore-columns '${option.replaceAll("'", "'\\''")}'`;
}
