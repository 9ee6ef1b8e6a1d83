import { Transform, type TransformCallback } from 'node:stream';
import { s3Error, type S3Error } from '../errors.js';

const MIN_CHUNK_BYTES = 8_192;
const MAX_LINE_BYTES = 4_096;

/**
 * Decodes `aws-chunked`: `<hex size>[;chunk-signature=…]␍␊<data>␍␊ … 0[;chunk-signature=…]␍␊[<trailer>:<value>␍␊ …]␍␊`.
 * size → data → data-end → size … → (size 0) trailers → done.
 * A malformed body does not break the stream but leaves its error in `problem` and the rest is read and thrown away:
 * destroying a request destroys its connection, and then nobody could be told.
 */
export class AwsChunkedDecoder extends Transform {
  readonly trailers = new Map<string, string>();
  private state: 'size' | 'data' | 'data-end' | 'trailers' | 'done' = 'size';
  private line = '';
  private chunkBytes = MIN_CHUNK_BYTES;
  private leftBytes = 0;
  private firstProblem: S3Error | undefined;

  /** What was wrong with the body, once it has ended. */
  get problem(): S3Error | undefined {
    return this.firstProblem ?? (this.state === 'done' ? undefined : s3Error('IncompleteBody'));
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let offset = 0;
    while (offset < chunk.length && this.firstProblem === undefined) {
      offset = this.state === 'data' ? this.takeData(chunk, offset) : this.takeLine(chunk, offset);
    }
    done();
  }

  private takeData(chunk: Buffer, offset: number): number {
    const end = Math.min(chunk.length, offset + this.leftBytes);
    this.push(chunk.subarray(offset, end));
    this.leftBytes -= end - offset;
    if (this.leftBytes === 0) this.state = 'data-end';
    return end;
  }

  private takeLine(chunk: Buffer, offset: number): number {
    const newline = chunk.indexOf('\n', offset);
    const end = newline < 0 ? chunk.length : newline + 1;
    this.line += chunk.toString('latin1', offset, end);
    if (this.line.length > MAX_LINE_BYTES) this.firstProblem = s3Error('IncompleteBody');
    if (newline >= 0) {
      const line = this.line.replace(/\r?\n$/, '');
      this.line = '';
      this.firstProblem = this.readLine(line);
    }
    return end;
  }

  private readLine(line: string): S3Error | undefined {
    switch (this.state) {
      case 'size':
        return this.readSize(line);
      case 'data-end':
        this.state = 'size';
        return line === '' ? undefined : s3Error('IncompleteBody');
      case 'trailers':
        return this.readTrailer(line);
      default:
        return s3Error('IncompleteBody', 'The body goes on after its last chunk');
    }
  }

  private readSize(line: string): S3Error | undefined {
    const size = /^([0-9a-f]{1,12})(;.*)?$/i.exec(line)?.[1];
    if (size === undefined) return s3Error('IncompleteBody', 'The body is not well-formed aws-chunked');
    this.leftBytes = Number.parseInt(size, 16);
    if (this.leftBytes === 0) {
      this.state = 'trailers';
      return undefined;
    }
    if (this.chunkBytes < MIN_CHUNK_BYTES) return s3Error('InvalidChunkSizeError', undefined, { BadChunkSize: this.chunkBytes });
    this.chunkBytes = this.leftBytes;
    this.state = 'data';
    return undefined;
  }

  private readTrailer(line: string): S3Error | undefined {
    if (line === '') {
      this.state = 'done';
      return undefined;
    }
    const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) return s3Error('MalformedTrailerError');
    this.trailers.set(name.toLowerCase(), value.trim());
    return undefined;
  }
}
