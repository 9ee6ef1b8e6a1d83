import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { sha256 } from '../support/origin.js';
import { head, RawOrigin } from '../support/raw-origin.js';
import { ExportFixture } from './export-fixture.js';

const THREADS = 2;
const TASKS_PER_WORKER = 4;
const CONNECTIONS_PER_HOST = 3;
const MIB = 1024 * 1024;

interface File {
  url: string;
  /** Without it the decoded name in the URL. */
  key?: string;
}

describe('the files of a job', () => {
  let fixture: ExportFixture;

  beforeAll(async () => {
    fixture = await ExportFixture.start();
    await fixture.startService({
      WORKER_POOL_SIZE: String(THREADS),
      TASKS_PER_WORKER: String(TASKS_PER_WORKER),
      MAX_CONNECTIONS_PER_HOST: String(CONNECTIONS_PER_HOST),
      ALLOWED_SOURCE_BUCKETS: fixture.aws.resources.bucket,
    });
  });
  afterAll(() => fixture.close());

  async function exported(source: object, prefix: string): Promise<{ jobId: string; output: Record<string, unknown> }> {
    const { arn, jobId } = await fixture.startExecution({ source, destination: { bucket: fixture.aws.resources.bucket, prefix } });
    const { status, cause, output = '{}' } = await fixture.ended(arn);
    expect([status, cause]).toEqual(['SUCCEEDED', undefined]);
    return { jobId, output: JSON.parse(output) as Record<string, unknown> };
  }

  describe('lie under the keys of its manifest', () => {
    const names = [
      'a b',
      'a  c',
      'a+b',
      '100%',
      '%20',
      'a&b=c',
      'what?',
      'no#1',
      `it's "so"`,
      '\\back\\slash',
      '~$@!*()[]{}|^`<>,;:',
      'ü',
      'u\u0308',
      '日本語/😀',
      'a\u00a0\u2028\u2029\u202ea',
      '..a',
      'a../.b/...',
    ];
    /** 1,024 bytes with its prefix. */
    const longest = (prefix: string) => '日'.repeat(300).padEnd(300 + 124 - prefix.length, 'x');
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;

    it.each<{ format: string; write: (files: File[]) => string }>([
      { format: 'jsonl', write: (files) => files.map((file) => JSON.stringify(file)).join('\n') },
      { format: 'json', write: (files) => JSON.stringify(files) },
      { format: 'csv', write: (files) => ['url,key', ...files.map(({ url, key }) => `${url},${quoted(key ?? '')}`)].join('\n') },
    ])('in $format, whatever characters they have, up to 1,024 bytes', async ({ format, write }) => {
      const { bucket } = fixture.aws.resources;
      const prefix = `keys ${format}+%/`;
      const given = [...names, longest(prefix)];
      const keys = [...given, 'no key+%\u00fc?#.txt'];
      const files: File[] = given.map((key, index) => ({ url: fixture.origin.file(`/keys/${index}`, key), key }));
      files.push({ url: fixture.origin.file('/keys/no%20key+%25%C3%BC%3F%23.txt', 'no key+%\u00fc?#.txt') });
      await fixture.clients.s3.send(new PutObjectCommand({ Bucket: bucket, Key: `lists/keys.${format}`, Body: write(files) }));
      const { jobId } = await exported({ manifest: `s3://${bucket}/lists/keys.${format}` }, prefix);
      for (const key of keys) expect(await fixture.objectText(prefix + key)).toBe(key);
      expect((await fixture.fileKeys(jobId, prefix)).sort()).toEqual([...keys].sort());
      expect((await fixture.resultLines(jobId, prefix)).map(({ key }) => key)).toEqual(keys.map((key) => prefix + key));
    });
  });

  it('that lie there already are left alone by a job that does it all again, and count as completed', async () => {
    const { origin } = fixture;
    const { bucket } = fixture.aws.resources;
    const prefix = 'again/';
    const versioned = (path: string, body: Buffer) =>
      origin.on(path, (_request, response) => response.writeHead(200, { etag: `"${path}"`, 'content-length': body.length }).end(body));
    await fixture.clients.s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'sources/in-s3', Body: 'in S3' }));
    const files = [
      { url: versioned('/again/small', Buffer.from('small')), key: 'small' },
      { url: versioned('/again/large', Buffer.alloc(9 * MIB, 'large')), key: 'large' },
      { url: origin.file('/again/sum', 'sum'), key: 'sum', checksum: { algorithm: 'sha256', value: sha256('sum') } },
      { url: `s3://${bucket}/sources/in-s3`, key: 'copied' },
    ];
    /** What S3 did to these files, reading aside: what it refused is not there. */
    const writes = () =>
      fixture.aws.log
        .of('s3')
        .filter(({ resource, status }) => status < 300 && files.some(({ key }) => resource === `${bucket}/${prefix}${key}`))
        .map(({ operation }) => operation)
        .filter((operation) => operation !== 'HeadObject');

    const first = await exported({ files }, prefix);
    const before = writes();
    expect(new Set(before)).toEqual(new Set(['PutObject', 'CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload', 'CopyObject']));
    const again = await exported({ files }, prefix);
    expect(again.output).toMatchObject({ totalTasks: 4, completedTasks: 4, failedTasks: 0 });
    expect(writes()).toEqual(before);
    const told = async ({ jobId }: { jobId: string }) =>
      (await fixture.resultLines(jobId, prefix)).map(({ key, size, etag }) => ({ key, size, etag }));
    expect(await told(again)).toEqual(await told(first));
  });

  it('come from a host over as many connections at once as it may have, over all threads, and no more', async () => {
    const host = await RawOrigin.start();
    try {
      const gate = deferred();
      let [open, peak] = [0, 0];
      const answer = async (socket: Socket, index: number) => {
        peak = Math.max(peak, ++open);
        await gate.promise;
        // They end in another order than they began, so that the threads take turns.
        await sleep((index * 7) % 23);
        open -= 1;
        socket.write(`${head(200, { 'content-length': '4' })}file`);
      };
      const files = Array.from({ length: 100 }, (_, index) => ({
        url: host.on(`/${index}`, (socket) => void answer(socket, index)),
        key: `${index}`,
      }));
      const done = exported({ files }, 'host/');
      await eventually(() => open >= CONNECTIONS_PER_HOST);
      gate.resolve();
      await done;
      expect(peak).toBe(CONNECTIONS_PER_HOST);
    } finally {
      await host.close();
    }
  });
});
