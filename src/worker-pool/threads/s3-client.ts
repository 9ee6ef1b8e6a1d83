import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { S3Client } from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';

const CONNECT_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** The one retry layer of a call to S3; a whole task is tried again by whoever gave it. */
const MAX_ATTEMPTS = 3;

export interface S3ClientSettings {
  region: string;
  s3CustomEndpoint: boolean;
  /** Requests at the same time. */
  maxSockets: number;
}

/** An S3 client with connections and timeouts of its own, which adds no checksum that it was not given: other stores reject them. */
export function createS3Client(settings: S3ClientSettings): S3Client {
  const agent = { keepAlive: true, maxSockets: settings.maxSockets };
  return new S3Client({
    region: settings.region,
    forcePathStyle: settings.s3CustomEndpoint,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: new NodeHttpHandler({
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
    }),
  });
}

/** For a request with a body: slower than 100 KB/s is as good as hung. */
export function requestTimeoutMs(bodyBytes: number): number {
  return REQUEST_TIMEOUT_MS + Math.ceil(bodyBytes / 100);
}
