import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, it } from '@jest/globals';
import { SpoolingManifestAdapter } from '../../../../src/intake/adapters/spooling-manifest.adapter.js';
import type { SourceReader } from '../../../../src/worker-pool/index.js';
import { aRequest } from '../../../support/builders.js';

const NO_SOURCES = {} as SourceReader;

/** Of a manifest that comes in these pieces. */
function spool(pieces: Iterable<Buffer> | AsyncIterable<Buffer>, timeoutMs: number) {
  const s3 = Object.assign(new S3Client({ region: 'eu-west-1' }), { send: () => Promise.resolve({ Body: Readable.from(pieces) }) });
  const source = { kind: 'manifest', uri: 's3://lists/tasks.jsonl', trusted: true } as const;
  const adapter = new SpoolingManifestAdapter(NO_SOURCES, s3, { exportBucket: 'exports', timeoutMs });
  return adapter.spool(aRequest({ source }), new AbortController().signal, () => undefined);
}

it('A manifest that drips for ever is refused after the time a file may take, and keeps no place', async () => {
  async function* dripping() {
    for (let line = 0; ; line++) {
      yield Buffer.from(`{"url":"https://host/${line}.pdf"}\n`);
      await sleep(5);
    }
  }
  await expect(spool(dripping(), 50)).rejects.toMatchObject({ code: 'MANIFEST_TIMEOUT', disposition: 'reject' });
});

it('A task comes out of the spool as it went in, whatever its strings hold', async () => {
  const tasks = [
    { url: 'https://host/a\u2028b.pdf', key: 'a\u2028b\u2029c.pdf' },
    { url: 'https://host/ä.pdf', key: 'ä\u2029.pdf', size: 12 },
  ];
  const manifest = tasks.map((task) => `${JSON.stringify(task)}\r\n`).join('');
  const spooled = await spool([Buffer.from(manifest)], 60_000);
  expect(spooled.totalTasks).toBe(2);
  await expect(Readable.from(spooled.tasks()).toArray()).resolves.toEqual(tasks);
  await spooled.dispose();
});
