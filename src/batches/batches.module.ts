import { Module } from '@nestjs/common';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { ExportJobsModule } from '../export-jobs/export-jobs.module.js';
import { CompleteJobUseCase, JobCounterService, JobStateRepositoryPort } from '../export-jobs/index.js';
import { FleetRecordsModule } from '../fleet/fleet-records.module.js';
import { workLimitMs } from '../fleet/index.js';
import { SqsQueue } from '../platform/sqs/index.js';
import { AppLogger, Clock, Metrics } from '../shared/index.js';
import { TransferPool } from '../worker-pool/index.js';
import { WorkerPoolModule } from '../worker-pool/worker-pool.module.js';
import { BatchConsumer } from './adapters/batch.consumer.js';
import { ReclaimLoop } from './adapters/reclaim.loop.js';
import { BatchFilesPort } from './application/batch-files.port.js';
import { BatchWorkService } from './application/batch-work.service.js';
import { ClaimBatchUseCase } from './application/claim-batch.use-case.js';
import { EnqueueBatchesUseCase } from './application/enqueue-batches.use-case.js';
import { LeaseService } from './application/lease.service.js';
import { ReclaimStaleBatchesUseCase } from './application/reclaim-stale-batches.use-case.js';
import { ReleaseBatchUseCase } from './application/release-batch.use-case.js';
import { RunBatchUseCase } from './application/run-batch.use-case.js';
import { TaskDispatcherService } from './application/task-dispatcher.service.js';
import { WorkSigns } from './application/work-signs.js';
import { BatchReclaimModule } from './batch-reclaim.module.js';
import { BATCHES_QUEUE, BatchRecordsModule } from './batch-records.module.js';

@Module({
  imports: [BatchRecordsModule, BatchReclaimModule, ExportJobsModule, FleetRecordsModule, WorkerPoolModule],
  providers: [
    WorkSigns,
    {
      provide: TaskDispatcherService,
      inject: [TransferPool, CONFIGURATION, WorkSigns, Clock, AppLogger, Metrics],
      useFactory: (pool: TransferPool, settings: Configuration, signs: WorkSigns, clock: Clock, logger: AppLogger, metrics: Metrics) =>
        new TaskDispatcherService(pool, { ...settings.batches, ...settings.pool }, { signs, clock, logger, metrics }),
    },
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
          completeJob,
          jobs,
          clock,
          logger,
          metrics,
        }),
    },
    {
      provide: BatchWorkService,
      inject: [CONFIGURATION, WorkSigns, TaskDispatcherService, RunBatchUseCase],
      useFactory: ({ fleet }: Configuration, signs: WorkSigns, dispatcher: TaskDispatcherService, runBatch: RunBatchUseCase) =>
        new BatchWorkService({ workLimitMs: workLimitMs(fleet.heartbeatIntervalMs) }, signs, dispatcher, runBatch),
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
        { batches, visibility, repair }: Configuration,
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
            stallTimeoutMs: repair.stallTimeoutMs,
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
