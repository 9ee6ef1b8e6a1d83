import { Module } from '@nestjs/common';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { ExportJobsModule } from '../export-jobs/export-jobs.module.js';
import { CompleteJobUseCase, JobCounterService, JobStateRepositoryPort } from '../export-jobs/index.js';
import { FleetRecordsModule } from '../fleet/fleet-records.module.js';
import { AwsClients } from '../platform/index.js';
import { SqsQueue } from '../platform/sqs/index.js';
import { AppLogger, Clock, Metrics } from '../shared/index.js';
import { TransferPool } from '../worker-pool/index.js';
import { WorkerPoolModule } from '../worker-pool/worker-pool.module.js';
import { BatchConsumer } from './adapters/batch.consumer.js';
import { ReclaimLoop } from './adapters/reclaim.loop.js';
import { S3BatchFilesAdapter } from './adapters/s3-batch-files.adapter.js';
import { SqsBatchQueueAdapter } from './adapters/sqs-batch-queue.adapter.js';
import { BatchFilesPort } from './application/batch-files.port.js';
import { BatchQueuePort } from './application/batch-queue.port.js';
import { BatchRepositoryPort } from './application/batch-repository.port.js';
import { BatchWorkService } from './application/batch-work.service.js';
import { ClaimBatchUseCase } from './application/claim-batch.use-case.js';
import { EnqueueBatchesUseCase } from './application/enqueue-batches.use-case.js';
import { GiveUpBatchUseCase } from './application/give-up-batch.use-case.js';
import { LeaseService } from './application/lease.service.js';
import { OwnHeartbeatPort } from './application/own-heartbeat.port.js';
import { ReclaimStaleBatchesUseCase } from './application/reclaim-stale-batches.use-case.js';
import { ReleaseBatchUseCase } from './application/release-batch.use-case.js';
import { RunBatchUseCase } from './application/run-batch.use-case.js';
import { TaskDispatcherService } from './application/task-dispatcher.service.js';
import { WorkSigns } from './application/work-signs.js';
import { BatchRecordsModule } from './batch-records.module.js';

const BATCHES_QUEUE = Symbol('BATCHES_QUEUE');

@Module({
  imports: [BatchRecordsModule, ExportJobsModule, FleetRecordsModule, WorkerPoolModule],
  providers: [
    {
      provide: BATCHES_QUEUE,
      inject: [AwsClients, CONFIGURATION, Clock],
      useFactory: ({ sqs }: AwsClients, { queues }: Configuration, clock: Clock) => new SqsQueue(sqs, queues.batchesUrl, clock),
    },
    { provide: BatchQueuePort, inject: [BATCHES_QUEUE], useFactory: (queue: SqsQueue) => new SqsBatchQueueAdapter(queue) },
    { provide: BatchFilesPort, inject: [AwsClients], useFactory: ({ s3 }: AwsClients) => new S3BatchFilesAdapter(s3) },
    WorkSigns,
    {
      provide: TaskDispatcherService,
      inject: [TransferPool, CONFIGURATION, Clock, Metrics, WorkSigns],
      useFactory: (pool: TransferPool, { batches }: Configuration, clock: Clock, metrics: Metrics, signs: WorkSigns) =>
        new TaskDispatcherService(pool, batches, clock, metrics, signs),
    },
    LeaseService,
    ClaimBatchUseCase,
    ReleaseBatchUseCase,
    EnqueueBatchesUseCase,
    {
      provide: RunBatchUseCase,
      inject: [
        CONFIGURATION,
        ClaimBatchUseCase,
        BatchFilesPort,
        TaskDispatcherService,
        ReleaseBatchUseCase,
        CompleteJobUseCase,
        LeaseService,
        JobCounterService,
        JobStateRepositoryPort,
        Clock,
        AppLogger,
        Metrics,
      ],
      useFactory: (
        { coordinatorId, batches }: Configuration,
        claims: ClaimBatchUseCase,
        files: BatchFilesPort,
        dispatcher: TaskDispatcherService,
        releases: ReleaseBatchUseCase,
        completeJob: CompleteJobUseCase,
        leases: LeaseService,
        counter: JobCounterService,
        jobs: JobStateRepositoryPort,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) =>
        new RunBatchUseCase({ coordinatorId, ...batches }, claims, files, dispatcher, releases, completeJob, {
          leases,
          counter,
          jobs,
          clock,
          logger,
          metrics,
        }),
    },
    BatchWorkService,
    GiveUpBatchUseCase,
    {
      provide: ReclaimStaleBatchesUseCase,
      inject: [
        CONFIGURATION,
        BatchRepositoryPort,
        BatchQueuePort,
        LeaseService,
        OwnHeartbeatPort,
        GiveUpBatchUseCase,
        Clock,
        AppLogger,
        Metrics,
      ],
      useFactory: (
        { batches: { heartbeatIntervalMs, ttlMs }, reclaim }: Configuration,
        batches: BatchRepositoryPort,
        queue: BatchQueuePort,
        leases: LeaseService,
        ownHeartbeat: OwnHeartbeatPort,
        giveUpBatch: GiveUpBatchUseCase,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) =>
        new ReclaimStaleBatchesUseCase(
          { heartbeatIntervalMs, ttlMs, reclaimIntervalMs: reclaim.intervalMs, maxAttempts: reclaim.maxAttempts },
          batches,
          queue,
          leases,
          ownHeartbeat,
          giveUpBatch,
          clock,
          logger,
          metrics,
        ),
    },
    {
      provide: ReclaimLoop,
      inject: [CONFIGURATION, ReclaimStaleBatchesUseCase, Clock, AppLogger],
      useFactory: ({ reclaim }: Configuration, useCase: ReclaimStaleBatchesUseCase, clock: Clock, logger: AppLogger) =>
        new ReclaimLoop(reclaim, useCase, { clock, logger }),
    },
    {
      provide: BatchConsumer,
      inject: [CONFIGURATION, BATCHES_QUEUE, RunBatchUseCase, TransferPool, WorkSigns, Clock, AppLogger],
      useFactory: (
        { batches, visibility }: Configuration,
        queue: SqsQueue,
        runBatch: RunBatchUseCase,
        pool: TransferPool,
        signs: WorkSigns,
        clock: Clock,
        logger: AppLogger,
      ) =>
        new BatchConsumer(
          // A pool that has lost all its threads could only hold batches, not run them.
          {
            maxInHand: () => (pool.capacity === 0 ? 0 : batches.maxInHand),
            ...(visibility.timeoutS === undefined ? {} : { visibilityTimeoutS: visibility.timeoutS }),
          },
          queue,
          runBatch,
          { signs, clock, logger },
        ),
    },
  ],
  exports: [EnqueueBatchesUseCase, BatchConsumer, BatchWorkService, ReclaimLoop],
})
export class BatchesModule {}
