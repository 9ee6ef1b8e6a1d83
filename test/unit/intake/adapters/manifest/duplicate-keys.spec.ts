import { describe, expect, it } from '@jest/globals';
import { DuplicateKeys } from '../../../../../src/intake/adapters/manifest/duplicate-keys.js';
import { KeySet } from '../../../../../src/intake/adapters/manifest/key-set.js';

describe('KeySet', () => {
  it('knows every key it was given, and no other', () => {
    const keys = new KeySet();
    const count = 100_000;
    let added = 0;
    for (let index = 0; index < count; index++) if (keys.add(`folder/object-${index}.bin`)) added++;
    expect(added).toBe(count);
    let known = 0;
    for (let index = 0; index < count; index++) if (!keys.add(`folder/object-${index}.bin`)) known++;
    expect(known).toBe(count);
  });

  it('tells apart keys that differ in one place only', () => {
    const keys = new KeySet();
    const similar = Array.from({ length: 1_024 }, (_, at) => `${'a'.repeat(at)}b${'a'.repeat(1_023 - at)}`);
    expect(similar.every((key) => keys.add(key))).toBe(true);
  });
});

describe('DuplicateKeys', () => {
  const entry = { url: 'https://host/a' };

  it('clears a key that only shares its hash with another one', () => {
    const duplicates = new DuplicateKeys({ add: (key) => key !== 'same hash' });
    duplicates.note('other', { line: 1, entry });
    duplicates.note('same hash', { line: 2, entry });
    expect(duplicates.suspected).toBe(true);
    duplicates.prove('other', { line: 1, entry });
    duplicates.prove('same hash', { line: 2, entry });
    expect(duplicates.verdict).toEqual({ kind: 'read', problems: [], total: 0 });
  });
});
