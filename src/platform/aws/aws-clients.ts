import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';

/** Long polls last 20 s; an answer that takes much longer is lost. */
const SQS_REQUEST_TIMEOUT_MS = 30_000;
const S3_REQUEST_TIMEOUT_MS = 60_000;
/** Beside the lists that are read through this client, which wait for a turn with their sockets open: the writes of those whose turn it is must find others. */
const S3_SOCKETS = 50;
export const DYNAMODB_REQUEST_TIMEOUT_MS = 3_000;
/** The SDK's own four take 12 s of a table that is silent: longer than a heartbeat's interval (10 s), which must know that it failed before the next is due. */
export const DYNAMODB_ATTEMPTS = 3;
/** One slow beat must not stand in the way of the next. */
const STEP_FUNCTIONS_REQUEST_TIMEOUT_MS = 5_000;

/**
 * The SDK's clients, one of each for the process. Step Functions and DynamoDB have sockets of their own, so that a busy
 * S3 transfer or a long poll never delays a heartbeat. The SDK's timeouts only warn unless told to throw.
 *
 * Retries: DynamoDB, S3 and SQS by the SDK, three attempts each. Step Functions never: its callers decide what a failure means.
 */
export class AwsClients {
  readonly s3: S3Client;
  readonly sqs: SQSClient;
  readonly dynamoDb: DynamoDBDocumentClient;
  readonly stepFunctions: SFNClient;

  /** @param openLists how many bodies may be open at the S3 client for long */
  constructor(settings: { region: string; s3CustomEndpoint: boolean }, openLists = 0) {
    const { region } = settings;
    this.s3 = new S3Client({
      region,
      forcePathStyle: settings.s3CustomEndpoint,
      // What this client writes is our own text; compatible stores reject the SDK's default checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: handler(S3_REQUEST_TIMEOUT_MS, S3_SOCKETS + openLists),
    });
    this.sqs = new SQSClient({
      region,
      // With a local endpoint the client would otherwise send to the host in the queue's URL.
      useQueueUrlAsEndpoint: false,
      requestHandler: handler(SQS_REQUEST_TIMEOUT_MS, 50),
    });
    const tables = new DynamoDBClient({
      region,
      maxAttempts: DYNAMODB_ATTEMPTS,
      requestHandler: handler(DYNAMODB_REQUEST_TIMEOUT_MS, 50),
    });
    this.dynamoDb = DynamoDBDocumentClient.from(tables, { marshallOptions: { removeUndefinedValues: true } });
    this.stepFunctions = new SFNClient({ region, maxAttempts: 1, requestHandler: handler(STEP_FUNCTIONS_REQUEST_TIMEOUT_MS, 100) });
  }

  destroy(): void {
    for (const client of [this.s3, this.sqs, this.dynamoDb, this.stepFunctions]) client.destroy();
  }
}

function handler(requestTimeout: number, maxSockets: number): NodeHttpHandler {
  const options = { keepAlive: true, maxSockets };
  return new NodeHttpHandler({
    httpAgent: new HttpAgent(options),
    httpsAgent: new HttpsAgent(options),
    connectionTimeout: 3_000,
    requestTimeout,
    throwOnRequestTimeout: true,
    // The request timeout ends with the head of the answer: a body that stalls after it is cut by this.
    socketTimeout: requestTimeout,
  });
}
