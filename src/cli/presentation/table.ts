export interface Column {
  title: string;
  /** Numbers stand right. */
  align?: 'right';
}

/** Columns as wide as their widest cell, two spaces apart. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, index) => Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    columns
      .map(({ align }, index) => {
        const [cell = '', width = 0] = [cells[index], widths[index]];
        return align === 'right' ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [columns.map(({ title }) => title), ...rows].map((cells) => `${line(cells)}\n`).join('');
}

/** Names and values, one pair a line, further lines of a value below its first; a pair without a value is left out. */
export function facts(pairs: readonly (readonly [name: string, value: string | undefined])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  const indented = (value: string) => value.trimEnd().replaceAll(/\r?\n|\r/g, `\n${' '.repeat(width + 2)}`);
  return pairs.map(([name, value]) => (value === undefined ? '' : `${name.padEnd(width)}  ${indented(value)}\n`)).join('');
}
