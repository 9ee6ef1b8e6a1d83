import { randomUUID } from 'node:crypto';
import { closeSync, createReadStream, createWriteStream, mkdirSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { BodyClaims } from '../body/claims.js';
import { receiveBody, type BodyDigests } from '../body/receive.js';
import type { Piece } from './model.js';

/** First and last byte, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ReceivedBody extends BodyDigests {
  piece: Piece;
  /** Hex. */
  md5: string;
}

/** Files with the bytes of objects and parts, one per body received. Only sidecars give them a meaning. */
export class BodyFiles {
  private readonly readers = new Map<string, number>();
  private readonly doomed = new Set<string>();

  constructor(private readonly folder: string) {
    mkdirSync(folder, { recursive: true });
  }

  /** Removes what a crash left behind: files that no object and no part has. */
  sweep(used: ReadonlySet<string>): void {
    for (const file of readdirSync(this.folder)) {
      if (!used.has(file)) rmSync(join(this.folder, file));
    }
  }

  /** Leaves no file when it throws. @throws as receiveBody */
  async receive(source: Readable, claims: BodyClaims): Promise<ReceivedBody> {
    const file = randomUUID();
    const piece = { file, size: claims.size };
    const sink = createWriteStream(join(this.folder, file), { flags: 'wx' });
    try {
      return { piece, md5: '', ...(await receiveBody(source, claims, sink, 'entity')) };
    } catch (error) {
      // The file may still be about to be opened, and would come into being after its removal.
      if (!sink.closed) await once(sink, 'close');
      await rm(join(this.folder, file), { force: true });
      throw error;
    }
  }

  /** The bytes of an object; its files stay until the stream has closed, also when the object is replaced meanwhile. */
  read(pieces: readonly Piece[], range: ByteRange): Readable {
    const slices = slice(pieces, range);
    const open = ({ file, start, end }: Slice): Readable => createReadStream(join(this.folder, file), { start, end });
    const [only] = slices;
    const stream = slices.length === 1 && only ? open(only) : Readable.from(concatenate(slices, open), { objectMode: false });
    for (const { file } of slices) this.readers.set(file, (this.readers.get(file) ?? 0) + 1);
    return stream.once('close', () => slices.forEach(({ file }) => this.release(file)));
  }

  drop(pieces: Iterable<Piece>): void {
    for (const { file } of pieces) {
      if (this.readers.has(file)) this.doomed.add(file);
      else this.remove(file);
    }
  }

  /** Damages a stored body, for the fault of that name. */
  flipByte({ file, size }: Piece): void {
    if (size === 0) return;
    const position = Math.floor(size / 2);
    const byte = Buffer.alloc(1);
    const handle = openSync(join(this.folder, file), 'r+');
    readSync(handle, byte, 0, 1, position);
    writeSync(handle, Buffer.of(byte.readUInt8() ^ 1), 0, 1, position);
    closeSync(handle);
  }

  private release(file: string): void {
    const left = (this.readers.get(file) ?? 1) - 1;
    if (left > 0) {
      this.readers.set(file, left);
      return;
    }
    this.readers.delete(file);
    if (this.doomed.delete(file)) this.remove(file);
  }

  private remove(file: string): void {
    rmSync(join(this.folder, file), { force: true });
  }
}

interface Slice extends ByteRange {
  file: string;
}

/** The parts of the pieces that lie in the range. */
function slice(pieces: readonly Piece[], { start, end }: ByteRange): Slice[] {
  const slices: Slice[] = [];
  let offset = 0;
  for (const { file, size } of pieces) {
    const from = Math.max(start - offset, 0);
    const to = Math.min(end - offset, size - 1);
    if (from <= to) slices.push({ file, start: from, end: to });
    offset += size;
  }
  return slices;
}

async function* concatenate(slices: readonly Slice[], open: (slice: Slice) => Readable): AsyncGenerator<Buffer> {
  for (const slice of slices) yield* open(slice) as AsyncIterable<Buffer>;
}
