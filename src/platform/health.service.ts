import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { HeadBucketCommand, type S3Client } from '@aws-sdk/client-s3';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Clock, MonotonicMs } from '../shared/index.js';
import { toLoggable } from '../shared/index.js';

/** One line of a health answer. */
export interface HealthCheck {
  name: string;
  ok: boolean;
  reason?: string;
}

/** Answers are reused this long, so that a probe's rhythm does not become load. */
const REUSE_MS = 5_000;

/** What the loops say of themselves, and whether the services that the work needs answer. */
export class HealthService {
  private readonly loops = new Map<string, () => string | undefined>();
  private cached: { at: MonotonicMs; checks: Promise<HealthCheck[]> } | undefined;

  constructor(
    private readonly clients: { dynamoDb: DynamoDBDocumentClient; sqs: SQSClient; s3: S3Client },
    private readonly resources: { table: string; queueUrl: string; bucket: string },
    private readonly clock: Clock,
  ) {}

  /** `problem` answers what is wrong with the loop, or `undefined`. */
  watchLoop(name: string, problem: () => string | undefined): void {
    this.loops.set(name, problem);
  }

  live(): HealthCheck[] {
    return [...this.loops].map(([name, problem]) => check(name, problem()));
  }

  dependencies(): Promise<HealthCheck[]> {
    const now = this.clock.monotonicMs();
    if (this.cached === undefined || now - this.cached.at > REUSE_MS) this.cached = { at: now, checks: this.ask() };
    return this.cached.checks;
  }

  private ask(): Promise<HealthCheck[]> {
    const { dynamoDb, sqs, s3 } = this.clients;
    const { table, queueUrl, bucket } = this.resources;
    return Promise.all([
      probe('dynamodb', dynamoDb.send(new DescribeTableCommand({ TableName: table }))),
      probe('sqs', sqs.send(new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['VisibilityTimeout'] }))),
      probe('s3', s3.send(new HeadBucketCommand({ Bucket: bucket }))),
    ]);
  }
}

async function probe(name: string, call: Promise<unknown>): Promise<HealthCheck> {
  try {
    await call;
    return check(name, undefined);
  } catch (error) {
    return check(name, toLoggable(error).name);
  }
}

function check(name: string, reason: string | undefined): HealthCheck {
  return reason === undefined ? { name, ok: true } : { name, ok: false, reason };
}
