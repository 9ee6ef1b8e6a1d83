import { Module } from '@nestjs/common';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { ExportJobsModule } from '../export-jobs/export-jobs.module.js';
import {
  CompleteJobUseCase,
  CountBatchEndUseCase,
  JobCounterService,
  JobStateRepositoryPort,
  LiveCoordinatorsPort,
} from '../export-jobs/index.js';
import { FleetRecordsModule } from '../fleet/fleet-records.module.js';
import { workLimitMs } from '../fleet/index.js';
import { SqsQueue } from '../platform/sqs/index.js';
import { AppLogger, Clock, Metrics } from '../shared/index.js';
import { TransferPool } from '../worker-pool/index.js';
import { WorkerPoolModule } from '../worker-pool/worker-pool.module.js';
import { BatchConsumer } from './adapters/batch.consumer.js';
import { ReclaimLoop } from './adapters/reclaim.loop.js';
import { BatchFilesPort } from './application/batch-files.port.js';
import { BatchQueuePort } from './application/batch-queue.port.js';
import { BatchWorkService } from './application/batch-work.service.js';
import { ClaimBatchUseCase } from './application/claim-batch.use-case.js';
import { EnqueueBatchesUseCase } from './application/enqueue-batches.use-case.js';
import { LeaseService } from './application/lease.service.js';
import { ReclaimStaleBatchesUseCase } from './application/reclaim-stale-batches.use-case.js';
import { ReleaseBatchUseCase } from './application/release-batch.use-case.js';
import { RunBatchUseCase } from './application/run-batch.use-case.js';
import { TakeInBatchUseCase } from './application/take-in-batch.use-case.js';
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
        CountBatchEndUseCase,
        JobStateRepositoryPort,
        WorkSigns,
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
        countBatchEnd: CountBatchEndUseCase,
        jobs: JobStateRepositoryPort,
        signs: WorkSigns,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) =>
        new RunBatchUseCase({ coordinatorId, ...batches }, claims, files, dispatcher, releases, completeJob, {
          leases,
          counter,
          completeJob,
          countBatchEnd,
          jobs,
          dispatcher,
          signs,
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
      provide: TakeInBatchUseCase,
      inject: [CONFIGURATION, RunBatchUseCase, TaskDispatcherService, TransferPool, BatchQueuePort, LiveCoordinatorsPort, AppLogger],
      useFactory: (
        { batches }: Configuration,
        runBatch: RunBatchUseCase,
        dispatcher: TaskDispatcherService,
        pool: TransferPool,
        queue: BatchQueuePort,
        coordinators: LiveCoordinatorsPort,
        logger: AppLogger,
      ) => new TakeInBatchUseCase(batches, { runBatch, dispatcher, pool, queue, coordinators, logger }),
    },
    {
      provide: BatchConsumer,
      inject: [CONFIGURATION, BATCHES_QUEUE, TakeInBatchUseCase, RunBatchUseCase, WorkSigns, Clock, AppLogger],
      useFactory: (
        { visibility, repair }: Configuration,
        queue: SqsQueue,
        takeInBatch: TakeInBatchUseCase,
        runBatch: RunBatchUseCase,
        signs: WorkSigns,
        clock: Clock,
        logger: AppLogger,
      ) =>
        new BatchConsumer(
          {
            stallTimeoutMs: repair.stallTimeoutMs,
            ...(visibility.timeoutS === undefined ? {} : { visibilityTimeoutS: visibility.timeoutS }),
          },
          queue,
          { takeInBatch, runBatch },
          { signs, clock, logger },
        ),
    },
  ],
  exports: [EnqueueBatchesUseCase, BatchConsumer, BatchWorkService, ReclaimLoop],
})
export class BatchesModule {}
