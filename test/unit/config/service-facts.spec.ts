import { expect, it } from '@jest/globals';
import { loadConfiguration, packageVersion, serviceFacts } from '../../../src/config/index.js';

it('of a service that has started its log names version, region, queues, tables, bucket and pool', () => {
  const configuration = loadConfiguration({
    AWS_REGION: 'eu-central-1',
    SQS_JOBS_QUEUE_URL: 'https://sqs.test/1/jobs',
    SQS_BATCHES_QUEUE_URL: 'https://sqs.test/1/batches',
    SQS_DLQ_URL: 'https://sqs.test/1/jobs-dlq',
    DYNAMODB_JOBS_TABLE: 'ExportJobs',
    DYNAMODB_BATCHES_TABLE: 'ExportBatches',
    DYNAMODB_RECLAIMS_TABLE: 'ExportReclaims',
    DYNAMODB_COORDINATORS_TABLE: 'ExportCoordinators',
    EXPORT_BUCKET: 'exports',
  });
  expect(serviceFacts(configuration)).toEqual({
    version: packageVersion(),
    node: process.version,
    region: 'eu-central-1',
    queues: { jobs: 'https://sqs.test/1/jobs', batches: 'https://sqs.test/1/batches', deadLetters: 'https://sqs.test/1/jobs-dlq' },
    tables: { jobs: 'ExportJobs', batches: 'ExportBatches', reclaims: 'ExportReclaims', coordinators: 'ExportCoordinators' },
    bucket: 'exports',
    pool: { threads: 4, tasksPerWorker: 10, memoryMb: 64, connectionsPerHost: 32 },
    heartbeatIntervalMs: 30_000,
  });
});
