import type { ChecksumAlgorithm } from './transfer-task.js';

const DIGEST_BYTES: Readonly<Record<ChecksumAlgorithm, number>> = {
  md5: 16,
  sha1: 20,
  sha256: 32,
  sha512: 64,
  crc32: 4,
  crc32c: 4,
  crc64nvme: 8,
};

export type ParsedChecksum = { ok: true; value: string } | { ok: false; reason: string };

/**
 * A checksum as people and tools write it (hex, base64 or base64url, any case of hex, with or without quotes and padding), as lower-case hex.
 * The forms of one digest differ in length, so that a value fits one at most.
 */
export function parseChecksum(algorithm: ChecksumAlgorithm, text: string): ParsedChecksum {
  const value = text.trim().replace(/^(["'])(.*)\1$/, '$2');
  const bytes = DIGEST_BYTES[algorithm];
  if (value.length === bytes * 2 && /^[0-9a-f]+$/i.test(value)) return { ok: true, value: value.toLowerCase() };

  const base64 = value.replaceAll('-', '+').replaceAll('_', '/');
  const decoded = decodeBase64(base64);
  if (decoded?.length === bytes && (base64 === btoa(decoded) || base64 === unpadded(btoa(decoded))))
    return { ok: true, value: toHex(decoded) };

  if (algorithm === 'md5' && /^[0-9a-f]{32}-\d+$/i.test(value)) return { ok: false, reason: 'a multipart ETag is not an md5' };
  return { ok: false, reason: `neither ${bytes * 2} hex digits nor the base64 of ${bytes} bytes` };
}

/** As one character a byte. Lenient: what it makes of a non-canonical text does not encode to it again. */
function decodeBase64(base64: string): string | undefined {
  try {
    return atob(base64);
  } catch {
    return undefined;
  }
}

function unpadded(base64: string): string {
  return base64.replace(/=+$/, '');
}

function toHex(binary: string): string {
  return Array.from(binary, (char) => char.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}
