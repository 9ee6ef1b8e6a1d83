import { Readable } from 'node:stream';
import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLifecycleConfigurationCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutBucketLifecycleConfigurationCommand,
  PutObjectCommand,
  type GetObjectCommandInput,
  type LifecycleRule,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BUCKET, bytesOf, CHECKSUM_MODES, failureOf, hexOf, MIB, rawRequest, startS3, type S3UnderTest } from './s3-support.js';

let s3: S3UnderTest;
let client: S3Client;

beforeEach(async () => {
  s3 = await startS3();
  client = s3.client();
});
afterEach(() => s3.close());

const put = (Key: string, Body: NonNullable<PutObjectCommandInput['Body']>, more: Partial<PutObjectCommandInput> = {}) =>
  client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body, ...more }));
const get = (Key: string, more: Partial<GetObjectCommandInput> = {}) => client.send(new GetObjectCommand({ Bucket: BUCKET, Key, ...more }));
const textAt = async (key: string, more: Partial<GetObjectCommandInput> = {}) => (await get(key, more)).Body?.transformToString();

describe('buckets', () => {
  it('are created once', async () => {
    await client.send(new CreateBucketCommand({ Bucket: 'another' }));
    await client.send(new HeadBucketCommand({ Bucket: 'another' }));
    expect(await failureOf(client.send(new CreateBucketCommand({ Bucket: 'another' })))).toEqual({
      name: 'BucketAlreadyOwnedByYou',
      status: 409,
    });
  });

  it('give back the lifecycle rules they were given, and take none that are not rules', async () => {
    const lifecycle = () => client.send(new GetBucketLifecycleConfigurationCommand({ Bucket: BUCKET }));
    const give = (Rules: LifecycleRule[]) =>
      client.send(new PutBucketLifecycleConfigurationCommand({ Bucket: BUCKET, LifecycleConfiguration: { Rules } }));
    const none = { name: 'NoSuchLifecycleConfiguration', status: 404 };
    expect(await failureOf(lifecycle())).toEqual(none);
    expect(await failureOf(give([]))).toEqual({ name: 'MalformedXML', status: 400 });
    expect(await failureOf(lifecycle())).toEqual(none);
    const rules: LifecycleRule[] = [
      { ID: 'a & b', Status: 'Enabled', Filter: { Prefix: '' }, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } },
      { ID: 'old', Status: 'Disabled', Filter: { Prefix: 'tmp/' }, Expiration: { Days: 1 } },
    ];
    await give(rules);
    expect((await lifecycle()).Rules).toEqual(rules);
  });

  it('that do not exist have no objects', async () => {
    expect(await failureOf(client.send(new HeadBucketCommand({ Bucket: 'missing' })))).toMatchObject({ status: 404 });
    expect(await failureOf(put('a', 'x', { Bucket: 'missing' }))).toEqual({ name: 'NoSuchBucket', status: 404 });
  });

  it('have names that could not leave their folder', async () => {
    expect(await rawRequest(s3.endpoint.url, { path: '/%2e%2e' })).toContain('<Code>InvalidBucketName</Code>');
    expect(() => s3.endpoint.createBucket('Upper')).toThrow('not valid');
  });
});

describe.each(CHECKSUM_MODES)('with checksums %s', (mode) => {
  beforeEach(() => {
    client = s3.client({ requestChecksumCalculation: mode, responseChecksumValidation: mode });
  });

  it('gives back what was put, with its type, metadata and MD5 as entity tag', async () => {
    const body = bytesOf(3 * MIB + 1);
    const stored = await put('dir/file.bin', body, { ContentType: 'image/png', ContentEncoding: 'br', Metadata: { 'job-id': 'j1' } });
    const got = await get('dir/file.bin');
    expect(hexOf('sha256', (await got.Body?.transformToByteArray()) ?? Buffer.of())).toBe(hexOf('sha256', body));
    expect(stored.ETag).toBe(`"${hexOf('md5', body)}"`);
    expect(got).toMatchObject({
      ETag: stored.ETag,
      ContentType: 'image/png',
      ContentEncoding: 'br',
      ContentLength: body.length,
      Metadata: { 'job-id': 'j1' },
    });
    expect(got.LastModified?.getTime()).toBeGreaterThan(Date.now() - 60_000);
  });

  it('takes a stream of known length', async () => {
    const body = bytesOf(300_000);
    await put('streamed', Readable.from([body.subarray(0, 100_000), body.subarray(100_000)]), { ContentLength: body.length });
    const got = await get('streamed');
    expect(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(body)).toBe(true);
    expect(got.ContentEncoding).toBeUndefined();
  });

  it('takes an empty object', async () => {
    await put('empty', Buffer.of());
    expect(await textAt('empty')).toBe('');
    expect(await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'empty' }))).toMatchObject({ ContentLength: 0 });
  });
});

describe('reading', () => {
  beforeEach(() => put('digits', '0123456789'));

  it.each([
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=5-99', '56789', 'bytes 5-9/10'],
  ])('gives the range %s', async (Range, text, range) => {
    const got = await get('digits', { Range });
    expect(await got.Body?.transformToString()).toBe(text);
    expect(got).toMatchObject({ ContentRange: range, $metadata: { httpStatusCode: 206 } });
  });

  it('refuses a range outside the object, and passes over one it does not understand', async () => {
    expect(await failureOf(get('digits', { Range: 'bytes=10-' }))).toEqual({ name: 'InvalidRange', status: 416 });
    expect(await textAt('digits', { Range: 'bytes=1-2,4-5' })).toBe('0123456789');
  });

  it('holds to the conditions of a read', async () => {
    const { ETag, LastModified } = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'digits' }));
    const past = new Date(Date.now() - 3_600_000);
    expect(await textAt('digits', { IfMatch: ETag })).toBe('0123456789');
    expect(await textAt('digits', { IfModifiedSince: past, IfUnmodifiedSince: LastModified })).toBe('0123456789');
    expect(await failureOf(get('digits', { IfMatch: '"other"' }))).toEqual({ name: 'PreconditionFailed', status: 412 });
    expect(await failureOf(get('digits', { IfUnmodifiedSince: past }))).toMatchObject({ status: 412 });
    expect(await failureOf(get('digits', { IfNoneMatch: ETag }))).toMatchObject({ status: 304 });
    expect(await failureOf(get('digits', { IfModifiedSince: LastModified }))).toMatchObject({ status: 304 });
  });

  it('says by HEAD what GET would', async () => {
    const head = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'digits' }));
    const { $metadata: _head, ...facts } = head;
    expect(await get('digits')).toMatchObject(facts);
    expect(await failureOf(client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'missing' })))).toMatchObject({ status: 404 });
    expect(await failureOf(get('missing'))).toEqual({ name: 'NoSuchKey', status: 404 });
  });
});

describe('writing', () => {
  it('holds to the conditions of a write', async () => {
    const { ETag } = await put('once', 'first', { IfNoneMatch: '*' });
    expect(await failureOf(put('once', 'second', { IfNoneMatch: '*' }))).toEqual({ name: 'PreconditionFailed', status: 412 });
    expect(await failureOf(put('once', 'second', { IfMatch: '"other"' }))).toEqual({ name: 'PreconditionFailed', status: 412 });
    await put('once', 'second', { IfMatch: ETag });
    expect(await textAt('once')).toBe('second');
  });

  it('takes 2,048 bytes of user metadata and no more', async () => {
    await put('full', 'x', { Metadata: { a: 'v'.repeat(1_000), bcd: 'v'.repeat(1_044) } });
    expect(await failureOf(put('over', 'x', { Metadata: { a: 'v'.repeat(1_000), bcd: 'v'.repeat(1_045) } }))).toEqual({
      name: 'MetadataTooLarge',
      status: 400,
    });
  });

  it('refuses more than 5 GiB in one put before a byte is sent', async () => {
    const headers = { 'content-length': 5 * 1024 ** 3 + 1, expect: '100-continue' };
    const answer = await rawRequest(s3.endpoint.url, { path: `/${BUCKET}/huge`, headers, leave: 'end' });
    expect(answer).toContain('<Code>EntityTooLarge</Code>');
  });

  it.each([
    'a/../b',
    './c',
    '/leading',
    'double//slash',
    'trailing/',
    'blank and+plus%25&=?#',
    'üñï€😀',
    'control\u0001\u007f',
    'quote"\'<>',
    '.json',
  ])('keeps the key %j as it is', async (key) => {
    await put(key, key);
    expect(await textAt(key)).toBe(key);
    await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: key }));
    expect(await failureOf(get(key))).toMatchObject({ name: 'NoSuchKey' });
  });

  it('takes a key of 1,024 bytes and refuses a longer one', async () => {
    const key = 'é'.repeat(512);
    await put(key, 'long');
    expect(await textAt(key)).toBe('long');
    expect(await failureOf(put(`${key}x`, 'longer'))).toEqual({ name: 'KeyTooLongError', status: 400 });
  });
});

describe('deleting', () => {
  it('succeeds whether or not the key exists', async () => {
    await put('gone', 'x');
    await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'gone' }));
    await client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: 'gone' }));
    expect(await failureOf(get('gone'))).toMatchObject({ name: 'NoSuchKey' });
  });

  it.each(CHECKSUM_MODES)('takes many keys at once, with checksums %s', async (mode) => {
    const deleting = s3.client({ requestChecksumCalculation: mode });
    const keys = ['a & b', '<c>', 'never there'];
    for (const key of keys.slice(0, 2)) await put(key, 'x');
    const Objects = keys.map((Key) => ({ Key }));
    const told = await deleting.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }));
    expect(told.Deleted?.map(({ Key }) => Key)).toEqual(keys);
    expect(await failureOf(get('a & b'))).toMatchObject({ name: 'NoSuchKey' });
    const quiet = await deleting.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects, Quiet: true } }));
    expect(quiet.Deleted).toBeUndefined();
  });

  it('refuses more than 1,000 keys, and a list whose wholeness nothing proves', async () => {
    const Objects = Array.from({ length: 1_001 }, (_, index) => ({ Key: `k${index}` }));
    const tooMany = client.send(new DeleteObjectsCommand({ Bucket: BUCKET, Delete: { Objects } }));
    expect(await failureOf(tooMany)).toEqual({ name: 'MalformedXML', status: 400 });
    const body = '<Delete><Object><Key>a</Key></Object></Delete>';
    const request = { method: 'POST', path: `/${BUCKET}?delete`, headers: { 'content-length': body.length }, body: [body] };
    expect(await rawRequest(s3.endpoint.url, request)).toContain('Missing required header');
  });
});

describe('copying', () => {
  const copy = (more: object) =>
    client.send(new CopyObjectCommand({ Bucket: BUCKET, Key: 'copy', CopySource: `${BUCKET}/so%20urce`, ...more }));
  beforeEach(() => put('so urce', 'bytes', { ContentType: 'text/csv', Metadata: { a: '1' }, ChecksumAlgorithm: 'SHA256' }));

  it('keeps type, metadata and checksum', async () => {
    const { CopyObjectResult } = await copy({});
    const copied = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'copy', ChecksumMode: 'ENABLED' }));
    const source = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'so urce', ChecksumMode: 'ENABLED' }));
    expect(await textAt('copy')).toBe('bytes');
    expect(copied).toMatchObject({
      ContentType: 'text/csv',
      Metadata: { a: '1' },
      ETag: source.ETag,
      ChecksumSHA256: source.ChecksumSHA256,
    });
    expect(CopyObjectResult).toMatchObject({ ETag: source.ETag, ChecksumSHA256: source.ChecksumSHA256 });
  });

  it('replaces type and metadata when told to, also in place', async () => {
    await copy({ Key: 'so urce', MetadataDirective: 'REPLACE', Metadata: { b: '2' }, ContentType: 'text/plain' });
    expect(await get('so urce')).toMatchObject({ ContentType: 'text/plain', Metadata: { b: '2' } });
    expect(await textAt('so urce')).toBe('bytes');
  });

  it('refuses what cannot be meant', async () => {
    expect(await failureOf(copy({ Key: 'so urce' }))).toEqual({ name: 'InvalidRequest', status: 400 });
    expect(await failureOf(copy({ CopySource: `${BUCKET}/missing` }))).toEqual({ name: 'NoSuchKey', status: 404 });
    expect(await failureOf(copy({ CopySource: `missing/key` }))).toEqual({ name: 'NoSuchBucket', status: 404 });
    expect(await failureOf(copy({ CopySource: BUCKET }))).toEqual({ name: 'InvalidArgument', status: 400 });
    expect(await failureOf(copy({ CopySourceIfMatch: '"other"' }))).toEqual({ name: 'PreconditionFailed', status: 412 });
  });
});

describe('every request', () => {
  it('needs a signature, in a header or in the URL', async () => {
    await put('a', 'bytes');
    const unsigned = await fetch(`${s3.endpoint.url}/${BUCKET}/a`);
    expect([unsigned.status, await unsigned.text()]).toEqual([403, expect.stringContaining('<Code>AccessDenied</Code>')]);
    const presigned = await fetch(`${s3.endpoint.url}/${BUCKET}/a?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=00`);
    expect(await presigned.text()).toBe('bytes');
  });

  it('is refused when it asks for what is not there', async () => {
    const ask = (method: string, path: string) => rawRequest(s3.endpoint.url, { method, path, headers: { 'content-length': 0 } });
    expect(await ask('GET', `/${BUCKET}/a?tagging`)).toContain('<Code>NotImplemented</Code>');
    expect(await ask('GET', `/${BUCKET}/a?versionId=1`)).toContain('<Code>NotImplemented</Code>');
    expect(await ask('PATCH', `/${BUCKET}/a`)).toContain('<Code>NotImplemented</Code>');
    expect(await ask('GET', `/${BUCKET}/%E0%A4%A`)).toContain('<Code>InvalidURI</Code>');
  });

  it('leaves one record, without headers, queries or bodies', async () => {
    await put('dir/a', 'bytes', { Metadata: { secret: 'hidden' } });
    await failureOf(get('dir/b'));
    await fetch(`${s3.endpoint.url}/${BUCKET}/c?tagging&token=hidden`);
    expect(s3.log.of('s3').map(({ operation, resource, status, error }) => ({ operation, resource, status, error }))).toEqual([
      { operation: 'PutObject', resource: `${BUCKET}/dir/a`, status: 200, error: undefined },
      { operation: 'GetObject', resource: `${BUCKET}/dir/b`, status: 404, error: 'NoSuchKey' },
      { operation: 'Unknown', resource: `${BUCKET}/c`, status: 501, error: 'NotImplemented' },
    ]);
    expect(s3.log.of('s3', 'PutObject')[0]?.detail).toEqual({ size: 5 });
    expect(JSON.stringify(s3.log.records)).not.toContain('hidden');
  });
});
