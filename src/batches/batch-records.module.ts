import { Module } from '@nestjs/common';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { JobBatchesPort } from '../export-jobs/index.js';
import { AwsClients } from '../platform/index.js';
import { SqsQueue } from '../platform/sqs/index.js';
import { Clock } from '../shared/index.js';
import { DynamoDbBatchRepositoryAdapter } from './adapters/dynamo-db-batch-repository.adapter.js';
import { DynamoDbReclaimHistoryAdapter } from './adapters/dynamo-db-reclaim-history.adapter.js';
import { JobBatchesAdapter } from './adapters/job-batches.adapter.js';
import { SqsBatchQueueAdapter } from './adapters/sqs-batch-queue.adapter.js';
import { BatchQueuePort } from './application/batch-queue.port.js';
import { BatchRepositoryPort } from './application/batch-repository.port.js';
import { ReclaimHistoryPort } from './application/reclaim-history.port.js';

export const BATCHES_QUEUE = Symbol('BATCHES_QUEUE');

/** The rows and messages of the batches and of their reclaims, apart from the work on them: the jobs look at them too. */
@Module({
  providers: [
    {
      provide: BATCHES_QUEUE,
      inject: [AwsClients, CONFIGURATION, Clock],
      useFactory: ({ sqs }: AwsClients, { queues }: Configuration, clock: Clock) => new SqsQueue(sqs, queues.batchesUrl, clock),
    },
    { provide: BatchQueuePort, inject: [BATCHES_QUEUE], useFactory: (queue: SqsQueue) => new SqsBatchQueueAdapter(queue) },
    {
      provide: BatchRepositoryPort,
      inject: [AwsClients, CONFIGURATION, Clock],
      useFactory: ({ dynamoDb }: AwsClients, { tables, exports }: Configuration, clock: Clock) =>
        new DynamoDbBatchRepositoryAdapter(dynamoDb, { table: tables.batches, retentionDays: exports.retentionDays }, clock),
    },
    {
      provide: JobBatchesPort,
      inject: [BatchRepositoryPort, BatchQueuePort, Clock],
      useFactory: (batches: BatchRepositoryPort, queue: BatchQueuePort, clock: Clock) => new JobBatchesAdapter(batches, queue, clock),
    },
    {
      provide: ReclaimHistoryPort,
      inject: [AwsClients, CONFIGURATION, Clock],
      useFactory: ({ dynamoDb }: AwsClients, { tables, exports }: Configuration, clock: Clock) =>
        new DynamoDbReclaimHistoryAdapter(dynamoDb, { table: tables.reclaims, retentionDays: exports.retentionDays }, clock),
    },
  ],
  exports: [BATCHES_QUEUE, BatchQueuePort, BatchRepositoryPort, JobBatchesPort, ReclaimHistoryPort],
})
export class BatchRecordsModule {}
