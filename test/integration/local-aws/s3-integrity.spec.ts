import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import {
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  base64Of,
  BUCKET,
  bodyFiles,
  bytesOf,
  eventually,
  failureOf,
  hexOf,
  rawRequest,
  startS3,
  type RawRequest,
  type S3UnderTest,
} from './s3-support.js';

const ALGORITHMS = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const;
const BODY = bytesOf(100_003);
const path = `/${BUCKET}/a`;

let s3: S3UnderTest;
let client: S3Client;
let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 's3-spec-'));
  s3 = await startS3({ dataDir });
  client = s3.client();
});
afterEach(async () => {
  await s3.close();
  await rm(dataDir, { recursive: true });
});

const head = () => client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'a', ChecksumMode: 'ENABLED' }));
const raw = (request: Omit<RawRequest, 'path'>) => rawRequest(s3.endpoint.url, { path, ...request });

/** Nothing visible and nothing kept. */
async function expectNothingStored(): Promise<void> {
  expect(await failureOf(head())).toMatchObject({ status: 404 });
  expect(await bodyFiles(dataDir)).toEqual([]);
}

function crc32Of(bytes: Buffer): string {
  const digest = Buffer.alloc(4);
  digest.writeUInt32BE(crc32(bytes));
  return digest.toString('base64');
}

describe.each(ALGORITHMS)('a %s', (ChecksumAlgorithm) => {
  const field = `Checksum${ChecksumAlgorithm}` as const;

  it('in a header is checked, kept, and given back to those who ask', async () => {
    const stored = await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: BODY, ChecksumAlgorithm }));
    expect(await head()).toMatchObject({ [field]: stored[field], ChecksumType: 'FULL_OBJECT' });
    const read = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: 'a' }));
    expect(BODY.equals((await read.Body?.transformToByteArray()) ?? Buffer.of())).toBe(true);
  });

  it('in a trailer is the same as in a header', async () => {
    const inHeader = await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'b', Body: BODY, ChecksumAlgorithm }));
    const Body = Readable.from([BODY.subarray(0, 70_000), BODY.subarray(70_000)]);
    const inTrailer = await client.send(
      new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body, ContentLength: BODY.length, ChecksumAlgorithm }),
    );
    expect(inTrailer[field]).toBe(inHeader[field]);
  });

  it('that is wrong leaves nothing', async () => {
    const wrong = (await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'b', Body: 'other', ChecksumAlgorithm })))[field];
    const put = client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: BODY, [field]: wrong }));
    expect(await failureOf(put)).toEqual({ name: 'BadDigest', status: 400 });
    expect(await failureOf(head())).toMatchObject({ status: 404 });
    expect(await bodyFiles(dataDir)).toHaveLength(1);
  });

  it('that is none is refused', async () => {
    const put = client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: BODY, [field]: 'AAA=' }));
    expect(await failureOf(put)).toEqual({ name: 'InvalidRequest', status: 400 });
  });
});

it('computes the CRCs that the literature gives for "123456789"', async () => {
  const Body = '123456789';
  const sums = await Promise.all(
    ALGORITHMS.slice(0, 3).map((ChecksumAlgorithm) =>
      client.send(new PutObjectCommand({ Bucket: BUCKET, Key: ChecksumAlgorithm, Body, ChecksumAlgorithm })),
    ),
  );
  const hex = (value: string | undefined) => Buffer.from(value ?? '', 'base64').toString('hex');
  expect(hex(sums[0]?.ChecksumCRC32)).toBe('cbf43926');
  expect(hex(sums[1]?.ChecksumCRC32C)).toBe('e3069283');
  expect(hex(sums[2]?.ChecksumCRC64NVME)).toBe('ae8b14860a799888');
});

describe('the claims of a plain body', () => {
  const put = (more: object) => client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: BODY, ...more }));

  it('include Content-MD5', async () => {
    await put({ ContentMD5: base64Of('md5', BODY) });
    expect(await failureOf(put({ ContentMD5: base64Of('md5', BODY.subarray(1)) }))).toEqual({ name: 'BadDigest', status: 400 });
    expect(await failureOf(put({ ContentMD5: 'bm8=' }))).toEqual({ name: 'InvalidDigest', status: 400 });
  });

  it('include the SHA-256 of the signature', async () => {
    const send = (hash: string) => raw({ headers: { 'content-length': 4, 'x-amz-content-sha256': hash }, body: ['body'] });
    expect(await send(hexOf('sha256', Buffer.from('else')))).toContain('<Code>XAmzContentSHA256Mismatch</Code>');
    await expectNothingStored();
    expect(await send(hexOf('sha256', Buffer.from('body')))).toContain('200 OK');
  });

  it('are one checksum at most', async () => {
    const headers = {
      'content-length': 4,
      'x-amz-checksum-crc32': crc32Of(Buffer.from('body')),
      'x-amz-checksum-sha1': base64Of('sha1', Buffer.from('body')),
    };
    expect(await raw({ headers, body: ['body'] })).toContain('Expecting a single x-amz-checksum- header');
    const promised = { 'content-length': 4, 'x-amz-sdk-checksum-algorithm': 'CRC32' };
    expect(await raw({ headers: promised, body: ['body'] })).toContain('no corresponding x-amz-checksum-*');
  });

  it('hold for parts too', async () => {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key: 'a', ChecksumAlgorithm: 'CRC32' }));
    const part = { Bucket: BUCKET, Key: 'a', UploadId, PartNumber: 1, Body: BODY, ChecksumCRC32: 'AAAAAA==' };
    expect(await failureOf(client.send(new UploadPartCommand(part)))).toEqual({ name: 'BadDigest', status: 400 });
    expect(await bodyFiles(dataDir)).toEqual([]);
  });
});

describe('a body that is cut', () => {
  const headers = { 'content-length': BODY.length };

  it('leaves nothing when the client vanishes', async () => {
    await raw({ headers, body: [BODY.subarray(0, 50_000)], leave: 'vanish' });
    await eventually(() => s3.log.of('s3', 'PutObject').length === 1);
    expect(s3.log.of('s3')[0]).toMatchObject({ status: 400, error: 'IncompleteBody' });
    await expectNothingStored();
  });

  it('is told so when the client only ends its side', async () => {
    expect(await raw({ headers, body: [BODY.subarray(0, 50_000)], leave: 'end' })).toContain('<Code>IncompleteBody</Code>');
    await eventually(() => s3.log.of('s3', 'PutObject').length === 1);
    await expectNothingStored();
  });

  it('leaves the object that was there before', async () => {
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: 'before' }));
    await raw({ headers, body: [BODY.subarray(0, 50_000)], leave: 'vanish' });
    await eventually(() => s3.log.of('s3', 'PutObject').length === 2);
    expect(await head()).toMatchObject({ ContentLength: 6 });
  });

  it('must say how long it is', async () => {
    expect(await raw({ headers: { 'transfer-encoding': 'chunked' }, body: ['0\r\n\r\n'] })).toContain('411');
  });
});

describe('a body that comes slowly', () => {
  /** Half of it, then what happens meanwhile, then the rest. */
  async function* around(meanwhile: () => Promise<unknown>): AsyncGenerator<Buffer> {
    yield BODY.subarray(0, 50_000);
    await eventually(async () => (await bodyFiles(dataDir)).length === 1);
    await meanwhile();
    yield BODY.subarray(50_000);
  }

  it('loses against a first writer that came in meanwhile', async () => {
    const first = new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: 'first', IfNoneMatch: '*' });
    const headers = { 'content-length': BODY.length, 'if-none-match': '*' };
    expect(await raw({ headers, body: around(() => client.send(first)) })).toContain('<Code>PreconditionFailed</Code>');
    expect(await head()).toMatchObject({ ContentLength: 5 });
    expect(await bodyFiles(dataDir)).toHaveLength(1);
  });

  it('leaves nothing when its upload was aborted meanwhile', async () => {
    const target = { Bucket: BUCKET, Key: 'a' };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(target));
    const abort = () => client.send(new AbortMultipartUploadCommand({ ...target, UploadId }));
    const request = { path: `${path}?partNumber=1&uploadId=${UploadId}`, headers: { 'content-length': BODY.length }, body: around(abort) };
    expect(await rawRequest(s3.endpoint.url, request)).toContain('<Code>NoSuchUpload</Code>');
    await expectNothingStored();
  });
});

describe('an aws-chunked body', () => {
  const SIGNATURE = `;chunk-signature=${'0'.repeat(64)}`;
  const text = 'x'.repeat(9_000);
  const trailer = `x-amz-checksum-crc32:${crc32Of(Buffer.from(`${text}end`))}\r\n`;
  const [first, last] = [`2328\r\n${text}\r\n`, `3\r\nend\r\n`];

  const send = (body: string, more: Record<string, string | number> = {}) => {
    const headers = {
      'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      'content-encoding': 'aws-chunked',
      'x-amz-decoded-content-length': text.length + 3,
      'x-amz-trailer': 'x-amz-checksum-crc32',
      'content-length': body.length,
      ...more,
    };
    // Split where it hurts: inside sizes, line ends and trailers.
    return raw({ headers, body: [...(body.match(/.{1,2999}/gs) ?? [])] });
  };

  it('is unwrapped and checked against its trailer', async () => {
    expect(await send(`${first}${last}0\r\n${trailer}\r\n`)).toContain('200 OK');
    expect(await head()).toMatchObject({ ContentLength: 9_003, ChecksumCRC32: crc32Of(Buffer.from(`${text}end`)) });
    expect((await head()).ContentEncoding).toBeUndefined();
  });

  it('may be signed chunk by chunk, with a trailer or without', async () => {
    const signed = `2328${SIGNATURE}\r\n${text}\r\n3${SIGNATURE}\r\nend\r\n0${SIGNATURE}\r\n`;
    const withTrailer = { 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER' };
    expect(await send(`${signed}${trailer}x-amz-trailer-signature:00\r\n\r\n`, withTrailer)).toContain('200 OK');
    const headers = {
      'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
      'x-amz-decoded-content-length': 9_003,
      'content-length': signed.length + 2,
    };
    expect(await raw({ headers, body: [signed, '\r\n'] })).toContain('200 OK');
    expect(await head()).toMatchObject({ ContentLength: 9_003 });
  });

  it.each([
    ['BadDigest', 'has another checksum', `${first}${last}0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n`],
    ['InvalidRequest', 'has a checksum that is none', `${first}${last}0\r\nx-amz-checksum-crc32:AAA=\r\n\r\n`],
    ['MalformedTrailerError', 'lacks its trailer', `${first}${last}0\r\n\r\n`],
    ['MalformedTrailerError', 'has a trailer that was not announced', `${first}${last}0\r\n${trailer}x-amz-checksum-sha1:00\r\n\r\n`],
    ['MalformedTrailerError', 'has a trailer that is none', `${first}${last}0\r\nnonsense\r\n\r\n`],
    ['InvalidChunkSizeError', 'has a small chunk before the last', `${last}${first}0\r\n${trailer}\r\n`],
    ['IncompleteBody', 'is shorter than it says', `${first}0\r\n${trailer}\r\n`],
    ['IncompleteBody', 'is longer than it says', `${first}4\r\nend!\r\n0\r\n${trailer}\r\n`],
    ['IncompleteBody', 'stops between chunks', first],
    ['IncompleteBody', 'goes on after its end', `${first}${last}0\r\n${trailer}\r\nmore\r\n`],
    ['IncompleteBody', 'has a size that is none', `${first}what\r\nend\r\n0\r\n${trailer}\r\n`],
    ['IncompleteBody', 'is out of step with its sizes', `${first}2\r\nend\r\n0\r\n${trailer}\r\n`],
    ['IncompleteBody', 'has no line ends', 'f'.repeat(9_000)],
  ])('is refused with %s when it %s', async (code, _fault, body) => {
    expect(await send(body)).toContain(`<Code>${code}</Code>`);
    await expectNothingStored();
  });

  it('must say how long it is once unwrapped', async () => {
    const headers = { 'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER', 'content-length': 5 };
    expect(await raw({ headers, body: ['0\r\n\r\n'] })).toContain('<Code>MissingContentLength</Code>');
    expect(await send('0\r\n\r\n', { 'x-amz-trailer': 'x-amz-checksum-crc16' })).toContain('x-amz-trailer header is not supported');
  });

  it('of small pieces is refused as the SDK sends it, and taken once the SDK gathers them', async () => {
    const pieces = () => Readable.from(Array.from({ length: 24 }, () => Buffer.alloc(1_024)));
    const put = (sender: S3Client) =>
      sender.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'a', Body: pieces(), ContentLength: 24 * 1_024 }));
    // The SDK warns on the console about a stream that it cannot send again, unless it has a logger.
    const quiet = s3.client({ logger: { debug() {}, info() {}, warn() {}, error() {} } });
    expect(await failureOf(put(quiet))).toEqual({ name: 'InvalidChunkSizeError', status: 400 });
    await put(s3.client({ requestStreamBufferSize: 16_384 }));
    expect(await head()).toMatchObject({ ContentLength: 24 * 1_024 });
  });
});
