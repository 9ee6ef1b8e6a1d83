import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = resolve(import.meta.dirname, '../..');
/** How a task's failure is made. */
const MADE =
  /(?:TransferError|CutBody|passing|lasting|shared|unasked)\(\s*'([A-Z_]+)'|code: '([A-Z_]+)'|const RECLAIMED_TTL = '([A-Z_]+)'/g;
/** These never end a task: they are between dispatcher, pool and thread. */
const INTERNAL = new Set(['ABORTED', 'SOURCE_PAUSED', 'NOT_RESUMABLE']);

function codesMade(): string[] {
  const files = ['worker-pool', 'batches'].flatMap((feature) =>
    readdirSync(join(ROOT, 'src', feature), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(ROOT, 'src', feature, file)),
  );
  const codes = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(MADE)].map((match) => match.slice(1).find(Boolean) ?? ''));
  return [...new Set(codes)].filter((code) => !INTERNAL.has(code)).toSorted();
}

describe('the reasons why a file fails', () => {
  it('are all explained in docs/files.md, and no other', () => {
    const table = readFileSync(join(ROOT, 'docs/files.md'), 'utf8').split('## Why a file fails')[1] ?? '';
    const firstCells = [...table.matchAll(/^\| (`.+?) +\|/gm)].map(([, cell = '']) => cell);
    const explained = firstCells.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => code));
    expect(explained.toSorted()).toEqual(codesMade());
  });
});
