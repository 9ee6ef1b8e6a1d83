import { Module } from '@nestjs/common';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { JobBatchesPort } from '../export-jobs/index.js';
import { AwsClients } from '../platform/index.js';
import { Clock } from '../shared/index.js';
import { DynamoDbBatchRepositoryAdapter } from './adapters/dynamo-db-batch-repository.adapter.js';
import { DynamoDbReclaimHistoryAdapter } from './adapters/dynamo-db-reclaim-history.adapter.js';
import { JobBatchesAdapter } from './adapters/job-batches.adapter.js';
import { BatchRepositoryPort } from './application/batch-repository.port.js';
import { ReclaimHistoryPort } from './application/reclaim-history.port.js';

/** The rows of the batches and of their reclaims, apart from the work on them: the jobs look at them too. */
@Module({
  providers: [
    {
      provide: BatchRepositoryPort,
      inject: [AwsClients, CONFIGURATION, Clock],
      useFactory: ({ dynamoDb }: AwsClients, { tables, exports }: Configuration, clock: Clock) =>
        new DynamoDbBatchRepositoryAdapter(dynamoDb, { table: tables.batches, retentionDays: exports.retentionDays }, clock),
    },
    {
      provide: JobBatchesPort,
      inject: [BatchRepositoryPort],
      useFactory: (batches: BatchRepositoryPort) => new JobBatchesAdapter(batches),
    },
    {
      provide: ReclaimHistoryPort,
      inject: [AwsClients, CONFIGURATION, Clock],
      useFactory: ({ dynamoDb }: AwsClients, { tables, exports }: Configuration, clock: Clock) =>
        new DynamoDbReclaimHistoryAdapter(dynamoDb, { table: tables.reclaims, retentionDays: exports.retentionDays }, clock),
    },
  ],
  exports: [BatchRepositoryPort, JobBatchesPort, ReclaimHistoryPort],
})
export class BatchRecordsModule {}
