import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DuplicateKeys } from '../../../../../src/intake/adapters/manifest/duplicate-keys.js';
import { KeyHashes } from '../../../../../src/intake/adapters/manifest/key-hashes.js';
import { KeySet } from '../../../../../src/intake/adapters/manifest/key-set.js';
import type { ManifestTask } from '../../../../../src/intake/domain/manifest-task.js';
import { UnsharedTurn } from '../../../../support/fakes/fake-intake-ports.js';

const turn = new UnsharedTurn();

describe('KeySet', () => {
  const hashes = new KeyHashes('not needed');

  it('knows every key it was given, and no other', () => {
    const keys = new KeySet();
    const count = 100_000;
    let added = 0;
    const add = (index: number, content: string) => keys.add(hashes.of(`folder/object-${index}.bin`), hashes.of(content));
    for (let index = 0; index < count; index++) if (add(index, `content ${index}`) === 'new') added++;
    expect(added).toBe(count);
    const known = { new: 0, same: 0, other: 0 };
    for (let index = 0; index < count; index++) known[add(index, `content ${index - (index % 2)}`)]++;
    expect(known).toEqual({ new: 0, same: count / 2, other: count / 2 });
  });

  it('tells apart keys that differ in one place only', () => {
    const keys = new KeySet();
    const similar = Array.from({ length: 1_024 }, (_, at) => `${'a'.repeat(at)}b${'a'.repeat(1_023 - at)}`);
    expect(similar.every((key) => keys.add(hashes.of(key), hashes.of('')) === 'new')).toBe(true);
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
      hashes.add(hashes.of(key), hashes.of(`content of ${key}`));
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
    expect(repeated).toEqual([
      { hash: hashes.of('folder/object-7.bin'), ordinal: 1_000, repeat: 'same' },
      { hash: hashes.of('folder/object-999.bin'), ordinal: 1_001, repeat: 'same' },
    ]);
    await expect(stat(path)).rejects.toThrow('ENOENT');
  });

  it('Keys in a file: of a long list it holds 256 KiB in memory, and 16 bytes a task on disk', async () => {
    const { hashes, repeated } = await repeatedOf(many(100_000));
    expect(repeated).toMatchObject([
      { hash: hashes.of('folder/object-7.bin'), ordinal: 100_000 },
      { hash: hashes.of('folder/object-99999.bin'), ordinal: 100_001 },
    ]);
    const { size } = await stat(path);
    expect(100_002 * 16 - size).toBeLessThanOrEqual(256 * 1_024);
    expect(size % 16).toBe(0);
  });

  it.each([2, 10])('finds the same when it compares them in %i passes, and nothing else', async (passes) => {
    const { hashes, repeated } = await repeatedOf(many(100_000), Math.ceil(100_002 / passes));
    expect(repeated).toHaveLength(2);
    expect(repeated.map(({ ordinal }) => ordinal).toSorted((a, b) => a - b)).toEqual([100_000, 100_001]);
    expect(repeated.map(({ hash }) => hash)).toEqual(
      expect.arrayContaining([hashes.of('folder/object-7.bin'), hashes.of('folder/object-99999.bin')]),
    );
  });
});

describe('DuplicateKeys', () => {
  /** Keys that begin alike share their hash. */
  class ShortHashes extends KeyHashes {
    override of = (text: string) => (text.includes('://') ? super.of(text) : { high: text.charCodeAt(0), low: 0 });
  }

  /** Files as `key` or `key=content`; without one, each has its own. */
  const tasksOf = (files: readonly string[]) =>
    files.map((file, index): ManifestTask => {
      const [key = '', content = String(index)] = file.split('=');
      return { url: `https://host/${content}`, key };
    });

  async function readTwice(first: readonly string[], second: readonly string[] = first) {
    const duplicates = new DuplicateKeys(new ShortHashes('not needed'));
    for (const task of tasksOf(first)) duplicates.note(task);
    await duplicates.suspect(turn);
    for (const [index, task] of tasksOf(second).entries()) duplicates.prove(task, { line: index + 1, entry: task });
    return duplicates;
  }

  it('clears a key that only shares its hash with another one', async () => {
    const duplicates = await readTwice(['apple', 'avocado']);
    expect(duplicates.suspected).toBe(true);
    expect(duplicates.verdict).toEqual({ kind: 'read', problems: [], total: 0 });
  });

  it('proves the key that is there twice beside one that only shares its hash', async () => {
    const { verdict } = await readTwice(['apple', 'avocado', 'pear', 'avocado']);
    expect(verdict).toMatchObject({ kind: 'read', total: 1, problems: [{ line: 4 }] });
  });

  it('leaves out a file that is there before, word for word, and suspects nobody for it', async () => {
    const duplicates = await readTwice(['apple=1', 'pear=2', 'apple=1', 'pear=2', 'apple=1']);
    expect(duplicates.suspected).toBe(false);
    expect([0, 1, 2, 3, 4].map((ordinal) => duplicates.repeatedTasks.has(ordinal))).toEqual([false, false, true, true, true]);
    expect(duplicates.repeatedTasks.count).toBe(3);
  });

  it('proves a key of two contents beside files that are there twice', async () => {
    const { verdict } = await readTwice(['apple=1', 'apple=1', 'apple=2', 'apple=1']);
    expect(verdict).toMatchObject({
      kind: 'read',
      total: 1,
      problems: [{ line: 3, reason: expect.stringContaining('also that of line 1') }],
    });
  });

  it('lets the list be read again when a file that is there twice meets the hash of another one', async () => {
    expect((await readTwice(['apple=1', 'avocado=2', 'avocado=2'])).verdict).toEqual({ kind: 'changed' });
  });

  it.each([
    ['less often', ['apple']],
    ['more often', ['apple', 'apple', 'apple']],
  ])('says that the manifest has changed when the second reading meets a suspect %s', async (_what, second) => {
    expect((await readTwice(['apple', 'apple'], second)).verdict).toEqual({ kind: 'changed' });
  });
});
