import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { S3Sink } from '../../bench/sink/s3-sink.js';
import { Http1Server } from '../../bench/wire/http1-server.js';

const MIB = 1024 * 1024;
const Bucket = 'bench';

describe('the sink of the bench', () => {
  let server: Http1Server;
  let client: S3Client;

  beforeAll(async () => {
    server = await Http1Server.listen(new S3Sink().serve);
    client = new S3Client({
      endpoint: server.url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED',
      maxAttempts: 1,
    });
  });

  afterAll(() => {
    client.destroy();
    server.close();
  });

  const crcOf = (bytes: Buffer) => crc32(bytes).toString(16).padStart(8, '0');
  const stored = async () => (await fetch(`${server.url}/-/objects`)).json();
  const clear = () => fetch(`${server.url}/-/clear`, { method: 'POST' });

  it('counts and digests an object, and has the MD5 for its ETag', async () => {
    await clear();
    const Body = randomBytes(16_384);
    const { ETag } = await client.send(new PutObjectCommand({ Bucket, Key: 'a b/ü', Body, Metadata: { mtime: '1' } }));
    expect(ETag).toBe(`"${createHash('md5').update(Body).digest('hex')}"`);
    expect(await client.send(new HeadObjectCommand({ Bucket, Key: 'a b/ü' }))).toMatchObject({
      ContentLength: 16_384,
      ETag,
      Metadata: { mtime: '1' },
    });
    expect(await stored()).toEqual({ objects: [['a b/ü', 16_384, crcOf(Body)]], openUploads: 0 });
  });

  it('joins the parts of an upload in their order, with the ETag that S3 gives for the MD5s it was told', async () => {
    await clear();
    const parts = [randomBytes(5 * MIB), randomBytes(3 * MIB), randomBytes(7)];
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'parts' }));
    const md5s = parts.map((Body) => createHash('md5').update(Body).digest());
    const numbered = parts.map((Body, index) => ({ Body, PartNumber: index + 1, ContentMD5: md5s[index]?.toString('base64') }));
    for (const part of numbered.toReversed()) await client.send(new UploadPartCommand({ Bucket, Key: 'parts', UploadId, ...part }));
    expect(await stored()).toEqual({ objects: [], openUploads: 1 });
    const { ETag } = await client.send(new CompleteMultipartUploadCommand({ Bucket, Key: 'parts', UploadId }));
    expect(ETag).toBe(`"${createHash('md5').update(Buffer.concat(md5s)).digest('hex')}-3"`);
    const whole = Buffer.concat(parts);
    expect(await stored()).toEqual({ objects: [['parts', whole.length, crcOf(whole)]], openUploads: 0 });
  });

  it('forgets an aborted upload, and refuses its parts', async () => {
    await clear();
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k' }));
    await client.send(new AbortMultipartUploadCommand({ Bucket, Key: 'k', UploadId }));
    expect(await stored()).toEqual({ objects: [], openUploads: 0 });
    const late = client.send(new UploadPartCommand({ Bucket, Key: 'k', UploadId, PartNumber: 1, Body: 'x' }));
    await expect(late).rejects.toMatchObject({ name: 'NoSuchUpload' });
  });

  it('keeps what the service reads again, and nothing else', async () => {
    await client.send(new PutObjectCommand({ Bucket, Key: 'exports/1/_export/1/a.json', Body: 'hello' }));
    await client.send(new PutObjectCommand({ Bucket, Key: 'exports/1/file', Body: 'hello' }));
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: 'exports/1/_export/1/a.json' }));
    expect(await Body?.transformToString()).toBe('hello');
    await expect(client.send(new GetObjectCommand({ Bucket, Key: 'exports/1/file' }))).rejects.toMatchObject({ name: 'NotImplemented' });
    await client.send(new HeadBucketCommand({ Bucket }));
    await expect(client.send(new HeadObjectCommand({ Bucket, Key: 'none' }))).rejects.toMatchObject({ name: 'NotFound' });
  });

  it('refuses a body whose length it is not told', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write('PUT /bench/k HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /);
  });
});
