import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
  type CompletedPart,
  type CompleteMultipartUploadCommandInput,
  type CreateMultipartUploadCommandInput,
  type S3Client,
  type UploadPartCommandInput,
} from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BUCKET, bytesOf, failureOf, hexOf, MIB, rawRequest, startS3, type S3UnderTest } from './s3-support.js';

const FIRST = bytesOf(5 * MIB);
const SECOND = bytesOf(123_457);
const WHOLE = Buffer.concat([FIRST, SECOND]);
const Key = 'dir/large.bin';

let s3: S3UnderTest;
let client: S3Client;

beforeEach(async () => {
  s3 = await startS3();
  client = s3.client({ requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED' });
});
afterEach(() => s3.close());

async function create(more: Partial<CreateMultipartUploadCommandInput> = {}): Promise<string> {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: BUCKET, Key, ...more }));
  return UploadId ?? '';
}

async function upload(
  UploadId: string,
  PartNumber: number,
  Body: Buffer,
  more: Partial<UploadPartCommandInput> = {},
): Promise<CompletedPart> {
  const { $metadata: _, ...part } = await client.send(new UploadPartCommand({ Bucket: BUCKET, Key, UploadId, PartNumber, Body, ...more }));
  return { ...part, PartNumber };
}

const complete = (UploadId: string, Parts: CompletedPart[], more: Partial<CompleteMultipartUploadCommandInput> = {}) =>
  client.send(new CompleteMultipartUploadCommand({ Bucket: BUCKET, Key, UploadId, MultipartUpload: { Parts }, ...more }));
const abort = (UploadId: string) => client.send(new AbortMultipartUploadCommand({ Bucket: BUCKET, Key, UploadId }));
const get = async (Range?: string) => {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key, Range }));
  return Buffer.from((await Body?.transformToByteArray()) ?? []);
};
const etagOnly = ({ PartNumber, ETag }: CompletedPart): CompletedPart => ({ PartNumber, ETag });

describe('an upload in parts', () => {
  it('becomes an object at its completion and not before, with what was said at its creation', async () => {
    const id = await create({ ContentType: 'video/mp4', Metadata: { attempt: 'u1' } });
    const parts = [await upload(id, 1, FIRST), await upload(id, 2, SECOND)];
    expect(await failureOf(get())).toMatchObject({ name: 'NoSuchKey' });
    expect(s3.endpoint.openUploads(BUCKET)).toEqual([{ key: Key, uploadId: id }]);
    const { ETag } = await complete(id, parts);
    const digests = Buffer.concat([FIRST, SECOND].map((part) => Buffer.from(hexOf('md5', part), 'hex')));
    expect(ETag).toBe(`"${hexOf('md5', digests)}-2"`);
    expect(await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key }))).toMatchObject({
      ETag,
      ContentLength: WHOLE.length,
      ContentType: 'video/mp4',
      Metadata: { attempt: 'u1' },
    });
    expect((await get()).equals(WHOLE)).toBe(true);
    expect(s3.endpoint.openUploads(BUCKET)).toEqual([]);
    expect(s3.log.of('s3', 'CompleteMultipartUpload')[0]?.detail).toEqual({ uploadId: id, size: WHOLE.length, parts: 2 });
  });

  it('is read across the border of its parts', async () => {
    const id = await create();
    await complete(id, [await upload(id, 3, FIRST), await upload(id, 7, SECOND)]);
    const border = FIRST.length;
    expect((await get(`bytes=${border - 10}-${border + 9}`)).equals(WHOLE.subarray(border - 10, border + 10))).toBe(true);
    expect((await get(`bytes=${border}-`)).equals(SECOND)).toBe(true);
  });

  it('lets a reader finish with the object that it began with', async () => {
    const id = await create();
    await complete(id, [await upload(id, 1, FIRST), await upload(id, 2, SECOND)]);
    const reading = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key }));
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'new' }));
    expect(WHOLE.equals((await reading.Body?.transformToByteArray()) ?? Buffer.of())).toBe(true);
    expect((await get()).toString()).toBe('new');
  });

  it('takes the last of the parts sent under one number, and only the parts that its completion names', async () => {
    const id = await create();
    const former = await upload(id, 1, SECOND);
    const [latter, other] = [await upload(id, 1, FIRST), await upload(id, 2, SECOND)];
    expect(await failureOf(complete(id, [former]))).toEqual({ name: 'InvalidPart', status: 400 });
    await complete(id, [latter]);
    expect((await get()).equals(FIRST)).toBe(true);
    expect(await failureOf(complete(id, [latter, other]))).toEqual({ name: 'NoSuchUpload', status: 404 });
  });

  it('is gone once aborted', async () => {
    const id = await create();
    const part = await upload(id, 1, FIRST);
    await abort(id);
    expect(s3.endpoint.openUploads(BUCKET)).toEqual([]);
    expect(await failureOf(complete(id, [part]))).toEqual({ name: 'NoSuchUpload', status: 404 });
    expect(await failureOf(upload(id, 2, SECOND))).toEqual({ name: 'NoSuchUpload', status: 404 });
    expect(await failureOf(abort(id))).toEqual({ name: 'NoSuchUpload', status: 404 });
  });

  it('belongs to its key', async () => {
    const id = await create();
    const stranger = new AbortMultipartUploadCommand({ Bucket: BUCKET, Key: 'other', UploadId: id });
    expect(await failureOf(client.send(stranger))).toMatchObject({ name: 'NoSuchUpload' });
  });

  it('holds to the conditions of a write', async () => {
    const id = await create();
    const part = await upload(id, 1, SECOND);
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'first' }));
    expect(await failureOf(complete(id, [part], { IfNoneMatch: '*' }))).toEqual({ name: 'PreconditionFailed', status: 412 });
    await complete(id, [part]);
  });
});

describe('the limits of an upload in parts', () => {
  it.each([0, 10_001])('leave no place for part number %d', async (number) => {
    expect(await failureOf(upload(await create(), number, SECOND))).toEqual({ name: 'InvalidArgument', status: 400 });
  });

  it('allow only the last part to be smaller than 5 MiB', async () => {
    const id = await create();
    const parts = [await upload(id, 1, FIRST.subarray(1)), await upload(id, 10_000, SECOND)];
    expect(await failureOf(complete(id, parts))).toEqual({ name: 'EntityTooSmall', status: 400 });
    expect(s3.endpoint.openUploads(BUCKET)).toHaveLength(1);
    await upload(id, 1, FIRST);
    await complete(id, [{ ...parts[0], ETag: hexOf('md5', FIRST) }, ...parts.slice(1)]);
    expect((await get()).equals(WHOLE)).toBe(true);
  });

  it('refuse a part of more than 5 GiB before a byte is sent', async () => {
    const path = `/${BUCKET}/${Key}?partNumber=1&uploadId=${await create()}`;
    const headers = { 'content-length': 5 * 1024 ** 3 + 1 };
    expect(await rawRequest(s3.endpoint.url, { path, headers, leave: 'end' })).toContain('<Code>EntityTooLarge</Code>');
  });

  it('refuse lists of parts that are empty, unordered, unknown or no list', async () => {
    const id = await create();
    const parts = [await upload(id, 1, FIRST), await upload(id, 2, FIRST)];
    const outcome = async (listed: CompletedPart[]) => (await failureOf(complete(id, listed))).name;
    expect(await outcome([])).toBe('MalformedXML');
    expect(await outcome(parts.toReversed())).toBe('InvalidPartOrder');
    expect(await outcome([...parts.slice(0, 1), ...parts.slice(0, 1)])).toBe('InvalidPartOrder');
    expect(await outcome([...parts, { PartNumber: 3, ETag: parts[0]?.ETag }])).toBe('InvalidPart');
    expect(await outcome([{ PartNumber: 1, ETag: '"00"' }])).toBe('InvalidPart');
    const body = ['<Complete>nonsense'];
    const request = { method: 'POST', path: `/${BUCKET}/${Key}?uploadId=${id}`, headers: { 'content-length': 18 }, body };
    expect(await rawRequest(s3.endpoint.url, request)).toContain('<Code>MalformedXML</Code>');
  });

  it('hold the completion to the size that it claims', async () => {
    const id = await create();
    const parts = [await upload(id, 1, SECOND)];
    expect(await failureOf(complete(id, parts, { MpuObjectSize: SECOND.length + 1 }))).toEqual({ name: 'InvalidRequest', status: 400 });
    await complete(id, parts, { MpuObjectSize: SECOND.length });
  });
});

describe.each(['CRC32', 'CRC32C', 'CRC64NVME'] as const)('a FULL_OBJECT %s', (ChecksumAlgorithm) => {
  const field = `Checksum${ChecksumAlgorithm}` as const;
  let expected: string;
  beforeEach(async () => {
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'single', Body: WHOLE, ChecksumAlgorithm }));
    const single = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: 'single', ChecksumMode: 'ENABLED' }));
    expected = single[field] ?? '';
  });

  it('is the one of the bytes, whatever the parts', async () => {
    const id = await create({ ChecksumAlgorithm, ChecksumType: 'FULL_OBJECT' });
    const parts = [await upload(id, 1, FIRST, { ChecksumAlgorithm }), await upload(id, 2, SECOND, { ChecksumAlgorithm })];
    const done = await complete(id, parts.map(etagOnly), { [field]: expected, ChecksumType: 'FULL_OBJECT' });
    expect(done).toMatchObject({ [field]: expected, ChecksumType: 'FULL_OBJECT' });
    const head = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key, ChecksumMode: 'ENABLED' }));
    expect(head).toMatchObject({ [field]: expected, ChecksumType: 'FULL_OBJECT' });
  });

  it('is computed for parts that bring none, and a wrong one is refused', async () => {
    const id = await create({ ChecksumAlgorithm, ChecksumType: 'FULL_OBJECT' });
    const parts = [await upload(id, 1, FIRST), await upload(id, 2, SECOND)].map(etagOnly);
    const wrong = Buffer.alloc(ChecksumAlgorithm === 'CRC64NVME' ? 8 : 4, 1).toString('base64');
    expect(await failureOf(complete(id, parts, { [field]: wrong }))).toEqual({ name: 'BadDigest', status: 400 });
    expect(await failureOf(get())).toMatchObject({ name: 'NoSuchKey' });
    await complete(id, parts, { [field]: expected });
    expect((await get()).equals(WHOLE)).toBe(true);
  });
});

describe('checksums of an upload in parts', () => {
  it.each(['CRC32', 'CRC32C', 'SHA1', 'SHA256'] as const)('are COMPOSITE for %s unless told otherwise', async (ChecksumAlgorithm) => {
    const field = `Checksum${ChecksumAlgorithm}` as const;
    const id = await create({ ChecksumAlgorithm });
    const parts = [await upload(id, 1, FIRST, { ChecksumAlgorithm }), await upload(id, 2, SECOND, { ChecksumAlgorithm })];
    expect(await failureOf(complete(id, parts.map(etagOnly)))).toEqual({ name: 'InvalidRequest', status: 400 });
    expect(await failureOf(complete(id, [{ ...parts[0], [field]: parts[1]?.[field] }]))).toMatchObject({ name: 'InvalidPart' });
    const done = await complete(id, parts);
    expect(done).toMatchObject({ [field]: expect.stringMatching(/=-2$/), ChecksumType: 'COMPOSITE' });
  });

  it('of the parts alone are checked and then forgotten', async () => {
    client = s3.client();
    const id = await create();
    const parts = [await upload(id, 1, FIRST), await upload(id, 2, SECOND)];
    expect(parts[0]).toHaveProperty('ChecksumCRC32');
    expect(await failureOf(complete(id, parts))).toEqual({ name: 'InvalidPart', status: 400 });
    await complete(id, parts.map(etagOnly));
    expect(await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key, ChecksumMode: 'ENABLED' }))).not.toHaveProperty('ChecksumCRC32');
  });

  it('must be of the kind that the upload was created with', async () => {
    const composite = await create({ ChecksumAlgorithm: 'SHA256' });
    expect(await failureOf(upload(composite, 1, FIRST))).toEqual({ name: 'InvalidRequest', status: 400 });
    expect(await failureOf(upload(composite, 1, FIRST, { ChecksumAlgorithm: 'SHA1' }))).toMatchObject({ name: 'InvalidRequest' });
    const plain = await create();
    const parts = [await upload(plain, 1, SECOND)];
    expect(await failureOf(complete(plain, parts, { ChecksumCRC32: 'AAAAAA==' }))).toMatchObject({ name: 'InvalidRequest' });
    expect(await failureOf(complete(plain, parts, { ChecksumType: 'FULL_OBJECT' }))).toMatchObject({ name: 'InvalidRequest' });
  });

  it('exist only in the combinations that S3 has', async () => {
    const outcome = (more: Partial<CreateMultipartUploadCommandInput>) => failureOf(create(more));
    expect(await outcome({ ChecksumAlgorithm: 'SHA256', ChecksumType: 'FULL_OBJECT' })).toMatchObject({ name: 'InvalidRequest' });
    expect(await outcome({ ChecksumAlgorithm: 'CRC64NVME', ChecksumType: 'COMPOSITE' })).toMatchObject({ name: 'InvalidRequest' });
    expect(await outcome({ ChecksumType: 'FULL_OBJECT' })).toMatchObject({ name: 'InvalidRequest' });
  });
});

describe('a part by copy', () => {
  const copy = (UploadId: string, PartNumber: number, more: object = {}) =>
    client.send(new UploadPartCopyCommand({ Bucket: BUCKET, Key, UploadId, PartNumber, CopySource: `${BUCKET}/source`, ...more }));
  beforeEach(() => client.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'source', Body: WHOLE })));

  it('is a range of another object', async () => {
    const id = await create();
    const border = FIRST.length;
    const first = await copy(id, 1, { CopySourceRange: `bytes=0-${border - 1}` });
    const second = await copy(id, 2, { CopySourceRange: `bytes=${border}-${WHOLE.length - 1}` });
    await complete(
      id,
      [first, second].map(({ CopyPartResult }, index) => ({ PartNumber: index + 1, ETag: CopyPartResult?.ETag })),
    );
    expect((await get()).equals(WHOLE)).toBe(true);
  });

  it('must lie inside it', async () => {
    const id = await create();
    const outcome = (CopySourceRange: string) => failureOf(copy(id, 1, { CopySourceRange }));
    expect(await outcome(`bytes=0-${WHOLE.length}`)).toEqual({ name: 'InvalidArgument', status: 400 });
    expect(await outcome('bytes=5-')).toEqual({ name: 'InvalidArgument', status: 400 });
  });
});

describe('listings of uploads', () => {
  it('show every open upload, page by page', async () => {
    const keys = ['a', 'b/1', 'b/2', 'b/2'];
    for (const key of keys) await create({ Key: key });
    const list = (more: object) => client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET, ...more }));
    expect((await list({})).Uploads?.map((upload) => upload.Key)).toEqual(keys);
    const seen: (string | undefined)[] = [];
    let page = await list({ Prefix: 'b/', MaxUploads: 1 });
    seen.push(...(page.Uploads ?? []).map(({ UploadId }) => UploadId));
    while (page.IsTruncated) {
      page = await list({ Prefix: 'b/', MaxUploads: 1, KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker });
      seen.push(...(page.Uploads ?? []).map(({ UploadId }) => UploadId));
    }
    expect(new Set(seen).size).toBe(3);
    expect(seen).toHaveLength(3);
  });

  it('show the parts of one, page by page', async () => {
    const id = await create({ ChecksumAlgorithm: 'CRC32' });
    for (const number of [2, 9, 10]) await upload(id, number, SECOND, { ChecksumAlgorithm: 'CRC32' });
    const list = (more: object) => client.send(new ListPartsCommand({ Bucket: BUCKET, Key, UploadId: id, ...more }));
    const first = await list({ MaxParts: 2 });
    expect(first.Parts?.map(({ PartNumber }) => PartNumber)).toEqual([2, 9]);
    expect(first.Parts?.[0]).toMatchObject({ Size: SECOND.length, ETag: `"${hexOf('md5', SECOND)}"`, ChecksumCRC32: expect.any(String) });
    const rest = await list({ PartNumberMarker: first.NextPartNumberMarker });
    expect(rest).toMatchObject({ IsTruncated: false, Parts: [{ PartNumber: 10 }] });
    await abort(id);
    expect(await failureOf(list({}))).toEqual({ name: 'NoSuchUpload', status: 404 });
  });
});
