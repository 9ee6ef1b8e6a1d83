import { describe, expect, it } from '@jest/globals';
import { createHash, createHmac } from 'node:crypto';
import { SigningHash } from '../../../src/worker-pool/threads/signing-hash.js';

const PIECES = ['', 'what is signed', 'ü', 'x'.repeat(1_000)].map((text) => Buffer.from(text));

describe('SigningHash', () => {
  it.each(['', 'key', 'ü', 'k'.repeat(64), 'k'.repeat(65), 'k'.repeat(1_000)])('is the HMAC-SHA-256 with the key “%s”', async (key) => {
    const hash = new SigningHash(Buffer.from(key));
    const expected = createHmac('sha256', key);
    for (const piece of PIECES) {
      hash.update(piece);
      expected.update(piece);
    }
    expect(Buffer.from(await hash.digest()).toString('hex')).toBe(expected.digest('hex'));
    expect(await new SigningHash(key).digest()).toEqual(await new SigningHash(new Uint8Array(Buffer.from(key)).buffer).digest());
  });

  it('is the SHA-256 without one, of no bytes too, and begins anew when told to', async () => {
    const hash = new SigningHash();
    expect(Buffer.from(await hash.digest()).toString('hex')).toBe(createHash('sha256').digest('hex'));
    hash.update(Buffer.from('forgotten'));
    hash.reset();
    hash.update(Buffer.from('ab'));
    hash.update(Buffer.from('c'));
    expect(Buffer.from(await hash.digest()).toString('hex')).toBe(createHash('sha256').update('abc').digest('hex'));
  });
});
