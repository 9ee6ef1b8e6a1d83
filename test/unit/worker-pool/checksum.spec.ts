import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { parseChecksum } from '../../../src/worker-pool/domain/checksum.js';
import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm } from '../../../src/worker-pool/domain/transfer-task.js';

/** Digests of `123456789`, the customary check value. */
const HEX: Record<ChecksumAlgorithm, string> = {
  md5: createHash('md5').update('123456789').digest('hex'),
  sha1: createHash('sha1').update('123456789').digest('hex'),
  sha256: createHash('sha256').update('123456789').digest('hex'),
  sha512: createHash('sha512').update('123456789').digest('hex'),
  crc32: 'cbf43926',
  crc32c: 'e3069283',
  crc64nvme: 'ae8b14860a799888',
};

describe('parseChecksum', () => {
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const hex = HEX[algorithm];
    const base64 = Buffer.from(hex, 'hex').toString('base64');
    const base64url = Buffer.from(hex, 'hex').toString('base64url');

    it.each([hex, hex.toUpperCase(), `"${hex}"`, `'${hex}'`, ` ${hex} `, base64, base64.replaceAll('=', ''), `"${base64}"`, base64url])(
      `reads ${algorithm} from %s`,
      (text) => {
        expect(parseChecksum(algorithm, text)).toEqual({ ok: true, value: hex });
      },
    );

    it.each(['', hex.slice(2), `${hex}00`, `${hex.slice(1)}g`, base64.slice(1), `${base64}=`, `${hex}"`])(
      `refuses ${algorithm} in %p`,
      (text) => {
        expect(parseChecksum(algorithm, text)).toMatchObject({ ok: false });
      },
    );
  }

  it('says that the ETag of a multipart upload is no md5', () => {
    expect(parseChecksum('md5', '"9b2cf535f27731c974343645a3985328-12"')).toEqual({ ok: false, reason: 'a multipart ETag is not an md5' });
  });
});
