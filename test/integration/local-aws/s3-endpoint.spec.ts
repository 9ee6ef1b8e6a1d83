import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetBucketLifecycleConfigurationCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketLifecycleConfigurationCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BUCKET, bodyFiles, bytesOf, eventually, MIB, rawRequest, startS3, type S3UnderTest } from './s3-support.js';

const running: S3UnderTest[] = [];
let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 's3-spec-'));
});
afterEach(async () => {
  for (const s3 of running.splice(0)) await s3.close();
  await rm(dataDir, { recursive: true });
});

async function start(options: Parameters<typeof startS3>[0] = {}): Promise<S3UnderTest> {
  const s3 = await startS3(options);
  running.push(s3);
  return s3;
}

async function startUpload(s3: S3UnderTest, Key: string, bodies: Buffer[], more: object = {}) {
  const client = s3.client({ requestChecksumCalculation: 'WHEN_REQUIRED' });
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key, ...more }));
  const Parts = await Promise.all(
    bodies.map(async (Body, index) => {
      const { ETag } = await client.send(new UploadPartCommand({ Bucket: BUCKET, Key, UploadId, PartNumber: index + 1, Body }));
      return { ETag, PartNumber: index + 1 };
    }),
  );
  return { Bucket: BUCKET, Key, UploadId, MultipartUpload: { Parts } };
}

describe('a data folder', () => {
  it('keeps buckets with their rules, objects and open uploads over a restart', async () => {
    const first = await start({ dataDir });
    await first.client().send(new PutObjectCommand({ Bucket: BUCKET, Key: 'ü/1', Body: 'bytes', Metadata: { a: 'b' } }));
    const done = await startUpload(first, 'done', [bytesOf(5 * MIB), bytesOf(10)]);
    await first.client().send(new CompleteMultipartUploadCommand(done));
    const open = await startUpload(first, 'open', [bytesOf(2_000)], { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' });
    const rule = {
      ID: 'rule',
      Status: 'Enabled',
      Filter: { Prefix: '' },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 },
    } as const;
    const given = { Bucket: BUCKET, LifecycleConfiguration: { Rules: [rule] } };
    await first.client().send(new PutBucketLifecycleConfigurationCommand(given));
    await first.close();

    const second = await start({ dataDir, buckets: [] });
    const client = second.client();
    const { Body, Metadata } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'ü/1' }));
    expect([await Body?.transformToString(), Metadata]).toEqual(['bytes', { a: 'b' }]);
    expect(await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'done' }))).toMatchObject({ ContentLength: 5 * MIB + 10 });
    expect(second.endpoint.openUploads(BUCKET)).toEqual([{ key: 'open', uploadId: open.UploadId }]);
    expect(await client.send(new CompleteMultipartUploadCommand(open))).toHaveProperty('ChecksumCRC32');
    expect((await client.send(new GetBucketLifecycleConfigurationCommand({ Bucket: BUCKET }))).Rules).toEqual([rule]);
  });

  it('holds the bytes of what exists and nothing else', async () => {
    const s3 = await start({ dataDir });
    const client = s3.client();
    const put = (Key: string) => client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'x' }));
    await put('a');
    await put('a');
    await put('b');
    await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'b' }));
    expect(await bodyFiles(dataDir)).toHaveLength(1);
    const upload = await startUpload(s3, 'c', [bytesOf(5 * MIB), bytesOf(10)]);
    const [first] = upload.MultipartUpload.Parts;
    await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: first ? [first] : [] } }));
    expect(await bodyFiles(dataDir)).toHaveLength(2);
    expect(await readdir(join(dataDir, 'buckets', BUCKET, 'uploads'))).toEqual([]);
  });

  it('is swept at the start of what a crash left behind', async () => {
    await (await start({ dataDir })).close();
    await writeFile(join(dataDir, 'bodies', 'left-over'), 'half');
    await start({ dataDir });
    expect(await bodyFiles(dataDir)).toEqual([]);
  });
});

describe('closing', () => {
  it('may be asked for twice, and cuts a body in the middle', async () => {
    const s3 = await start({ dataDir });
    const sending = rawRequest(s3.endpoint.url, { path: `/${BUCKET}/a`, headers: { 'content-length': 1_000 }, body: ['begin'] });
    await eventually(async () => (await bodyFiles(dataDir)).length === 1);
    await Promise.all([s3.endpoint.close(), s3.endpoint.close()]);
    expect(await sending).toBe('');
    expect(await bodyFiles(dataDir)).toEqual([]);
  });
});
