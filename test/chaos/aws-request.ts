import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { errorReply, type ApiReply } from '../../infra/local-aws/gateway.js';
import type { AwsService } from '../../infra/local-aws/request-log.js';
import { parseRequest } from '../../infra/local-aws/s3/request.js';

/** A request of an AWS client, told apart by what the client itself put into it. */
export interface AwsRequest {
  service: AwsService;
  operation: string;
  /** Parsed JSON; undefined for S3. */
  body: unknown;
  /** The whole body, where it is small enough to be held: everywhere but in S3, whose bodies are streamed. */
  bytes: Buffer | undefined;
  /** The same for every try of one call. */
  invocationId: string;
  /** 1, 2, 3 … of the SDK's own tries. */
  attempt: number;
  /** Changes something on the other side. */
  write: boolean;
  /** For a person who reads of it: operation, and what of, without any value. */
  name: string;
}

const SERVICES: Record<string, AwsService> = { DynamoDB_20120810: 'dynamodb', AmazonSQS: 'sqs', AWSStepFunctions: 'states' };
const WRITES = /^(Put|Update|Delete|BatchWrite|TransactWrite)Item|^(Send|Delete)Message|^SendTask/;

/** Reads the body too, unless it is S3's. */
export async function readAwsRequest(message: IncomingMessage): Promise<AwsRequest> {
  const [api = '', target] = String(message.headers['x-amz-target']).split('.');
  const service = SERVICES[api] ?? 's3';
  const operation = target ?? s3Operation(message);
  const bytes = service === 's3' ? undefined : await buffer(message);
  const body = bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as unknown);
  return {
    service,
    operation,
    body,
    bytes,
    invocationId: String(message.headers['amz-sdk-invocation-id']),
    attempt: Number(/attempt=(\d+)/.exec(String(message.headers['amz-sdk-request']))?.[1] ?? 1),
    write: service === 's3' ? !['GET', 'HEAD'].includes(message.method ?? '') : WRITES.test(operation),
    name: `${operation} ${service === 's3' ? (message.url ?? '').split('?')[0] : subjectOf(body)}`.trim(),
  };
}

/** What this service says when it is asked too often. */
export function throttleReply(service: AwsService): ApiReply {
  switch (service) {
    case 'dynamodb':
      return errorReply(service, 400, 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException', 'Injected fault');
    case 'sqs':
    case 'states':
      return errorReply(service, 400, 'ThrottlingException', 'Injected fault');
    case 's3':
      return {
        status: 503,
        headers: { 'content-type': 'application/xml' },
        text: '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>SlowDown</Code><Message>Injected fault</Message></Error>',
      };
  }
}

/** An unknown one is the endpoint's business to refuse. */
function s3Operation(message: IncomingMessage): string {
  try {
    return parseRequest(message).operation;
  } catch {
    return message.method ?? 'Unknown';
  }
}

interface JsonSubject {
  TableName?: string;
  QueueUrl?: string;
  UpdateExpression?: string;
}

/** Table and what is set there tell one write from another; the expression holds names only. */
function subjectOf(body: unknown): string {
  const { TableName, QueueUrl, UpdateExpression } = body as JsonSubject;
  return [TableName ?? QueueUrl?.split('/').at(-1), UpdateExpression].filter((part) => part !== undefined).join(': ');
}
