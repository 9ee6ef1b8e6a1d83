import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from './export-fixture.js';

let fixture: ExportFixture;
let folder: string;
afterEach(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

it('A start removes the lists that killed services have left in the temporary folder, and none of a living one', async () => {
  fixture = await ExportFixture.start({ queueVisibilityS: 3 });
  folder = await mkdtemp(join(tmpdir(), 'killed-spool-spec-'));
  const environment = { TMPDIR: folder, SQS_HEARTBEAT_INTERVAL_MS: '1000' };
  const spools = async () => (await readdir(folder)).filter((name) => name.startsWith('export-manifest-'));
  const line = `${JSON.stringify({ url: `${fixture.origin.url}/listed`, key: 'listed' })}\n`;
  const manifest = fixture.origin.on('/never-ends.jsonl', (_request, response) => void response.write(line));

  const killed = await fixture.startService(environment);
  await fixture.startExecution({ source: { manifest } });
  const [left] = await eventually(async () => ((await spools()).length === 1 ? spools() : undefined));
  await killed.kill();
  expect(await spools()).toEqual([left]);

  await fixture.startService(environment);
  const [living] = await eventually(async () => {
    const names = await spools();
    return names.length === 1 && names[0] !== left ? names : undefined;
  });
  const another = await fixture.startService(environment);
  expect(another.said('Lists of killed processes removed')).toBe(false);
  expect(await spools()).toContain(living);
});
