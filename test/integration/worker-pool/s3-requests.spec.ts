import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { crc32 } from 'node:zlib';
import { inspect } from 'node:util';
import type { BucketAccess } from '../../../src/worker-pool/domain/bucket-access.js';
import { TransferError } from '../../../src/worker-pool/domain/transfer-error.js';
import { AskedAccesses } from '../../../src/worker-pool/threads/asked-accesses.js';
import { BucketAccesses } from '../../../src/worker-pool/threads/bucket-accesses.js';
import { ObjectStore } from '../../../src/worker-pool/threads/object-store.js';
import { S3Requests } from '../../../src/worker-pool/threads/s3-requests.js';
import { answering, failing, resetting, SignedStore } from '../../support/signed-store.js';

const BUCKET = 'bucket';
const AT = { bucket: BUCKET, key: 'key' };
const BYTES = Buffer.from('hello');
const CONTENT = { bytes: BYTES, crc32: crc32(BYTES) };
const live = () => new AbortController().signal;

describe('a request to S3', () => {
  let server: SignedStore;
  const clients: S3Requests[] = [];
  /** What the SDK is asked for, and how often. */
  let asked: number;
  let refusedKeyIds: string[];
  let access: () => Promise<BucketAccess>;

  beforeEach(async () => {
    server = await SignedStore.start();
    asked = 0;
    refusedKeyIds = [];
    access = async () => ({ url: `${server.url}/${BUCKET}`, region: 'eu-central-1', credentials: server.signer });
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await server.close();
  });

  function requests(): S3Requests {
    const accesses = new BucketAccesses((_bucket, refusedKeyId) => {
      asked += 1;
      if (refusedKeyId !== undefined) refusedKeyIds.push(refusedKeyId);
      return access();
    });
    const client = new S3Requests(accesses, 4, { backoff: { baseMs: 1, capMs: 2 }, throttled: { baseMs: 1, capMs: 2 } });
    clients.push(client);
    return client;
  }

  const store = () => new ObjectStore(requests(), { fullObjectCrc32: true });
  const put = (metadata: Record<string, string> = {}, key = 'key') => store().put({ bucket: BUCKET, key }, CONTENT, { metadata }, live());

  describe('is signed as S3 signs it', () => {
    it.each([
      'plain',
      'a b/c+d/100%/%20',
      'ü/日本語/😀/e\u0301',
      `quotes '"\`/!'()*~-._/=&?#;:@$,<>[]{}|\\^`,
      'two//slashes///and a last one/',
      './../dots/.',
      '\u2028 \u00a0 \u0085',
    ])('for the key %j', async (key) => {
      expect(await put({}, key)).toBe('"etag"');
      expect(server.faults).toEqual([]);
      expect(decodeURIComponent(server.requests[0]?.url ?? '')).toBe(`/${BUCKET}/${key}`);
    });

    it('with metadata, content type and checksum', async () => {
      const attributes = {
        contentType: 'text/html;  charset=utf-8',
        contentEncoding: 'gzip',
        metadata: { 'upload-attempt': 'a  b ', checksum: 'md5:00', 'source-etag': '"x,y"' },
      };
      await store().put(AT, CONTENT, attributes, live());
      expect(server.faults).toEqual([]);
      expect(server.requests[0]).toMatchObject({
        body: 'hello',
        headers: {
          'content-type': 'text/html;  charset=utf-8',
          'x-amz-meta-source-etag': '"x,y"',
          'x-amz-checksum-crc32': 'NhCmhg==',
        },
      });
    });

    it('with every query of an upload, in whatever order', async () => {
      const upload = 'id/with+=& signs~';
      server.next(
        answering(`<InitiateMultipartUploadResult><UploadId>${upload.replace('&', '&amp;')}</UploadId></InitiateMultipartUploadResult>`),
      );
      const objects = store();
      expect(await objects.createMultipart(AT, { metadata: {} }, live())).toMatchObject({ uploadId: upload });
      const part = await objects.uploadPart(AT, upload, { number: 10, ...CONTENT }, live());
      await objects.complete(AT, upload, [part], '3610a686', live());
      await objects.openUploads({ bucket: BUCKET, key: 'a b+/ü&=' }, live());
      await objects.abortMultipart(AT, upload, live());
      await objects.head(AT, live());
      expect(server.faults).toEqual([]);
      expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'PUT', 'POST', 'GET', 'DELETE', 'HEAD']);
    });

    it('with the session token', async () => {
      server.signer = { ...server.signer, sessionToken: 'a+token/of=many==' };
      await put();
      expect(server.faults).toEqual([]);
      expect(server.requests[0]?.headers['x-amz-security-token']).toBe('a+token/of=many==');
    });

    it('by host as well as by path', async () => {
      access = async () => ({ url: server.url, region: 'us-east-1', credentials: server.signer });
      await put({}, '//a b');
      expect(server.faults).toEqual([]);
      expect(server.requests[0]?.url).toBe('///a%20b');
    });

    it('without what no header can carry', async () => {
      await store().put(AT, CONTENT, { contentType: 'text/plain; name="ü"', contentEncoding: 'a\nb', metadata: {} }, live());
      expect(server.faults).toEqual([]);
      expect(server.requests[0]?.headers).not.toHaveProperty('content-type');
      expect(server.requests[0]?.headers).not.toHaveProperty('content-encoding');
    });
  });

  describe('is sent again', () => {
    it.each([
      { after: '503 SlowDown', answer: failing(503, 'SlowDown') },
      { after: '500 InternalError', answer: failing(500, 'InternalError') },
      { after: '400 RequestTimeout', answer: failing(400, 'RequestTimeout') },
      { after: '400 BadDigest', answer: failing(400, 'BadDigest') },
      { after: '400 ThrottlingException', answer: failing(400, 'ThrottlingException') },
      { after: 'a reset connection', answer: resetting() },
      { after: 'a 200 that holds an error', answer: answering('<Error><Code>InternalError</Code></Error>') },
      {
        after: 'a 200 that holds an error behind white space',
        answer: answering('\n \n<?xml version="1.0"?>\n<Error><Code>SlowDown</Code></Error>'),
      },
    ])('after $after, twice', async ({ answer }) => {
      server.next(answer, answer);
      expect(await put()).toBe('"etag"');
      expect(server.requests).toHaveLength(3);
    });

    it('and Create says when an answer before was lost', async () => {
      const created = answering('<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>');
      server.next(resetting(), created, created);
      expect(await store().createMultipart(AT, { metadata: {} }, live())).toMatchObject({ isOnly: false });
      expect(await store().createMultipart(AT, { metadata: {} }, live())).toMatchObject({ isOnly: true });
    });

    it('as long as S3 wants to be asked less, beyond the tries for other failures', async () => {
      const slow = failing(503, 'SlowDown');
      server.next(slow, slow, resetting(), slow, slow, slow, resetting(), slow, slow);
      expect(await put()).toBe('"etag"');
      expect(server.requests).toHaveLength(10);
    });

    it('but a look at the object does not wait so long', async () => {
      server.next(...Array.from({ length: 4 }, () => failing(503, 'SlowDown')));
      expect(await store().head(AT, live())).toBeUndefined();
      expect(server.requests).toHaveLength(3);
    });

    it('and a Create that was only put off has left nothing behind', async () => {
      server.next(
        failing(503, 'SlowDown'),
        failing(400, 'ExpiredToken'),
        answering('<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>'),
      );
      expect(await store().createMultipart(AT, { metadata: {} }, live())).toMatchObject({ isOnly: true });
    });

    it('but not after a refusal', async () => {
      server.next(failing(403, 'AccessDenied'));
      await expect(put()).rejects.toMatchObject({
        code: 'DESTINATION_REFUSED',
        message: 'the bucket bucket takes no files: AccessDenied (missing: s3:PutObject)',
        httpStatus: 403,
        disposition: 'reject',
      });
      expect(server.requests).toHaveLength(1);
    });

    it('but not after a refusal that came behind a 200', async () => {
      server.next(answering('<Error><Code>AccessDenied</Code></Error>'));
      await expect(put()).rejects.toMatchObject({ code: 'DESTINATION_REFUSED', disposition: 'reject' });
      expect(server.requests).toHaveLength(1);
    });

    it.each(['InvalidAccessKeyId', 'SignatureDoesNotMatch'])('but not after %s, which is no refusal of the bucket', async (code) => {
      server.next(failing(403, code));
      await expect(put()).rejects.toMatchObject({ code: 'UPLOAD_FAILED', message: `S3 answered 403 ${code}`, disposition: 'reject' });
    });

    it('but not where the key must be free and the connection fails: the answer may be that it is not', async () => {
      server.next(resetting());
      expect(await store().putIfFree(AT, CONTENT, { metadata: {} }, live())).toBe('unanswered');
      expect(server.requests).toHaveLength(1);
      server.next(failing(500, 'InternalError'));
      expect(await store().putIfFree(AT, CONTENT, { metadata: {} }, live())).toEqual({ etag: '"etag"' });
    });

    it('and not for ever', async () => {
      server.next(...Array.from({ length: 20 }, () => resetting()));
      await expect(put()).rejects.toMatchObject({ code: 'UPLOAD_FAILED', disposition: 'retry' });
      expect(server.requests).toHaveLength(3);
    });

    it('and not when its task has ended meanwhile', async () => {
      const work = new AbortController();
      server.next((response, request) => {
        work.abort(new TransferError('ABORTED', 'no longer wanted', { retryable: true }));
        failing(503, 'SlowDown')(response, request);
      });
      await expect(store().put(AT, CONTENT, { metadata: {} }, work.signal)).rejects.toMatchObject({ code: 'ABORTED' });
      expect(server.requests).toHaveLength(1);
    });
  });

  describe('that is refused', () => {
    const unauthorized = (action: string) =>
      failing(403, 'AccessDenied', `User: arn:aws:sts::1:role/x is not authorized to perform: ${action} on resource: "arn:aws:s3:::b/k"`);

    it.each(['s3:PutObject', 'kms:GenerateDataKey', 'kms:Decrypt'])(
      'names the permission that S3 names: %s, and nobody’s role',
      async (action) => {
        server.next(unauthorized(action));
        await expect(put()).rejects.toMatchObject({
          code: 'DESTINATION_REFUSED',
          message: `the bucket bucket takes no files: AccessDenied (missing: ${action})`,
        });
      },
    );

    it.each([
      { answer: unauthorized('s3:PutObject'), code: 'DESTINATION_REFUSED' },
      { answer: unauthorized('kms:GenerateDataKey'), code: 'DESTINATION_REFUSED' },
      { answer: failing(404, 'NoSuchBucket'), code: 'DESTINATION_REFUSED' },
      { answer: unauthorized('s3:GetObject'), code: 'UPLOAD_FAILED' },
      { answer: unauthorized('kms:Decrypt'), code: 'UPLOAD_FAILED' },
      { answer: failing(403, 'AccessDenied'), code: 'UPLOAD_FAILED' },
    ])('as a copy is refused by its destination only where S3 says so ($code)', async ({ answer, code }) => {
      const from = { bucket: 'sources', key: 'k', etag: '"e"' };
      server.next(answer, answer);
      await expect(store().copy(from, AT, { metadata: {} }, live())).rejects.toMatchObject({ code, disposition: 'reject' });
      await expect(store().copyPart(from, AT, 'id', { number: 1, first: 0, last: 4 }, live())).rejects.toMatchObject({ code });
    });
  });

  describe('as whom', () => {
    it('asks for credentials once, and again when S3 says that they have expired', async () => {
      const objects = store();
      await Promise.all([1, 2, 3].map(() => objects.put(AT, CONTENT, { metadata: {} }, live())));
      expect(asked).toBe(1);
      server.next((response, request) => {
        server.signer = { ...server.signer, secretAccessKey: 'another' };
        failing(400, 'ExpiredToken')(response, request);
      });
      await objects.put(AT, CONTENT, { metadata: {} }, live());
      expect(asked).toBe(2);
      expect(refusedKeyIds).toEqual(['AKIDEXAMPLE']);
      expect(server.faults).toEqual([]);
    });

    it('takes the bare 400 of a HEAD for expired credentials, because no text says so', async () => {
      const client = requests();
      server.next(failing(400, 'ExpiredToken'));
      await client.send({ method: 'HEAD', ...AT, signal: live() });
      expect(asked).toBe(2);
      expect(refusedKeyIds).toEqual(['AKIDEXAMPLE']);
    });

    it('asks again before they end, and goes on with what still holds when nobody answers', async () => {
      const objects = store();
      const given = await access();
      access = async () => ({ ...given, expiresAt: Date.now() + 60_000 });
      await objects.put(AT, CONTENT, { metadata: {} }, live());
      access = () => Promise.reject(new Error('not now'));
      await objects.put(AT, CONTENT, { metadata: {} }, live());
      expect(asked).toBe(2);
      expect(server.requests).toHaveLength(2);
    });

    it('says so when there are none, and asks again for the next file', async () => {
      const given = access;
      access = () => Promise.reject(Object.assign(new Error('no provider has any'), { code: 'CredentialsProviderError' }));
      const objects = store();
      await expect(objects.put(AT, CONTENT, { metadata: {} }, live())).rejects.toMatchObject({
        code: 'UPLOAD_FAILED',
        message: 'S3: CredentialsProviderError',
        disposition: 'retry',
      });
      access = given;
      expect(await objects.put(AT, CONTENT, { metadata: {} }, live())).toBe('"etag"');
    });

    it('waits for them no longer than its task', async () => {
      const work = new AbortController();
      access = () => new Promise(() => work.abort(new TransferError('ABORTED', 'no longer wanted', { retryable: true })));
      await expect(store().put(AT, CONTENT, { metadata: {} }, work.signal)).rejects.toMatchObject({ code: 'ABORTED' });
    });

    it('has them from the pool: asked for once, told as they come', async () => {
      const wanted: string[] = [];
      const accesses = new AskedAccesses(({ type }) => void wanted.push(type));
      const [first, second] = [accesses.known.of(BUCKET), accesses.known.of(BUCKET)];
      accesses.answer({ bucket: BUCKET, code: 'CredentialsProviderError' });
      await expect(first).rejects.toMatchObject({ code: 'CredentialsProviderError' });
      await expect(second).rejects.toMatchObject({ code: 'CredentialsProviderError' });
      const again = accesses.known.of(BUCKET);
      accesses.answer({ bucket: BUCKET, access: await access() });
      expect(await again).toMatchObject({ region: 'eu-central-1' });
      accesses.answer({ bucket: 'another', code: 'unasked' });
      expect(wanted).toEqual(['BUCKET_WANTED', 'BUCKET_WANTED']);
    });

    it.each([-3, 3])('mends a clock that is %i hours wrong from the Date of the refusal', async (hours) => {
      server.skewMs = hours * 3_600_000;
      const objects = store();
      await objects.put(AT, CONTENT, { metadata: {} }, live());
      await objects.put(AT, CONTENT, { metadata: {} }, live());
      expect(server.faults).toEqual(['RequestTimeTooSkewed']);
      expect(server.requests).toHaveLength(2);
    });

    it.each([
      { what: 'a refusal', answer: failing(403, 'SignatureDoesNotMatch') },
      { what: 'a lost connection', answer: resetting() },
    ])('keeps secrets out of the error of $what', async ({ answer }) => {
      server.signer = { ...server.signer, sessionToken: 'the-token-of-this-test' };
      server.next(answer, answer, answer);
      const error = await put().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TransferError);
      const shown = inspect(error, { depth: Infinity, showHidden: true }) + JSON.stringify(error);
      expect(shown).not.toMatch(/the-secret|the-token|AKIDEXAMPLE|Signature=/);
    });
  });
});
