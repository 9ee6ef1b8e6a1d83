import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DuplicateKeys } from '../../../../../src/intake/adapters/manifest/duplicate-keys.js';
import { KeyHashes } from '../../../../../src/intake/adapters/manifest/key-hashes.js';
import { KeySet } from '../../../../../src/intake/adapters/manifest/key-set.js';
import { UnsharedTurn } from '../../../../support/fakes/fake-intake-ports.js';

const turn = new UnsharedTurn();

describe('KeySet', () => {
  const hashes = new KeyHashes('not needed');

  it('knows every key it was given, and no other', () => {
    const keys = new KeySet();
    const count = 100_000;
    let added = 0;
    for (let index = 0; index < count; index++) if (keys.add(hashes.of(`folder/object-${index}.bin`))) added++;
    expect(added).toBe(count);
    let known = 0;
    for (let index = 0; index < count; index++) if (!keys.add(hashes.of(`folder/object-${index}.bin`))) known++;
    expect(known).toBe(count);
  });

  it('tells apart keys that differ in one place only', () => {
    const keys = new KeySet();
    const similar = Array.from({ length: 1_024 }, (_, at) => `${'a'.repeat(at)}b${'a'.repeat(1_023 - at)}`);
    expect(similar.every((key) => keys.add(hashes.of(key)))).toBe(true);
  });
});

describe('KeyHashes', () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'key-hashes-'));
    path = join(folder, 'hashes');
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Adds these keys and finds what is there twice, in passes of so many. */
  async function repeatedOf(keys: Iterable<string>, hashesAPass?: number) {
    const hashes = new KeyHashes(path, hashesAPass);
    let added = 0;
    for (const key of keys) {
      hashes.add(hashes.of(key));
      if (++added % 1_000 === 0) await hashes.keep();
    }
    const repeated = [];
    for await (const hash of hashes.repeated(turn)) repeated.push(hash);
    return { hashes, repeated };
  }

  function* many(count: number) {
    for (let index = 0; index < count; index++) yield `folder/object-${index}.bin`;
    yield 'folder/object-7.bin';
    yield `folder/object-${count - 1}.bin`;
  }

  it('finds what was added twice, of a list that needs no file', async () => {
    const { hashes, repeated } = await repeatedOf(many(1_000));
    expect(repeated).toEqual([hashes.of('folder/object-7.bin'), hashes.of('folder/object-999.bin')]);
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  it('Keys in a file: of a long list it holds 256 KiB in memory, and 8 bytes a key on disk', async () => {
    const { hashes, repeated } = await repeatedOf(many(100_000));
    expect(repeated).toEqual([hashes.of('folder/object-7.bin'), hashes.of('folder/object-99999.bin')]);
    const { size } = await stat(path);
    expect(100_002 * 8 - size).toBeLessThanOrEqual(256 * 1_024);
    expect(size % 8).toBe(0);
  });

  it.each([2, 10])('finds the same when it compares them in %i passes, and nothing else', async (passes) => {
    const { hashes, repeated } = await repeatedOf(many(100_000), Math.ceil(100_002 / passes));
    expect(repeated).toHaveLength(2);
    expect(repeated).toEqual(expect.arrayContaining([hashes.of('folder/object-7.bin'), hashes.of('folder/object-99999.bin')]));
  });
});

describe('DuplicateKeys', () => {
  const entry = { url: 'https://host/a' };
  /** Keys that begin alike share their hash. */
  class ShortHashes extends KeyHashes {
    override of = (key: string) => ({ high: key.charCodeAt(0), low: 0 });
  }

  async function readTwice(first: readonly string[], second: readonly string[]) {
    const duplicates = new DuplicateKeys(new ShortHashes('not needed'));
    for (const key of first) duplicates.note(key);
    await duplicates.suspect(turn);
    for (const [index, key] of second.entries()) duplicates.prove(key, { line: index + 1, entry });
    return duplicates;
  }

  it('clears a key that only shares its hash with another one', async () => {
    const duplicates = await readTwice(['apple', 'avocado'], ['apple', 'avocado']);
    expect(duplicates.suspected).toBe(true);
    expect(duplicates.verdict).toEqual({ kind: 'read', problems: [], total: 0 });
  });

  it('proves the key that is there twice beside one that only shares its hash', async () => {
    const list = ['apple', 'avocado', 'pear', 'avocado'];
    const { verdict } = await readTwice(list, list);
    expect(verdict).toMatchObject({ kind: 'read', total: 1, problems: [{ line: 4 }] });
  });

  it.each([
    ['less often', ['apple']],
    ['more often', ['apple', 'apple', 'apple']],
  ])('says that the manifest has changed when the second reading meets a suspect %s', async (_what, second) => {
    expect((await readTwice(['apple', 'apple'], second)).verdict).toEqual({ kind: 'changed' });
  });
});
