import { createHash } from 'node:crypto';
import { joinCrcs, RunningCrc, type CrcAlgorithm } from './crc.js';

export const CHECKSUM_ALGORITHMS = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** COMPOSITE is a checksum of the parts' checksums; FULL_OBJECT is one of the bytes, whatever the parts. */
export const CHECKSUM_TYPES = ['COMPOSITE', 'FULL_OBJECT'] as const;
export type ChecksumType = (typeof CHECKSUM_TYPES)[number];

const DIGEST_BYTES: Record<ChecksumAlgorithm, number> = { CRC32: 4, CRC32C: 4, CRC64NVME: 8, SHA1: 20, SHA256: 32 };

export interface RunningHash {
  update(chunk: Uint8Array): void;
  digest(): Buffer;
}

export function isCrc(algorithm: ChecksumAlgorithm): algorithm is CrcAlgorithm {
  return algorithm.startsWith('CRC');
}

export function runningHash(algorithm: ChecksumAlgorithm): RunningHash {
  return isCrc(algorithm) ? new RunningCrc(algorithm) : createHash(algorithm.toLowerCase());
}

export function checksumHeader(algorithm: ChecksumAlgorithm): string {
  return `x-amz-checksum-${algorithm.toLowerCase()}`;
}

export function asChecksumAlgorithm(name: string): ChecksumAlgorithm | undefined {
  return CHECKSUM_ALGORITHMS.find((algorithm) => algorithm === name.toUpperCase());
}

/** Whether the text is base64 of as many bytes as the algorithm gives. */
export function isChecksumValue(algorithm: ChecksumAlgorithm, value: string): boolean {
  return isBase64Of(DIGEST_BYTES[algorithm], value);
}

export function isBase64Of(byteLength: number, value: string): boolean {
  const bytes = Buffer.from(value, 'base64');
  return bytes.length === byteLength && bytes.toString('base64') === value;
}

interface PartChecksum {
  /** Base64. */
  value: string;
  /** Bytes of the part. */
  size: number;
}

/** Base64 checksum of the whole object, from its parts'. Only CRCs can be joined. */
export function fullObjectChecksum(algorithm: CrcAlgorithm, parts: readonly PartChecksum[]): string {
  return joinCrcs(
    algorithm,
    parts.map(({ value, size }) => ({ crc: Buffer.from(value, 'base64'), size })),
  ).toString('base64');
}

/** `<base64>-<number of parts>` */
export function compositeChecksum(algorithm: ChecksumAlgorithm, parts: readonly PartChecksum[]): string {
  const hash = runningHash(algorithm);
  for (const { value } of parts) hash.update(Buffer.from(value, 'base64'));
  return `${hash.digest().toString('base64')}-${parts.length}`;
}
