const LF = 0x0a;
const CR = 0x0d;

/**
 * The lines of a text without their ends, a chunk's lines at a time. Only LF and CRLF end a line: `JSON.stringify` leaves U+2028 and U+2029
 * in strings as they are, and `node:readline` would break a line there.
 * @param maxBytes of a line: no more is held of a longer one, which comes cut and is still longer than this
 */
export async function* splitLines(chunks: AsyncIterable<Buffer>, maxBytes = Infinity): AsyncGenerator<Buffer[]> {
  const splitter = new LineSplitter(maxBytes);
  for await (const chunk of chunks) yield splitter.push(chunk);
  yield splitter.end();
}

/** The lines of our own files, blank ones left out. */
export async function* textLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const lines of splitLines(chunks)) for (const line of lines) if (line.length > 0) yield line.toString('utf8');
}

class LineSplitter {
  #parts: Buffer[] = [];
  #bytes = 0;
  readonly #heldBytes: number;

  constructor(maxBytes: number) {
    // One byte shows that the line is too long, the other one may be a CR.
    this.#heldBytes = maxBytes + 2;
  }

  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = [];
    let from = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, at));
      lines.push(this.#finish());
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  end(): Buffer[] {
    return this.#bytes === 0 ? [] : [this.#finish()];
  }

  #keep(part: Buffer): void {
    const held = part.subarray(0, this.#heldBytes - this.#bytes);
    if (held.length === 0) return;
    this.#parts.push(held);
    this.#bytes += held.length;
  }

  #finish(): Buffer {
    const [first, second] = this.#parts;
    const line = first !== undefined && second === undefined ? first : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return line.at(-1) === CR ? line.subarray(0, -1) : line;
  }
}
