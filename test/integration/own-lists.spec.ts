import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startS3Endpoint, type S3Endpoint } from '../../infra/local-aws/s3/index.js';
import { SpoolingManifestAdapter } from '../../src/intake/adapters/spooling-manifest.adapter.js';
import { AwsClients } from '../../src/platform/aws/aws-clients.js';
import { SystemClock } from '../../src/shared/index.js';
import { aRequest } from '../support/builders.js';
import { UnsharedTurn } from '../support/fakes/fake-intake-ports.js';

/** A busy machine may take a second to begin an answer. */
const S3_TIMEOUT_MS = 4_000;
const SETTINGS = { region: 'us-east-1', s3CustomEndpoint: true };
/** 20 MB: more than what fits into the buffers of both sides. */
const LINES = 20_000;

/** One that stands in line for longer than a call of S3 may take, once: in the midst of the list. */
class LateTurn extends UnsharedTurn {
  private waits = 0;

  override async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    const waited = await super.whileWaiting(wait);
    if (++this.waits === 10) await sleep(1.5 * S3_TIMEOUT_MS);
    return waited;
  }
}

describe('a list that lies in the export bucket', () => {
  let s3: S3Endpoint;
  let clients: AwsClients;
  let folder: string;

  beforeEach(async () => {
    s3 = await startS3Endpoint({ buckets: ['exports'] });
    const credentials = { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };
    Object.assign(process.env, { ...credentials, AWS_ENDPOINT_URL_S3: s3.url });
    clients = new AwsClients(SETTINGS, { openLists: 4, s3TimeoutMs: S3_TIMEOUT_MS });
    folder = await mkdtemp(join(tmpdir(), 'own-lists-'));
  });
  afterEach(async () => {
    delete process.env.AWS_ENDPOINT_URL_S3;
    clients.destroy();
    await s3.close();
    await rm(folder, { recursive: true });
  });

  function spool() {
    const settings = { exportBucket: 'exports', folder, timeoutMs: 60_000, maxSpoolBytes: 2 ** 33 };
    const sources = { openSource: () => Promise.reject(new Error('not a source of others')) };
    const adapter = new SpoolingManifestAdapter(sources, clients.lists, settings, new SystemClock());
    const request = aRequest({ source: { kind: 'manifest', uri: 's3://exports/_submissions/list', trusted: false } });
    return adapter.spool(request, { signal: new AbortController().signal, turn: new LateTurn(), onProgress: () => undefined });
  }

  it('Unread is not silent: is read to its end although it stood in line for longer than S3 may be silent', async () => {
    const list = Array.from({ length: LINES }, (_, line) => `https://origin.test/${line}.pdf?${'q'.repeat(1_000)}\n`).join('');
    const patient = new AwsClients(SETTINGS);
    await patient.s3.send(new PutObjectCommand({ Bucket: 'exports', Key: '_submissions/list', Body: list }));
    patient.destroy();
    const spooled = await spool();
    expect(spooled.totalTasks).toBe(LINES);
    await spooled.dispose();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is said to be refused in the words of S3', async () => {
    s3.faults.add({ operation: 'GetObject', action: { kind: 'fail', status: 403, code: 'AccessDenied' } });
    await expect(spool()).rejects.toMatchObject({
      code: 'AccessDenied',
      message: 's3:GetObject on s3://exports/_submissions/list failed: AccessDenied',
    });
  });
});
