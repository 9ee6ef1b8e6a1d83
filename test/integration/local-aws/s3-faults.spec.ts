import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BUCKET, bytesOf, eventually, failureOf, MIB, rawRequest, startS3, type S3UnderTest } from './s3-support.js';

let s3: S3UnderTest;
let client: S3Client;

beforeEach(async () => {
  s3 = await startS3();
  client = s3.client();
});
afterEach(() => s3.close());

const put = (Key: string, Body: string | Buffer = 'bytes') => client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body }));
const head = (Key: string) => client.send(new HeadObjectCommand({ Bucket: BUCKET, Key }));
const bytesAt = async (Key: string) => {
  const reader = s3.client({ responseChecksumValidation: 'WHEN_REQUIRED' });
  const { Body } = await reader.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
};

async function uploadOnePart(Key: string, Body: Buffer) {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key }));
  const { ETag } = await client.send(new UploadPartCommand({ Bucket: BUCKET, Key, UploadId, PartNumber: 1, Body }));
  return { Bucket: BUCKET, Key, UploadId, MultipartUpload: { Parts: [{ ETag, PartNumber: 1 }] } };
}

describe('a fault', () => {
  it('strikes the operation and the keys that it names, as often as it says, after what it lets pass', async () => {
    s3.endpoint.faults.add({
      operation: 'PutObject',
      key: /^a/,
      after: 1,
      times: 2,
      action: { kind: 'fail', status: 503, code: 'SlowDown' },
    });
    await put('a1');
    await put('b');
    await head('a1');
    expect(await failureOf(put('a2'))).toEqual({ name: 'SlowDown', status: 503 });
    expect(await failureOf(put('a3'))).toEqual({ name: 'SlowDown', status: 503 });
    await put('a4');
    expect(await failureOf(head('a2'))).toMatchObject({ status: 404 });
    expect(s3.log.of('s3', 'PutObject').map(({ fault }) => fault)).toEqual([undefined, undefined, 'failed', 'failed', undefined]);
  });

  it('ends when it is taken away, and gives way to one that was there before it', async () => {
    const release = s3.endpoint.faults.add({ action: { kind: 'fail', status: 500, code: 'InternalError' } });
    const releaseLater = s3.endpoint.faults.add({ action: { kind: 'fail', status: 503, code: 'SlowDown' } });
    expect(await failureOf(put('a'))).toMatchObject({ name: 'InternalError' });
    release();
    expect(await failureOf(put('a'))).toMatchObject({ name: 'SlowDown' });
    releaseLater();
    await put('a');
  });

  it('is retried by the SDK like one of AWS', async () => {
    s3.endpoint.faults.add({ times: 2, action: { kind: 'fail', status: 503, code: 'SlowDown' } });
    await s3.client({ maxAttempts: 3 }).send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: 'x' }));
    expect(s3.log.of('s3', 'PutObject').map(({ status }) => status)).toEqual([503, 503, 200]);
  });
});

describe('each kind of fault', () => {
  it('drop-reply applies the request and leaves the client without an answer', async () => {
    s3.endpoint.faults.add({ times: 1, action: { kind: 'drop-reply' } });
    expect(await failureOf(put('a'))).toMatchObject({ status: undefined });
    expect(await head('a')).toMatchObject({ ContentLength: 5 });
    expect(s3.log.of('s3')[0]).toMatchObject({ status: 200, fault: 'dropped-reply' });
  });

  it('drop-reply after a completion leaves an object and no upload', async () => {
    const upload = await uploadOnePart('a', bytesOf(1_000));
    s3.endpoint.faults.add({ operation: 'CompleteMultipartUpload', times: 1, action: { kind: 'drop-reply' } });
    expect(await failureOf(client.send(new CompleteMultipartUploadCommand(upload)))).toMatchObject({ status: undefined });
    expect(await failureOf(client.send(new CompleteMultipartUploadCommand(upload)))).toMatchObject({ name: 'NoSuchUpload' });
    expect(await head('a')).toMatchObject({ ContentLength: 1_000 });
  });

  it('cut applies nothing', async () => {
    s3.endpoint.faults.add({ times: 1, action: { kind: 'cut' } });
    expect(await failureOf(put('a', bytesOf(2 * MIB)))).toMatchObject({ status: undefined });
    expect(await failureOf(head('a'))).toMatchObject({ status: 404 });
    expect(s3.log.of('s3')[0]).toMatchObject({ operation: 'PutObject', status: 0, fault: 'cut' });
  });

  it('delay applies late', async () => {
    s3.endpoint.faults.add({ operation: 'PutObject', action: { kind: 'delay', ms: 100 } });
    const startedMs = performance.now();
    await put('a');
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(95);
    expect(s3.log.of('s3')[0]).toMatchObject({ status: 200, fault: 'delayed' });
  });

  it('delay ends when the client leaves, and applies nothing', async () => {
    s3.endpoint.faults.add({ operation: 'PutObject', action: { kind: 'delay', ms: 600_000 } });
    await rawRequest(s3.endpoint.url, { path: `/${BUCKET}/a`, headers: { 'content-length': 1 }, body: ['x'], leave: 'vanish' });
    await eventually(() => s3.log.of('s3', 'PutObject').length === 1);
    expect(await failureOf(head('a'))).toMatchObject({ status: 404 });
  });

  it('late-200-error is an error in an answer that says 200, with the upload still open', async () => {
    const upload = await uploadOnePart('a', bytesOf(1_000));
    s3.endpoint.faults.add({ times: 1, action: { kind: 'late-200-error', code: 'InternalError' } });
    await put('other');
    expect(await failureOf(client.send(new CompleteMultipartUploadCommand(upload)))).toMatchObject({ name: 'InternalError' });
    expect(s3.log.of('s3', 'CompleteMultipartUpload')[0]).toMatchObject({
      status: 200,
      error: 'InternalError',
      fault: 'completed-with-error',
    });
    expect(s3.endpoint.openUploads(BUCKET)).toHaveLength(1);
    await client.send(new CompleteMultipartUploadCommand(upload));
  });

  it('late-200-error strikes a copy as well', async () => {
    await put('a');
    s3.endpoint.faults.add({ times: 1, action: { kind: 'late-200-error', code: 'InternalError' } });
    const copy = () => client.send(new CopyObjectCommand({ Bucket: BUCKET, Key: 'b', CopySource: `${BUCKET}/a` }));
    expect(await failureOf(copy())).toMatchObject({ name: 'InternalError' });
    expect(await failureOf(head('b'))).toMatchObject({ status: 404 });
    await copy();
  });

  it('cut-body ends the connection after so many bytes of an object', async () => {
    await put('a', bytesOf(100_000));
    s3.endpoint.faults.add({ times: 1, action: { kind: 'cut-body', afterBytes: 1_000 } });
    const answer = await rawRequest(s3.endpoint.url, { method: 'GET', path: `/${BUCKET}/a`, headers: {} });
    expect(answer).toContain('content-length: 100000');
    expect(Buffer.byteLength(answer.slice(answer.indexOf('\r\n\r\n') + 4), 'latin1')).toBe(1_000);
    expect(await bytesAt('a')).toHaveLength(100_000);
  });

  it('slow-body sends an object whole, but no faster than so many bytes a second', async () => {
    const body = bytesOf(1_000);
    await put('a', body);
    s3.endpoint.faults.add({ times: 1, action: { kind: 'slow-body', bytesPerSecond: 2_500 } });
    const before = performance.now();
    expect(await bytesAt('a')).toEqual(body);
    expect(performance.now() - before).toBeGreaterThan(250);
  });

  it.each(['PutObject', 'UploadPart', 'CompleteMultipartUpload'] as const)('flip-byte damages what %s verified', async (operation) => {
    const body = bytesOf(1_000);
    s3.endpoint.faults.add({ operation, times: 1, action: { kind: 'flip-byte' } });
    if (operation === 'PutObject') await put('a', body);
    else await client.send(new CompleteMultipartUploadCommand(await uploadOnePart('a', body)));
    const stored = await bytesAt('a');
    expect(stored.filter((byte, index) => byte !== body[index])).toHaveLength(1);
    expect(s3.log.of('s3', operation)[0]).toMatchObject({ status: 200, fault: 'flipped-byte' });
  });
});
