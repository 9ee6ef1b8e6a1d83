import { Readable } from 'node:stream';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, it } from '@jest/globals';
import { SpoolingManifestAdapter } from '../../../../src/intake/adapters/spooling-manifest.adapter.js';
import type { SourceReader } from '../../../../src/worker-pool/index.js';
import { aRequest } from '../../../support/builders.js';

const NO_SOURCES = {} as SourceReader;

it('A task comes out of the spool as it went in, whatever its strings hold', async () => {
  const tasks = [
    { url: 'https://host/a\u2028b.pdf', key: 'a\u2028b\u2029c.pdf' },
    { url: 'https://host/ä.pdf', key: 'ä\u2029.pdf', size: 12 },
  ];
  const manifest = tasks.map((task) => `${JSON.stringify(task)}\r\n`).join('');
  const s3 = Object.assign(new S3Client({ region: 'eu-west-1' }), {
    send: () => Promise.resolve({ Body: Readable.from([Buffer.from(manifest)]) }),
  });
  const source = { kind: 'manifest', uri: 's3://lists/tasks.jsonl', trusted: true } as const;
  const spooled = await new SpoolingManifestAdapter(NO_SOURCES, s3, 'exports').spool(
    aRequest({ source }),
    new AbortController().signal,
    () => undefined,
  );
  expect(spooled.totalTasks).toBe(2);
  await expect(Readable.from(spooled.tasks()).toArray()).resolves.toEqual(tasks);
  await spooled.dispose();
});
