import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { Checksum } from '../../../src/shared/index.js';
import { crc32Base64, Digests } from '../../../src/worker-pool/threads/digests.js';

const BYTES = Buffer.from('123456789');
const hash = (algorithm: string) => createHash(algorithm).update(BYTES).digest('hex');

function digested(checksum: Checksum | undefined): Digests {
  const digests = new Digests(checksum);
  digests.update(BYTES.subarray(0, 4));
  digests.update(BYTES.subarray(4));
  return digests;
}

describe('Digests', () => {
  it.each<Checksum>([
    { algorithm: 'md5', value: hash('md5') },
    { algorithm: 'sha1', value: hash('sha1') },
    { algorithm: 'sha256', value: hash('sha256') },
    { algorithm: 'sha512', value: hash('sha512') },
    { algorithm: 'crc32', value: 'cbf43926' },
    { algorithm: 'crc32c', value: 'e3069283' },
    { algorithm: 'crc64nvme', value: 'ae8b14860a799888' },
  ])('agrees with the known $algorithm and refuses another', (checksum) => {
    expect(digested(checksum).verify()).toEqual({ sha256: hash('sha256') });
    const other = { ...checksum, value: checksum.value.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) };
    expect(() => digested(other).verify()).toThrow(expect.objectContaining({ code: 'CHECKSUM_MISMATCH', disposition: 'retry' }));
  });

  it('reports sha256 when nothing was promised', () => {
    expect(digested(undefined).verify().sha256).toBe(hash('sha256'));
  });

  it('writes a CRC-32 as S3 does', () => {
    expect(crc32Base64('cbf43926')).toBe('y/Q5Jg==');
  });
});
