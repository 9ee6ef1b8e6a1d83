import type { Connection, Exchange, RequestHead } from '../wire/http1-server.js';
import { BodyDigest } from './body-digest.js';
import { completed, described, empty, initiated, refused, stored } from './s3-answers.js';
import { SinkStore, type Digest } from './sink-store.js';

/** Of the service's own files: they are read again. */
const KEPT = /(^|\/)_export\//;
/** Of the whole sink, for the bench: nobody's bucket. */
const CONTROL_PREFIX = '/-/';

/**
 * As much of S3 as uploads need, on path-style addresses: PutObject, the calls of a multipart upload, HeadObject, DeleteObject. Bodies are
 * digested and thrown away, but for those under `_export/`, which GetObject answers; signatures are not looked at; keys are the bench's own and need no escapes in XML.
 * `GET /-/objects` tells what has been stored, `POST /-/clear` forgets it.
 */
export class S3Sink {
  private readonly store = new SinkStore();

  readonly serve = (head: RequestHead, connection: Connection): Exchange => {
    const url = new URL(head.target, 'http://sink');
    if (url.pathname.startsWith(CONTROL_PREFIX)) return withoutBody(() => this.control(head.method, url.pathname, connection));
    const [, , ...segments] = url.pathname.split('/');
    const key = decodeURIComponent(segments.join('/'));
    const uploadId = url.searchParams.get('uploadId') ?? undefined;
    if (head.method !== 'PUT') return withoutBody(() => this.answer(head, { key, uploadId, query: url.searchParams }, connection));
    if (head.headers.get('content-encoding')?.includes('aws-chunked') === true)
      return withoutBody(() => connection.reply(...refused('501 Not Implemented', 'NotImplemented')));
    const digest = new BodyDigest(head.headers.get('content-md5'), { isPart: uploadId !== undefined, keep: KEPT.test(key) });
    return {
      onBody: (piece) => digest.update(piece),
      onEnd: () => {
        if (uploadId !== undefined) return this.putPart(uploadId, Number(url.searchParams.get('partNumber')), digest.digest(), connection);
        if (head.headers.get('if-none-match') === '*' && this.store.objects.has(key))
          return connection.reply(...refused('412 Precondition Failed', 'PreconditionFailed'));
        connection.reply(stored(this.store.put(key, digest.digest(), metadataOf(head)).etag));
      },
    };
  };

  private putPart(uploadId: string, partNumber: number, digest: Digest, connection: Connection): void {
    const etag = this.store.putPart(uploadId, partNumber, digest);
    if (etag === undefined) connection.reply(...refused('404 Not Found', 'NoSuchUpload'));
    else connection.reply(stored(etag));
  }

  private answer(
    head: RequestHead,
    { key, uploadId, query }: { key: string; uploadId: string | undefined; query: URLSearchParams },
    connection: Connection,
  ): void {
    const object = this.store.objects.get(key);
    if (head.method === 'GET' && object?.bytes !== undefined) return connection.reply(described(object), object.bytes);
    if (head.method === 'HEAD') {
      // HeadBucket: every bucket is there.
      if (key === '') return connection.reply(empty('200 OK'));
      return connection.reply(object === undefined ? empty('404 Not Found') : described(object));
    }
    if (head.method === 'POST' && query.has('uploads'))
      return connection.reply(...initiated(key, this.store.create(key, metadataOf(head))));
    if (head.method === 'POST' && uploadId !== undefined) {
      const made = this.store.complete(uploadId);
      return connection.reply(...(made === undefined ? refused('404 Not Found', 'NoSuchUpload') : completed(key, made)));
    }
    if (head.method === 'DELETE') {
      if (uploadId === undefined) this.store.objects.delete(key);
      else this.store.abort(uploadId);
      return connection.reply(empty('204 No Content'));
    }
    connection.reply(...refused('501 Not Implemented', 'NotImplemented'));
  }

  private control(method: string, path: string, connection: Connection): void {
    if (method === 'POST' && path === '/-/clear') {
      this.store.clear();
      return connection.reply(empty('204 No Content'));
    }
    const objects = Array.from(this.store.objects, ([key, { sizeBytes, crc32 }]) => [key, sizeBytes, crc32.toString('hex')]);
    const body = Buffer.from(JSON.stringify({ objects, openUploads: this.store.openUploads }));
    connection.reply(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`, body);
  }
}

function withoutBody(onEnd: () => void): Exchange {
  return { onBody: () => {}, onEnd };
}

function metadataOf({ headers }: RequestHead): ReadonlyMap<string, string> {
  return new Map([...headers].filter(([name]) => name.startsWith('x-amz-meta-')));
}
