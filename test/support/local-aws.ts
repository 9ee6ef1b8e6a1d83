import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

export interface AwsClients {
  dynamodb: DynamoDBClient;
  documents: DynamoDBDocumentClient;
  sqs: SQSClient;
  s3: S3Client;
  states: SFNClient;
  destroy(): void;
}

/** Clients for the AWS that `environment` names (of `LocalAws.environment()`, or a part of it). They try once, so that a suite sees each fault. */
export function createAwsClients(environment: Record<string, string>): AwsClients {
  const config = (service: string) => {
    const endpoint = environment[`AWS_ENDPOINT_URL_${service}`];
    return {
      region: environment['AWS_REGION'] ?? 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
      maxAttempts: 1,
      ...(endpoint === undefined ? {} : { endpoint }),
    };
  };
  const dynamodb = new DynamoDBClient(config('DYNAMODB'));
  const sqs = new SQSClient({ ...config('SQS'), useQueueUrlAsEndpoint: false });
  const s3 = new S3Client({ ...config('S3'), forcePathStyle: true });
  const states = new SFNClient(config('SFN'));
  return {
    dynamodb,
    documents: DynamoDBDocumentClient.from(dynamodb),
    sqs,
    s3,
    states,
    destroy: () => {
      for (const client of [dynamodb, sqs, s3, states]) client.destroy();
    },
  };
}

/**
 * Ends only what hangs. A job whose finisher failed on a busy machine is ended a minute after its
 * owner was found dead, which is no fault. Below jest's own limit, so that the reason is told.
 */
export const GIVE_UP_MS = 180_000;

/**
 * Asks `attempt` again and again until it neither throws nor answers `undefined` or `false`, and returns its answer.
 * @throws what it threw last, or an error that says how long it was waited for
 */
export async function eventually<T>(
  attempt: () => T | undefined | false | Promise<T | undefined | false>,
  { timeoutMs = GIVE_UP_MS, intervalMs = 20 }: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown = new Error(`Not the case within ${timeoutMs} ms`);
    try {
      const answer = await attempt();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      failure = error;
    }
    if (performance.now() >= deadline) throw failure;
    await sleep(intervalMs);
  }
}
