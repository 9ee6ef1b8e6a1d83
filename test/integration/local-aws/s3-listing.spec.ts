import { ListObjectsV2Command, PutObjectCommand, type ListObjectsV2CommandInput, type S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BUCKET, failureOf, startS3, type S3UnderTest } from './s3-support.js';

const KEYS = ['a.txt', 'b/1', 'b/2', 'b/c/3', 'd & <e>', 'f/1', '\uff5e', '😀'];

let s3: S3UnderTest;
let client: S3Client;

beforeAll(async () => {
  s3 = await startS3();
  client = s3.client();
  for (const Key of KEYS.toReversed())
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'x', ChecksumAlgorithm: 'CRC32' }));
});
afterAll(() => s3.close());

const list = (more: Partial<ListObjectsV2CommandInput> = {}) => client.send(new ListObjectsV2Command({ Bucket: BUCKET, ...more }));
const keysOf = ({ Contents }: Awaited<ReturnType<typeof list>>) => (Contents ?? []).map(({ Key }) => Key);
const prefixesOf = ({ CommonPrefixes }: Awaited<ReturnType<typeof list>>) => (CommonPrefixes ?? []).map(({ Prefix }) => Prefix);

describe('a listing of objects', () => {
  it('is in the order of the keys’ UTF-8 bytes', async () => {
    const listed = await list();
    expect(keysOf(listed)).toEqual(KEYS);
    expect(listed).toMatchObject({ KeyCount: KEYS.length, IsTruncated: false, MaxKeys: 1_000 });
    expect(listed.Contents?.[0]).toMatchObject({ Size: 1, ETag: expect.stringMatching(/^"[0-9a-f]{32}"$/), ChecksumAlgorithm: ['CRC32'] });
  });

  it('is bounded by prefix and start', async () => {
    expect(keysOf(await list({ Prefix: 'b/' }))).toEqual(['b/1', 'b/2', 'b/c/3']);
    expect(keysOf(await list({ StartAfter: 'b/2', Prefix: 'b/' }))).toEqual(['b/c/3']);
    expect(keysOf(await list({ StartAfter: 'c' }))).toEqual(KEYS.slice(4));
  });

  it('folds what lies behind a delimiter', async () => {
    const root = await list({ Delimiter: '/' });
    expect(keysOf(root)).toEqual(['a.txt', 'd & <e>', '\uff5e', '😀']);
    expect(prefixesOf(root)).toEqual(['b/', 'f/']);
    const inner = await list({ Delimiter: '/', Prefix: 'b/' });
    expect([keysOf(inner), prefixesOf(inner)]).toEqual([['b/1', 'b/2'], ['b/c/']]);
  });

  it.each([undefined, '/'])('gives every entry once, page by page, with delimiter %s', async (Delimiter) => {
    const seen: (string | undefined)[] = [];
    let ContinuationToken: string | undefined;
    do {
      const page = await list({ MaxKeys: 1, Delimiter, ContinuationToken });
      expect(page.KeyCount).toBe(1);
      seen.push(...keysOf(page), ...prefixesOf(page));
      ContinuationToken = page.NextContinuationToken;
    } while (ContinuationToken !== undefined);
    expect(seen).toEqual(Delimiter ? ['a.txt', 'b/', 'd & <e>', 'f/', '\uff5e', '😀'] : KEYS);
  });

  it('encodes keys when asked to', async () => {
    expect(keysOf(await list({ EncodingType: 'url', Prefix: 'd' }))).toEqual(['d%20%26%20%3Ce%3E']);
  });

  it('refuses a token that it did not give', async () => {
    expect(await failureOf(list({ ContinuationToken: '%%' }))).toEqual({ name: 'InvalidArgument', status: 400 });
    expect(await failureOf(list({ MaxKeys: -1 }))).toEqual({ name: 'InvalidArgument', status: 400 });
  });
});
