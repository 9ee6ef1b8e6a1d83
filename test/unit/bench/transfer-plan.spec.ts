import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { contentAt, crc32Of, pathOf, piecesOf, sha256Of } from '../../bench/origin/content.js';
import { manifestAt, manifestBytes, manifestPathOf, manifestPieces } from '../../bench/origin/manifest.js';
import { mixOf } from '../../bench/scenarios/transfer-mixes.js';
import { orderOf } from '../../bench/scenarios/race.js';
import { judgeStored } from '../../bench/transfers/stored-objects.js';
import { asRcloneCsv, planFiles } from '../../bench/transfers/transfer-plan.js';

const ORIGIN = 'http://127.0.0.1:1';

describe('the content of the origin', () => {
  it.each([1, 16_384, 1_048_576, 3_000_001])('of %i bytes has the hashes that are told', (sizeBytes) => {
    const content = { sizeBytes, variant: 20_000 };
    const bytes = Buffer.concat([...piecesOf(content)]);
    expect(bytes).toHaveLength(sizeBytes);
    expect(sha256Of(content)).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(crc32Of(content)).toBe(crc32(bytes).toString(16).padStart(8, '0'));
  });

  it('differs from file to file', () => {
    const hashes = Array.from({ length: 10_000 }, (_, variant) => crc32Of({ sizeBytes: 16_384, variant }));
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('is known from its path', () => {
    expect(contentAt(pathOf({ sizeBytes: 5, variant: 7 }))).toEqual({ sizeBytes: 5, variant: 7 });
    expect(contentAt('/5/7/8')).toBeUndefined();
  });
});

describe('a generated manifest', () => {
  it('has the length that is told before it is made, and lines of files of the origin', () => {
    const manifest = { tasks: 2_500, sizeBytes: 16_384 };
    const text = Buffer.concat([...manifestPieces(manifest, ORIGIN)]);
    expect(text).toHaveLength(manifestBytes(manifest, ORIGIN));
    const lines = text.toString().trimEnd().split('\n');
    expect(lines).toHaveLength(2_500);
    const { url, key } = JSON.parse(lines[2_499] ?? '') as { url: string; key: string };
    expect(contentAt(new URL(url).pathname)).toEqual({ sizeBytes: 16_384, variant: 2_499 });
    expect(key).toBe('files/00002499.bin');
    expect(manifestAt(manifestPathOf(manifest))).toEqual(manifest);
  });
});

describe('planFiles', () => {
  it('spreads the large files among the small ones', () => {
    const files = planFiles(mixOf('mixed', { files: 8, largeFiles: 4, largeBytes: 100_000 }), ORIGIN);
    expect(files.map(({ sizeBytes }) => sizeBytes === 100_000)).toEqual([false, true, false, false, true, false]);
    expect(new Set(files.map(({ key }) => key)).size).toBe(6);
  });
});

describe('the CSV for rclone', () => {
  it('has URL and name of each file, quoted where they must be, and no header', () => {
    const [file] = planFiles([{ count: 1, sizeBytes: 1 }], ORIGIN);
    if (file === undefined) throw new Error('no file');
    expect(asRcloneCsv([file, { ...file, key: 'a, "b"' }])).toBe(`${ORIGIN}/1/0,files/00000000.bin\n${ORIGIN}/1/0,"a, ""b"""\n`);
  });
});

describe('judgeStored', () => {
  const files = planFiles([{ count: 2, sizeBytes: 10 }], ORIGIN);
  const good = files.map(({ key, sizeBytes, crc32 }): [string, number, string] => [key, sizeBytes, crc32]);
  const judge = (objects: [string, number, string][], openUploads = 0) => judgeStored('someone', files, { objects, openUploads });

  it('is content when every file is there as the origin has it', () => expect(() => judge(good)).not.toThrow());

  it.each<[string, [string, number, string][], number]>([
    ['misses one', good.slice(1), 0],
    ['has one too many', [...good, ['more', 1, '00000000']], 0],
    ['has other bytes', [...good.slice(1), ['files/00000000.bin', 10, '00000000']], 0],
    ['has another length', good.map(([key, , crc]) => [key, 9, crc]), 0],
    ['has an open upload', good, 1],
  ])('does not accept a sink that %s', (_, objects, openUploads) => expect(() => judge(objects, openUploads)).toThrow('someone'));
});

describe('the order of a round', () => {
  it('has ours beside each rival, and turns round after round', () => {
    expect(orderOf(1, ['ours', 'rclone', 'naive'])).toEqual(['rclone', 'ours', 'naive']);
    expect(orderOf(2, ['ours', 'rclone', 'naive'])).toEqual(['naive', 'ours', 'rclone']);
    expect(orderOf(1, ['ours', 'naive'])).toEqual(['naive', 'ours']);
    expect(orderOf(2, ['ours', 'naive'])).toEqual(['ours', 'naive']);
    expect(orderOf(2, ['ours'])).toEqual(['ours']);
  });
});
