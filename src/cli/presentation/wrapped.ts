import type { ProgressOutput } from './status-line.js';
import { printableLines, widthOf } from './terminal-text.js';

/** Of a text that is wrapped; a command of ours is one. */
const WORDS = /npx export-worker [a-z]+(?: \S+)?|\S+/g;

/**
 * Breaks lines at their blanks, so that none is longer than the width; further lines are indented as their first. A word is never cut: it
 * may be an address or an id, to be copied; nor is a command of ours cut.
 */
export function wrapped(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => (widthOf(line) <= width ? line : wrappedLine(line, width)))
    .join('\n');
}

function wrappedLine(line: string, width: number): string {
  const [indent = ''] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  let current = indent;
  for (const word of line.match(WORDS) ?? []) {
    const longer = current.trim() === '' ? indent + word : `${current} ${word}`;
    if (widthOf(longer) > width && current.trim() !== '') {
      lines.push(current);
      current = indent + word;
    } else current = longer;
  }
  return [...lines, current].join('\n');
}

/** Wrapped on a terminal only: programs read a message as one line. */
export function sentence(text: string, { isTty, columns }: Pick<ProgressOutput, 'isTty' | 'columns'>): string {
  return isTty ? wrapped(printableLines(text), columns) : printableLines(text);
}
