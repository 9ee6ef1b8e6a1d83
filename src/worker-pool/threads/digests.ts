import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { TransferError } from '../domain/transfer-error.js';
import type { Checksum, ChecksumAlgorithm } from '../../shared/index.js';
import { Crc32c, Crc64Nvme, hex32 } from './crc.js';

interface Digest {
  update(bytes: Uint8Array): void;
  hex(): string;
}

const DIGESTS: Readonly<Record<ChecksumAlgorithm, () => Digest>> = {
  md5: () => cryptoDigest('md5'),
  sha1: () => cryptoDigest('sha1'),
  sha256: () => cryptoDigest('sha256'),
  sha512: () => cryptoDigest('sha512'),
  crc32: () => {
    let value = 0;
    return { update: (bytes) => void (value = crc32(bytes, value)), hex: () => hex32(value) };
  },
  crc32c: () => new Crc32c(),
  crc64nvme: () => new Crc64Nvme(),
};

function cryptoDigest(algorithm: string): Digest {
  const hash = createHash(algorithm);
  return { update: (bytes) => void hash.update(bytes), hex: () => hash.digest('hex') };
}

/** The digests of one body: sha256 always, and the promised checksum. */
export class Digests {
  private readonly sha256 = DIGESTS.sha256();
  private readonly promised: Digest | undefined;

  constructor(private readonly checksum: Checksum | undefined) {
    if (checksum !== undefined) this.promised = checksum.algorithm === 'sha256' ? this.sha256 : DIGESTS[checksum.algorithm]();
  }

  update(bytes: Uint8Array): void {
    this.sha256.update(bytes);
    if (this.promised !== this.sha256) this.promised?.update(bytes);
  }

  /**
   * The verdict after the last byte.
   * @throws TransferError `CHECKSUM_MISMATCH`, retryable: how often is for the dispatcher to say
   */
  verify(): { sha256: string } {
    const sha256 = this.sha256.hex();
    const actual = this.promised === this.sha256 ? sha256 : this.promised?.hex();
    if (actual !== this.checksum?.value) throw checksumMismatch(this.checksum, actual);
    return { sha256 };
  }
}

export function checksumMismatch(expected: Checksum | undefined, actual: string | undefined): TransferError {
  return new TransferError('CHECKSUM_MISMATCH', `${expected?.algorithm} is ${actual}, not ${expected?.value}`, { retryable: true });
}

/** CRC-32 as S3 writes it: base64 of four bytes, most significant first. */
export function crc32Base64(crc32Hex: string): string {
  return Buffer.from(crc32Hex, 'hex').toString('base64');
}
