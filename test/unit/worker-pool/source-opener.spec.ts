import { Readable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { Agent } from 'undici';
import type { S3Requests } from '../../../src/worker-pool/threads/s3-requests.js';
import { SourceGuard } from '../../../src/worker-pool/threads/source-guard.js';
import { SourceOpener } from '../../../src/worker-pool/threads/source-opener.js';

it.each([204, 206])(
  'Success is 200 only, for a source in S3 too: %i unasked is refused, and its body goes with its connection',
  async (statusCode) => {
    const body = Readable.from([Buffer.from('half')]);
    const store = { open: () => Promise.resolve({ statusCode, headers: {}, body }) } as unknown as S3Requests;
    const guard = new SourceGuard({ sourceBuckets: ['sources'], sourceHosts: [], sourceCidrs: [], sourcePorts: [] });
    const opener = new SourceOpener(guard, new Agent(), store, 'tests');
    await expect(opener.open('s3://sources/key', { signal: new AbortController().signal })).rejects.toMatchObject({
      code: `HTTP_${statusCode}`,
      disposition: 'reject',
    });
    expect(body.destroyed).toBe(true);
  },
);
