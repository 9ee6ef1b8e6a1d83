import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ManifestError } from '../../../../../src/intake/adapters/manifest/index.js';
import type { ListReading } from '../../../../../src/intake/domain/export-request.js';
import type { ManifestTask } from '../../../../../src/intake/domain/manifest-task.js';
import { readWholeList } from '../../../../support/manifest-reading.js';

const FOLDER = join(import.meta.dirname, '../../../../support/lists');
const MEANS = '.means.json';

/** What lies beside a list: how it is read, and its tasks or the problems that its reader tells. */
interface Meaning {
  reading?: ListReading;
  tasks?: ManifestTask[];
  problems?: string[];
}

const lists = readdirSync(FOLDER).filter((file) => !file.endsWith(MEANS));

describe('lists as people have them', () => {
  it.each(lists)('%s means what is written beside it', async (list) => {
    const { reading = {}, ...meaning } = JSON.parse(readFileSync(join(FOLDER, list + MEANS), 'utf8')) as Meaning;
    for (const highWaterMark of [3, 65_536]) {
      const open = async () => createReadStream(join(FOLDER, list), { highWaterMark });
      const read = await readWholeList(open, reading).then(
        (tasks) => ({ tasks }),
        (error: unknown) => ({ problems: problemsOf(error) }),
      );
      expect(read).toEqual(meaning);
    }
  });
});

function problemsOf(error: unknown): string[] {
  if (!(error instanceof ManifestError)) throw error;
  return error.problems.map(({ line, reason }) => `${line}: ${reason}`);
}
