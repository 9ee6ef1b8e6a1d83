import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { makeSpoolFolder, SpoolSweep, type Owner } from '../../../../src/intake/adapters/spool-folders.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';

const SELF: Owner = { host: 'host-1', pid: 17 };
const LIVE_PID = 20;

let parent: string;
let logger: RecordingLogger;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'spool-folders-spec-'));
  logger = new RecordingLogger();
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const sweep = () => new SpoolSweep(parent, logger, SELF, (pid) => pid === LIVE_PID).onModuleInit();
const aSpool = async (owner: Owner) => {
  const folder = await makeSpoolFolder(parent, owner);
  await writeFile(join(folder, 'tasks.jsonl'), 'x');
  return basename(folder);
};

it('A start removes the lists of killed processes of its host, and those of a former life with its own id', async () => {
  await aSpool({ ...SELF, pid: 18 });
  await aSpool(SELF);
  const kept = [await aSpool({ ...SELF, pid: LIVE_PID }), await aSpool({ host: 'another container', pid: 18 })];
  for (const name of ['export-manifest-abc', 'another-18-x']) {
    await mkdir(join(parent, name));
    kept.push(name);
  }
  await sweep();
  expect((await readdir(parent)).toSorted()).toEqual(kept.toSorted());
  expect(logger.events).toMatchObject([{ level: 'info', fields: { folders: 2 } }]);
});

it('A start that finds nothing says nothing', async () => {
  await sweep();
  expect(logger.events).toEqual([]);
});

it('A folder that cannot be read keeps nothing from starting', async () => {
  await rm(parent, { recursive: true });
  await sweep();
  expect(logger.messages('warn')).toHaveLength(1);
});

it('Whose a folder is stands in its name: by default this process’s, which runs', async () => {
  await makeSpoolFolder(parent);
  await new SpoolSweep(parent, logger, { host: (await import('node:os')).hostname(), pid: SELF.pid }).onModuleInit();
  expect(await readdir(parent)).toHaveLength(1);
});
