import { isUtf8 } from 'node:buffer';

export const MAX_LINE_BYTES = 65_536;

/** One line without its end; `problem` when it cannot be used, its text is then empty. */
export interface Line {
  number: number;
  text: string;
  problem?: string;
}

/** Splits at LF or CRLF, a chunk's lines at a time. No line, however long, is held beyond the limit. */
export async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  const splitter = new LineSplitter();
  for await (const chunk of bytes) yield splitter.push(chunk);
  yield splitter.end();
}

const LF = 0x0a;
const CR = 0x0d;

class LineSplitter {
  #number = 0;
  #parts: Buffer[] = [];
  #bytes = 0;

  push(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, at));
      lines.push(this.#finish());
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  end(): Line[] {
    return this.#bytes === 0 ? [] : [this.#finish()];
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > MAX_LINE_BYTES + 1) this.#parts = [];
    else this.#parts.push(part);
  }

  #finish(): Line {
    const number = ++this.#number;
    const [first, second] = this.#parts;
    const whole = first !== undefined && second === undefined ? first : Buffer.concat(this.#parts);
    const line = whole.at(-1) === CR ? whole.subarray(0, -1) : whole;
    const tooLong = line.length > MAX_LINE_BYTES || this.#bytes > MAX_LINE_BYTES + 1;
    this.#parts = [];
    this.#bytes = 0;
    if (tooLong) return { number, text: '', problem: `the line is over ${MAX_LINE_BYTES} bytes: shorten it` };
    if (!isUtf8(line)) return { number, text: '', problem: 'the line is not UTF-8: save the manifest as UTF-8' };
    return { number, text: line.toString('utf8') };
  }
}
