import { describe, expect, it } from '@jest/globals';
import { canonicalJson, hash32, newId, sha256Hex } from '../../../src/shared/index.js';

describe('ids', () => {
  it('are new each time', () => {
    expect(newId()).not.toBe(newId());
  });

  it('sha256Hex hashes the UTF-8 text', async () => {
    await expect(sha256Hex('')).resolves.toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    await expect(sha256Hex('ä')).resolves.toBe('33e6d73fee82904c8d7afb78de1154d1e8dc2a0edb08120e63df5b9385c2d9cc');
  });

  it('hash32 is an unsigned 32-bit number that stays the same and spreads neighbours', () => {
    const hashes = Array.from({ length: 4_000 }, (_, index) => hash32(`job-${index}`));
    expect(hash32('job-7')).toBe(hashes[7]);
    expect(hashes.every((hash) => Number.isInteger(hash) && hash >= 0 && hash < 2 ** 32)).toBe(true);
    for (const shard of [0, 1, 2, 3]) expect(Math.abs(hashes.filter((hash) => hash % 4 === shard).length - 1_000)).toBeLessThan(150);
  });
});

describe('canonicalJson', () => {
  it('is the same for equal values, whatever the order of their keys at any level', () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: 'x' })).toBe('{"a":"x","b":[{"c":null,"d":1}]}');
    expect(canonicalJson({ a: 'x', b: [{ c: null, d: 1 }] })).toBe(canonicalJson({ b: [{ d: 1, c: null }], a: 'x' }));
  });

  it('keeps the order of lists', () => {
    expect(canonicalJson([2, 1])).not.toBe(canonicalJson([1, 2]));
  });
});
