import { CHECKSUM_ALGORITHMS, parseChecksum, type Checksum, type ChecksumAlgorithm } from '../../shared/index.js';

/** A checksum as its sender wrote it. */
export interface GivenChecksum {
  /** `SHA-256` is sha256. May be absent when the value names it. */
  algorithm?: string | null | undefined;
  /** Hex, base64 or base64url; also `sha256:…`, or SRI's `sha256-…`. */
  value: string;
}

export type ReadChecksum = { kind: 'checksum'; checksum: Checksum } | { kind: 'problem'; field: string; reason: string };

const PREFIXED = /^\s*["']?(md-?5|sha-?(?:1|256|384|512)|crc-?32c?|crc-?64-?nvme)\s*[:=-]\s*(.+)$/is;

export function readChecksum({ algorithm, value }: GivenChecksum): ReadChecksum {
  const [, prefix, prefixed = value] = PREFIXED.exec(value) ?? [];
  const given = algorithm ?? prefix;
  if (given === undefined) return problem('checksum.algorithm', 'is missing: add it, or write it before the value (sha256:…)');
  const named = algorithmOf(given);
  if (named === undefined) return problem('checksum.algorithm', `must be one of ${CHECKSUM_ALGORITHMS.join(', ')}`);
  // A value that is right as it stands is not taken apart: the base64 of a digest may begin like a prefix.
  const bare = parseChecksum(named, value);
  if (bare.ok || prefix === undefined) return bare.ok ? found(named, bare.value) : problem('checksum', bare.reason);
  if (algorithmOf(prefix) !== named)
    return problem('checksum', `is one of ${prefix} by its value, and not of ${named}: correct one of them`);
  const parsed = parseChecksum(named, prefixed.replace(/["']\s*$/, ''));
  return parsed.ok ? found(named, parsed.value) : problem('checksum', parsed.reason);
}

/** `SHA-256`, `Sha256` and `CRC64-NVME` as we name them. */
export function algorithmOf(name: string): ChecksumAlgorithm | undefined {
  const plain = name.replaceAll(/[-_\s]/g, '').toLowerCase();
  return CHECKSUM_ALGORITHMS.find((algorithm) => algorithm === plain);
}

function found(algorithm: ChecksumAlgorithm, value: string): ReadChecksum {
  return { kind: 'checksum', checksum: { algorithm, value } };
}

function problem(field: string, reason: string): ReadChecksum {
  return { kind: 'problem', field, reason };
}
