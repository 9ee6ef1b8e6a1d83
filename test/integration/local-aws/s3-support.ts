import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { RequestLog } from '../../../infra/local-aws/request-log.js';
import { startS3Endpoint, type S3Endpoint, type S3EndpointOptions } from '../../../infra/local-aws/s3/index.js';

export { eventually } from '../../support/local-aws.js';

export const BUCKET = 'exports';
export const MIB = 1024 ** 2;

/** The two ways in which SDK clients send checksums. */
export const CHECKSUM_MODES = ['WHEN_SUPPORTED', 'WHEN_REQUIRED'] as const;

export interface S3UnderTest {
  endpoint: S3Endpoint;
  log: RequestLog;
  /** A real client; without retries, so that an error is seen as the endpoint gave it. */
  client(config?: S3ClientConfig): S3Client;
  close(): Promise<void>;
}

export async function startS3(options: S3EndpointOptions = {}): Promise<S3UnderTest> {
  const log = new RequestLog();
  const endpoint = await startS3Endpoint({ buckets: [BUCKET], log, ...options });
  const clients: S3Client[] = [];
  return {
    endpoint,
    log,
    client(config = {}) {
      const client = new S3Client({
        endpoint: endpoint.url,
        region: 'eu-west-1',
        credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
        forcePathStyle: true,
        maxAttempts: 1,
        ...config,
      });
      clients.push(client);
      return client;
    },
    async close() {
      for (const client of clients) client.destroy();
      await endpoint.close();
    },
  };
}

/** The error's name as the SDK gives it, and the status. */
export async function failureOf(answer: Promise<unknown>): Promise<{ name: string; status: number | undefined }> {
  try {
    await answer;
  } catch (error) {
    const { name, $metadata } = error as Error & { $metadata?: { httpStatusCode?: number } };
    return { name, status: $metadata?.httpStatusCode };
  }
  throw new Error('The request succeeded');
}

/** Bytes that repeat in no small period, the same for each length. */
export function bytesOf(length: number): Buffer {
  const block = createHash('sha512').update('block').digest();
  const bytes = Buffer.alloc(length, block);
  for (let i = 0; i < length; i += 4_093) bytes[i] = (i / 4_093) & 0xff;
  return bytes;
}

export function hexOf(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('hex');
}

export function base64Of(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('base64');
}

/** Names of the files that hold bodies. */
export function bodyFiles(dataDir: string): Promise<string[]> {
  return readdir(join(dataDir, 'bodies'));
}

export interface RawRequest {
  method?: string;
  path: string;
  headers?: Record<string, string | number>;
  /** Sent in one write each. */
  body?: Iterable<string | Buffer> | AsyncIterable<string | Buffer>;
  /** How the client leaves after the body: waits for the answer, ends its side, or is gone. */
  leave?: 'wait' | 'end' | 'vanish';
}

/** One request byte by byte, for what no client would send. The answer is everything that the endpoint wrote. */
export async function rawRequest(
  url: string,
  { method = 'PUT', path, headers = {}, body = [], leave = 'wait' }: RawRequest,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const head = { host: 'local', authorization: 'AWS4-HMAC-SHA256 Credential=local', connection: 'close', ...headers };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
  const closed = once(socket, 'close');
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  for await (const piece of body) socket.write(piece);
  if (leave === 'end') socket.end();
  if (leave === 'vanish') socket.write('', () => socket.destroy());
  await closed;
  return answer;
}
