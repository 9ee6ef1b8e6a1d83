import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;

/**
 * SHA-256 and, with a secret, HMAC-SHA-256 (RFC 2104) of the few hundred bytes that a signature is made of. Hash objects, and keys above
 * all, cost ten times as much as hashing so little at once.
 */
export class SigningHash {
  private readonly key: Buffer | undefined;
  private pieces: Uint8Array[] = [];

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    if (secret !== undefined) this.key = keyBlock(bytesOf(secret));
  }

  update(bytes: Uint8Array): void {
    this.pieces.push(bytes);
  }

  async digest(): Promise<Uint8Array> {
    if (this.key === undefined) return sha256(this.pieces);
    return sha256([padded(this.key, 0x5c), sha256([padded(this.key, 0x36), ...this.pieces])]);
  }

  reset(): void {
    this.pieces = [];
  }
}

function sha256(pieces: readonly Uint8Array[]): Buffer {
  const [only] = pieces;
  return hash('sha256', pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces), 'buffer');
}

function keyBlock(secret: Buffer): Buffer {
  return Buffer.concat([secret.length > BLOCK_BYTES ? sha256([secret]) : secret], BLOCK_BYTES);
}

function padded(key: Buffer, pad: number): Buffer {
  return key.map((byte) => byte ^ pad) as Buffer;
}

function bytesOf(secret: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof secret === 'string') return Buffer.from(secret);
  return ArrayBuffer.isView(secret) ? Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength) : Buffer.from(secret);
}
