import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { CHECKSUM_ALGORITHMS, parseChecksum, type ChecksumAlgorithm } from '../../../src/shared/index.js';

const BYTES: Record<ChecksumAlgorithm, number> = { md5: 16, sha1: 20, sha256: 32, sha512: 64, crc32: 4, crc32c: 4, crc64nvme: 8 };

describe('parseChecksum', () => {
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const digest = createHash('sha512').update(algorithm).digest().subarray(0, BYTES[algorithm]);
    const hex = digest.toString('hex');
    const base64 = digest.toString('base64');
    it.each([
      hex,
      hex.toUpperCase(),
      `"${hex}"`,
      `'${hex}'`,
      ` ${hex} `,
      base64,
      base64.replace(/=+$/, ''),
      digest.toString('base64url'),
      `"${base64}"`,
    ])(`reads ${algorithm} in the form %s`, (text) => {
      expect(parseChecksum(algorithm, text)).toEqual({ ok: true, value: hex });
    });
  }

  it.each([
    ['md5', 'd41d8cd98f00b204e9800998ecf8427'],
    ['md5', ''],
    ['sha256', 'd41d8cd98f00b204e9800998ecf8427e'],
    ['crc32', 'zzzzzzzz'],
    ['crc32', 'AAAAA='],
    ['sha1', '+_AAAAAAAAAAAAAAAAAAAAAAAAA'],
  ] as const)('refuses %s %s, which fits no form, and says what would', (algorithm, text) => {
    expect(parseChecksum(algorithm, text)).toEqual({ ok: false, reason: expect.stringMatching(/hex digits, or the base64 of \d+ bytes/) });
  });

  it('knows the ETag of a multipart upload', () => {
    expect(parseChecksum('md5', '"d41d8cd98f00b204e9800998ecf8427e-3"')).toEqual({
      ok: false,
      reason: 'is the ETag of a multipart upload, which is no md5: leave it out',
    });
  });
});
