export const CHECKSUM_ALGORITHMS = ['md5', 'sha1', 'sha256', 'sha512', 'crc32', 'crc32c', 'crc64nvme'] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

/** The checksum a source promises; `value` is lower-case hex. */
export interface Checksum {
  algorithm: ChecksumAlgorithm;
  value: string;
}

export type ParsedChecksum = { ok: true; value: string } | { ok: false; reason: string };

const DIGEST_BYTES: Record<ChecksumAlgorithm, number> = { md5: 16, sha1: 20, sha256: 32, sha512: 64, crc32: 4, crc32c: 4, crc64nvme: 8 };

/** Hex (any case), base64 or base64url (padded or not), quotes around it tolerated, to lower-case hex. */
export function parseChecksum(algorithm: ChecksumAlgorithm, text: string): ParsedChecksum {
  const bare = text.trim().replace(/^(["'])(.*)\1$/, '$2');
  const bytes = DIGEST_BYTES[algorithm];
  if (bare.length === bytes * 2 && /^[0-9a-f]+$/i.test(bare)) return { ok: true, value: bare.toLowerCase() };
  const digits = bare.replace(/={1,2}$/, '');
  const whole = digits.length === bare.length || bare.length % 4 === 0;
  if (whole && digits.length === Math.ceil((bytes * 4) / 3) && /^(?:[A-Za-z0-9+/]+|[A-Za-z0-9_-]+)$/.test(digits))
    return { ok: true, value: hexOfBase64(digits) };
  if (algorithm === 'md5' && /^[0-9a-f]{32}-\d+$/i.test(bare))
    return { ok: false, reason: 'is the ETag of a multipart upload, which is no md5: leave it out' };
  return { ok: false, reason: `is no ${algorithm}: give ${bytes * 2} hex digits, or the base64 of ${bytes} bytes` };
}

function hexOfBase64(digits: string): string {
  const binary = atob(digits.replaceAll('-', '+').replaceAll('_', '/'));
  return Array.from(binary, (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}
