import { AbortMultipartUploadCommand, HeadBucketCommand, type S3Client } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand, type QueueAttributeName, type SQSClient } from '@aws-sdk/client-sqs';
import { GetCommand, QueryCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { toLoggable } from '../../shared/index.js';
import type { Dependency } from './dependency.js';
import { refusalOf } from './refusal.js';

export interface DependencySettings {
  tables: { jobs: string; batches: string; reclaims: string; coordinators: string };
  queues: { jobsUrl: string; batchesUrl: string; deadLetterUrl: string };
  exports: { bucket: string };
}

export interface DependencyClients {
  dynamoDb: DynamoDBDocumentClient;
  sqs: SQSClient;
  s3: S3Client;
}

interface Table {
  name: string;
  setting: string;
  /** Of no row: only whether it can be asked for is asked. */
  key: Record<string, string | number>;
  index?: { name: string; partitionKey: string; sortKey: string };
}

/** In no id of ours. */
const NOBODY = 'health check';
const NO_UPLOAD = { Key: '_export/health', UploadId: 'none' };

/** Everything that the work needs, asked by calls that the work makes itself wherever there is one: then it is its own permissions that answer. */
export function dependenciesOf(clients: DependencyClients, { tables, queues, exports }: DependencySettings): Dependency[] {
  const { dynamoDb, sqs, s3 } = clients;
  const table = (named: Omit<Table, 'setting'>, setting: string, resource: string) => tableOf(dynamoDb, { ...named, setting }, resource);
  return [
    table(
      { name: 'jobs', key: { jobId: NOBODY }, index: { name: 'status-index', partitionKey: 'statusShard', sortKey: 'createdAt' } },
      'DYNAMODB_JOBS_TABLE',
      tables.jobs,
    ),
    table(
      {
        name: 'batches',
        key: { jobId: NOBODY, batchNo: 0 },
        index: { name: 'running-index', partitionKey: 'runningShard', sortKey: 'lockedAt' },
      },
      'DYNAMODB_BATCHES_TABLE',
      tables.batches,
    ),
    table(
      {
        name: 'reclaims',
        key: { jobId: NOBODY, reclaim: NOBODY },
        index: { name: 'recent-index', partitionKey: 'reclaimedShard', sortKey: 'reclaimedAt' },
      },
      'DYNAMODB_RECLAIMS_TABLE',
      tables.reclaims,
    ),
    table({ name: 'coordinators', key: { coordinatorId: NOBODY } }, 'DYNAMODB_COORDINATORS_TABLE', tables.coordinators),
    // Intake counts receives by its redrive policy, and a repair asks the other how many messages wait.
    queueOf(sqs, 'jobs-queue', 'SQS_JOBS_QUEUE_URL', queues.jobsUrl),
    queueOf(sqs, 'batches-queue', 'SQS_BATCHES_QUEUE_URL', queues.batchesUrl),
    // Copies are only sent there.
    { ...queueOf(sqs, 'dead-letter-queue', 'SQS_DLQ_URL', queues.deadLetterUrl), worksDenied: true },
    bucketOf(s3, exports.bucket),
  ];
}

function tableOf(client: DynamoDBDocumentClient, { name, setting, key, index }: Table, resource: string): Dependency {
  const indexText = index === undefined ? '' : `, with the index ${index.name} (${index.partitionKey}, ${index.sortKey})`;
  return {
    name: `${name}-table`,
    resource,
    ask: async (abortSignal) => {
      await Promise.all([
        client.send(new GetCommand({ TableName: resource, Key: key }), { abortSignal }),
        index === undefined
          ? undefined
          : client.send(
              new QueryCommand({
                TableName: resource,
                IndexName: index.name,
                Limit: 1,
                KeyConditionExpression: '#partition = :nobody',
                ExpressionAttributeNames: { '#partition': index.partitionKey },
                ExpressionAttributeValues: { ':nobody': NOBODY },
              }),
              { abortSignal },
            ),
      ]);
    },
    mends: {
      missing: `let ${setting} name a table with the key ${Object.keys(key).join(', ')}${indexText}, or create it`,
      denied: `allow dynamodb:GetItem${index === undefined ? '' : ', and dynamodb:Query on its indexes'}`,
    },
  };
}

function queueOf(client: SQSClient, name: string, setting: string, url: string): Dependency {
  const attributes: QueueAttributeName[] = ['VisibilityTimeout'];
  return {
    name,
    resource: url,
    ask: async (abortSignal) => {
      await client.send(new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: attributes }), { abortSignal });
    },
    mends: { missing: `let ${setting} name a queue that exists, or create it`, denied: 'allow sqs:GetQueueAttributes' },
  };
}

/**
 * A 403 to HeadBucket may mean no more than that `s3:ListBucket` is missing, which the work does without. Then it is asked
 * for the end of an upload that does not exist: the work needs the permission for that, and S3 says `NoSuchUpload` to whoever has it.
 */
function bucketOf(client: S3Client, bucket: string): Dependency {
  return {
    name: 'export-bucket',
    resource: bucket,
    ask: async (abortSignal) => {
      try {
        await client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal });
      } catch (error) {
        if (refusalOf(error).kind !== 'denied' || !(await takesOurCalls(client, bucket, abortSignal))) throw error;
      }
    },
    mends: {
      missing: 'let EXPORT_BUCKET name a bucket in AWS_REGION, or create it',
      denied: 'check the credentials, the bucket policy, and that the role has s3:PutObject, s3:AbortMultipartUpload and s3:ListBucket',
    },
  };
}

async function takesOurCalls(client: S3Client, bucket: string, abortSignal: AbortSignal): Promise<boolean> {
  try {
    await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, ...NO_UPLOAD }), { abortSignal });
    return true;
  } catch (error) {
    return toLoggable(error).name === 'NoSuchUpload';
  }
}
