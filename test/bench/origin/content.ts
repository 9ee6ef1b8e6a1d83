import { createCipheriv, createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { joinCrcs } from '../../../infra/local-aws/s3/body/crc.js';

const BLOCK_BYTES = 1024 * 1024;
/** Odd, so that files of one size begin everywhere in the block and no two of 10,000 are alike. */
const STEP = 101;

/** The same on every machine, and no pattern that anything could compress. */
const BLOCK = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(BLOCK_BYTES));

/** One file of the origin: endless repetition of the block, from a place that the variant tells, cut at `sizeBytes`. */
export interface Content {
  sizeBytes: number;
  variant: number;
}

/** The pieces of a file; they are slices of one block, not to be written to. */
export function* piecesOf({ sizeBytes, variant }: Content): Generator<Buffer, void, void> {
  let start = (variant * STEP) % BLOCK_BYTES;
  for (let left = sizeBytes; left > 0;) {
    const piece = BLOCK.subarray(start, Math.min(BLOCK_BYTES, start + left));
    yield piece;
    left -= piece.length;
    start = 0;
  }
}

/** Hexadecimal. */
export function sha256Of(content: Content): string {
  const hash = createHash('sha256');
  for (const piece of piecesOf(content)) hash.update(piece);
  return hash.digest('hex');
}

/** Hexadecimal; from the CRCs of few pieces, as most of them are the whole block. */
export function crc32Of(content: Content): string {
  const parts = Array.from(piecesOf(content), (piece) => ({
    crc: piece.length === BLOCK_BYTES ? blockCrc : crcOf(piece),
    size: piece.length,
  }));
  return joinCrcs('CRC32', parts).toString('hex');
}

function crcOf(piece: Buffer): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(piece));
  return bytes;
}

const blockCrc = crcOf(BLOCK);

/** Where the origin has it: the path says it all, so that the origin needs no list of files. */
export function pathOf({ sizeBytes, variant }: { sizeBytes: number; variant: number | string }): string {
  return `/${sizeBytes}/${variant}`;
}

export function contentAt(path: string): Content | undefined {
  const [, sizeBytes, variant] = /^\/(\d+)\/(\d+)$/.exec(path) ?? [];
  return variant === undefined ? undefined : { sizeBytes: Number(sizeBytes), variant: Number(variant) };
}

export function etagOf({ sizeBytes, variant }: Content): string {
  return `"${sizeBytes}-${variant}"`;
}
