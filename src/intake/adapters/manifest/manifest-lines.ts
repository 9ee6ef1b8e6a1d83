import { isUtf8 } from 'node:buffer';
import { splitLines } from '../../../shared/index.js';

export const MAX_LINE_BYTES = 65_536;

/** One line without its end; `problem` when it cannot be used, its text is then empty. */
export interface Line {
  number: number;
  text: string;
  problem?: string;
}

/** A chunk's lines at a time. No line, however long, is held beyond the limit. */
export async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let number = 0;
  for await (const lines of splitLines(bytes, MAX_LINE_BYTES)) yield lines.map((line) => read(++number, line));
}

function read(number: number, line: Buffer): Line {
  if (line.length > MAX_LINE_BYTES) return { number, text: '', problem: `the line is over ${MAX_LINE_BYTES} bytes: shorten it` };
  if (!isUtf8(line)) return { number, text: '', problem: 'the line is not UTF-8: save the manifest as UTF-8' };
  if (line.includes(0)) return { number, text: '', problem: 'the line holds a NUL character: save the manifest as UTF-8' };
  return { number, text: line.toString('utf8') };
}
