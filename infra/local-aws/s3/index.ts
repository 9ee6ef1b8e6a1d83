import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RequestLog } from '../request-log.js';
import { S3Faults } from './faults.js';
import { S3Server } from './server.js';
import { Store } from './store/store.js';

export { S3Faults, type S3FaultAction, type S3FaultRule } from './faults.js';
export { type S3Operation } from './request.js';

export interface S3EndpointOptions {
  /** Kept, and read again at the next start. Without it a temporary folder, removed on close. */
  dataDir?: string;
  /** Default 0: any free one. */
  port?: number;
  /** Buckets to have from the start. */
  buckets?: string[];
  log?: RequestLog;
}

export interface S3Endpoint {
  readonly url: string;
  readonly faults: S3Faults;
  /** Multipart uploads that are neither completed nor aborted. @throws NoSuchBucket */
  openUploads(bucket: string): { key: string; uploadId: string }[];
  /** A bucket that exists is left alone. @throws InvalidBucketName */
  createBucket(name: string): void;
  /** Cuts what is going on and waits for its end. */
  close(): Promise<void>;
}

/**
 * S3 by path-style addresses on 127.0.0.1: the operations of `request.ts`, with S3's checks, limits and errors.
 * Not there: signatures are not verified (though one must be sent), versions, tags, ACLs, encryption, ListObjects of version 1.
 */
export async function startS3Endpoint(options: S3EndpointOptions = {}): Promise<S3Endpoint> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'local-s3-')));
  const store = new Store(dataDir);
  for (const name of options.buckets ?? []) store.createBucket(name);
  const faults = new S3Faults();
  const server = new S3Server(store, faults, options.log);
  const running = new Set<Promise<void>>();
  const http = listener((...exchange) => {
    const served = server.serve(...exchange).finally(() => running.delete(served));
    running.add(served);
  });
  http.listen(options.port ?? 0, '127.0.0.1');
  await once(http, 'listening');
  const close = async (): Promise<void> => {
    const closed = once(http, 'close');
    http.close();
    http.closeAllConnections();
    await closed;
    await Promise.allSettled(running);
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  let closing: Promise<void> | undefined;
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    faults,
    openUploads: (bucket) =>
      store
        .bucket(bucket)
        .uploads()
        .map(({ key, uploadId }) => ({ key, uploadId })),
    createBucket: (name) => store.createBucket(name),
    close: () => (closing ??= close()),
  };
}

function listener(handle: Parameters<typeof createServer>[1] & object): Server {
  // Idle connections outlive the clients' own; a large body on a slow line may take longer than Node's 300 s.
  const http = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 }, handle);
  // A client that ends its side in the middle of a body is told so; Node's own answer would be an empty 400.
  http.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const code = error.code === 'HPE_INVALID_EOF_STATE' ? 'IncompleteBody' : 'InvalidRequest';
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code></Error>`;
    const head = `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/xml\r\nContent-Length: ${body.length}`;
    socket.end(`${head}\r\n\r\n${body}`);
  });
  return http;
}
