import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { MANIFEST_FORMATS, type ManifestFormat } from '../../../../../src/intake/domain/export-request.js';
import { readWholeList } from '../../../../support/manifest-reading.js';

const DOCUMENT = readFileSync(join(import.meta.dirname, '../../../../../docs/files.md'), 'utf8');
const ROW = /^\| (?<kind>[^|`]+?) +\| (?:`(?<format>[a-z-]+)`)? *\| `(?<example>.+?)` +\| (?<keys>`.+`) +\|$/gm;

const examples = [...(DOCUMENT.split('## Lists')[1]?.split('\n## ')[0] ?? '').matchAll(ROW)].map(({ groups = {} }) => groups);
const codesIn = (cell = '') => [...cell.matchAll(/`(.+?)`/g)].map(([, code]) => code);

describe('the table of lists in docs/files.md', () => {
  it('has an example of every format', async () => {
    expect(examples.length).toBeGreaterThanOrEqual(MANIFEST_FORMATS.length);
    const text = DOCUMENT.split('One line never decides a format')[1]?.split('\n')[0];
    for (const format of MANIFEST_FORMATS) expect(text).toContain(`\`${format}\``);
  });

  it.each(examples.map(({ kind = '', ...row }): [string, typeof row] => [kind, row]))('%s: is read as it says', async (_kind, row) => {
    const { format, example = '', keys } = row;
    const bytes = Buffer.from(example.replaceAll('⏎', '\n').replaceAll('⇥', '\t'));
    const tasks = await readWholeList(async () => Readable.from([bytes]), { format: format as ManifestFormat | undefined });
    expect(tasks.map(({ key }) => key)).toEqual(codesIn(keys));
  });
});
