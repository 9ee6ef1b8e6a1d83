import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Digest } from './sink-store.js';

/**
 * Digests of a body as it passes: CRC-32 always, to compare with what the origin has. MD5 only for a body that is an object of its own and
 * came without Content-MD5: rclone compares it with the ETag. A given one is believed, and a part without has its CRC in place of it,
 * so that the sink costs the same whoever sends.
 */
export class BodyDigest {
  private sizeBytes = 0;
  private crc = 0;
  private readonly hash: Hash | undefined;

  private readonly kept: Buffer[] | undefined;

  constructor(
    private readonly contentMd5: string | undefined,
    { isPart, keep }: { isPart: boolean; keep: boolean },
  ) {
    if (keep) this.kept = [];
    if (contentMd5 === undefined && !isPart) this.hash = createHash('md5');
  }

  update(piece: Buffer): void {
    this.sizeBytes += piece.length;
    this.crc = crc32(piece, this.crc);
    this.hash?.update(piece);
    this.kept?.push(Buffer.from(piece));
  }

  digest(): Digest {
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(this.crc);
    return {
      sizeBytes: this.sizeBytes,
      crc32: crc,
      md5: this.md5(crc),
      ...(this.kept !== undefined && { bytes: Buffer.concat(this.kept) }),
    };
  }

  private md5(crc: Buffer): Buffer {
    if (this.contentMd5 !== undefined) return Buffer.from(this.contentMd5, 'base64');
    return this.hash?.digest() ?? Buffer.concat([crc, crc, crc, crc]);
  }
}
