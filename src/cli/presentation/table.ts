import { beginOf, endOf, padded, printable, widthOf, withoutMiddle } from './terminal-text.js';
import { wrapped } from './wrapped.js';

export interface Column {
  title: string;
  /** Numbers stand right. */
  align?: 'right';
  /** Left out where the table must fit a width. */
  wideOnly?: true;
  /** What may be left out of the cells where there is no room: the end of an id, whose beginning names it, too; the start of a name. */
  shorten?: 'end' | 'start';
}

const GAP = 2;
/** Fewer characters of an id tell people nothing. */
const SHORTEST = 8;
const RANDOM_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Columns as wide as their widest cell, two spaces apart.
 * @param width in columns of a terminal, which the lines keep to as far as columns can be left out and cells shortened; default: any
 */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], width = Infinity): string {
  const shown = columns.flatMap((column, index) =>
    column.wideOnly && width !== Infinity ? [] : [{ ...column, cells: rows.map((row) => printable(row[index] ?? '')) }],
  );
  let excess = shown.reduce((sum, column) => sum + columnWidth(column) + GAP, -GAP) - width;
  for (const how of ['start', 'end'] as const)
    for (const column of shown) {
      const before = columnWidth(column);
      const target = Math.max(column.title.length, SHORTEST, before - excess);
      if (column.shorten !== how || excess <= 0 || target >= before) continue;
      column.cells = shortened(column.cells, target, how);
      excess -= before - columnWidth(column);
    }
  const line = (cellOf: (column: (typeof shown)[number]) => string) =>
    `${shown
      .map((column) => padded(cellOf(column), columnWidth(column), column.align))
      .join(' '.repeat(GAP))
      .trimEnd()}\n`;
  return line(({ title }) => title) + rows.map((_row, index) => line(({ cells }) => cells[index] ?? '')).join('');
}

function columnWidth({ title, cells }: { title: string; cells: readonly string[] }): number {
  return Math.max(title.length, ...cells.map(widthOf));
}

/** An id is cut where what is left still names it alone among those of its column; else its middle is left out. */
function shortened(cells: readonly string[], width: number, how: 'end' | 'start'): string[] {
  if (how === 'start') return cells.map((cell) => (widthOf(cell) <= width ? cell : `…${endOf(cell, width - 1)}`));
  const distinct = new Set(cells);
  for (let length = SHORTEST; length <= width; length++) {
    // A random id says nothing beyond what makes it unique; a name says more the longer it is.
    const begin = (cell: string) => beginOf(cell, RANDOM_ID.test(cell) ? length : width);
    if (new Set(Array.from(distinct, begin)).size === distinct.size) return cells.map(begin);
  }
  return cells.map((cell) => withoutMiddle(cell, width));
}

/**
 * Names and values, one pair a line, further lines of a value below its first; a pair without a value is left out.
 * @param width where values are wrapped; default: nowhere
 */
export function facts(pairs: readonly (readonly [name: string, value: string | undefined])[], width = Infinity): string {
  const indent = Math.max(...pairs.map(([name]) => name.length)) + GAP;
  const below = `\n${' '.repeat(indent)}`;
  const lines = (value: string) =>
    value
      .trimEnd()
      .split(/\r?\n|\r/)
      .map((line) => wrapped(printable(line), width - indent).replaceAll('\n', below))
      .join(below);
  return pairs.map(([name, value]) => (value === undefined ? '' : `${name.padEnd(indent)}${lines(value)}\n`)).join('');
}
