import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { equip } from './call-middleware.js';
import { SharedCredentials } from './shared-credentials.js';

/** Far longer than a long poll: an answer that takes as long is lost. */
const SQS_REQUEST_TIMEOUT_MS = 30_000;
const S3_REQUEST_TIMEOUT_MS = 60_000;
const S3_SOCKETS = 50;
export const DYNAMODB_REQUEST_TIMEOUT_MS = 3_000;
/** The SDK's own four take 12 s of a table that is silent: longer than a heartbeat's interval (10 s), which must know that it failed before the next is due. */
export const DYNAMODB_ATTEMPTS = 3;
/** For a socket; absent, it would be the SDK's own. */
const NO_TIMEOUT = 0;
/** One slow beat must not stand in the way of the next. */
const STEP_FUNCTIONS_REQUEST_TIMEOUT_MS = 5_000;

export interface ClientOptions {
  /** How many lists may be open at a time. */
  openLists?: number;
  /** How long the head of an answer of S3 may take. */
  s3TimeoutMs?: number;
  credentials?: SharedCredentials;
}

/**
 * The SDK's clients, one of each for the process. Step Functions and DynamoDB have sockets of their own, so that a busy
 * S3 transfer or a long poll never delays a heartbeat. The SDK's timeouts only warn unless told to throw.
 *
 * Retries: DynamoDB, S3 and SQS by the SDK, three attempts each. Step Functions never: its callers decide what a failure means.
 * All sign with the same credentials; a call whose credentials were refused is made once more with new ones.
 */
export class AwsClients {
  readonly s3: S3Client;
  /**
   * For our own lists, which are read for long: they have sockets of their own, because they stand in line for their turns with sockets open.
   * No body is cut because nobody reads it, which a socket's timeout takes for silence: the reader watches it.
   */
  readonly lists: S3Client;
  readonly sqs: SQSClient;
  readonly dynamoDb: DynamoDBDocumentClient;
  readonly stepFunctions: SFNClient;

  readonly credentials: SharedCredentials;

  constructor(
    settings: { region: string; s3CustomEndpoint: boolean },
    { openLists = 1, s3TimeoutMs = S3_REQUEST_TIMEOUT_MS, credentials = SharedCredentials.ofChain(settings.region) }: ClientOptions = {},
  ) {
    this.credentials = credentials;
    const common = { region: settings.region, credentials: credentials.provider };
    const store = {
      ...common,
      forcePathStyle: settings.s3CustomEndpoint,
      // What these clients write is our own text; compatible stores reject the SDK's default checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    } as const;
    this.s3 = new S3Client({ ...store, requestHandler: handler(s3TimeoutMs, S3_SOCKETS) });
    this.lists = new S3Client({ ...store, requestHandler: handler(s3TimeoutMs, openLists, NO_TIMEOUT) });
    this.sqs = new SQSClient({
      ...common,
      // With a local endpoint the client would otherwise send to the host in the queue's URL.
      useQueueUrlAsEndpoint: false,
      requestHandler: handler(SQS_REQUEST_TIMEOUT_MS, 50),
    });
    const tables = new DynamoDBClient({
      ...common,
      maxAttempts: DYNAMODB_ATTEMPTS,
      requestHandler: handler(DYNAMODB_REQUEST_TIMEOUT_MS, 50),
    });
    this.dynamoDb = DynamoDBDocumentClient.from(tables, { marshallOptions: { removeUndefinedValues: true } });
    this.stepFunctions = new SFNClient({ ...common, maxAttempts: 1, requestHandler: handler(STEP_FUNCTIONS_REQUEST_TIMEOUT_MS, 100) });
    equip(this.s3, 'S3', credentials);
    equip(this.lists, 'S3', credentials);
    equip(this.sqs, 'SQS', credentials);
    equip(this.dynamoDb, 'DynamoDB', credentials);
    equip(this.stepFunctions, 'SFN', credentials);
  }

  destroy(): void {
    for (const client of [this.s3, this.lists, this.sqs, this.dynamoDb, this.stepFunctions]) client.destroy();
  }
}

function handler(requestTimeout: number, maxSockets: number, socketTimeout = requestTimeout): NodeHttpHandler {
  const options = { keepAlive: true, maxSockets };
  return new NodeHttpHandler({
    httpAgent: new HttpAgent(options),
    httpsAgent: new HttpsAgent(options),
    connectionTimeout: 3_000,
    requestTimeout,
    throwOnRequestTimeout: true,
    // The request timeout ends with the head of the answer: a body that stalls after it is cut by this, and so is one that nobody reads.
    socketTimeout,
  });
}
