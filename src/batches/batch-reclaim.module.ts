import { Module } from '@nestjs/common';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { ExportJobsModule } from '../export-jobs/export-jobs.module.js';
import { FleetRecordsModule } from '../fleet/fleet-records.module.js';
import { AwsClients } from '../platform/index.js';
import { AppLogger, Clock, Metrics } from '../shared/index.js';
import { S3BatchFilesAdapter } from './adapters/s3-batch-files.adapter.js';
import { BatchFilesPort } from './application/batch-files.port.js';
import { BatchQueuePort } from './application/batch-queue.port.js';
import { BatchRepositoryPort } from './application/batch-repository.port.js';
import { GiveUpBatchUseCase } from './application/give-up-batch.use-case.js';
import { LeaseService } from './application/lease.service.js';
import { OwnHeartbeatPort } from './application/own-heartbeat.port.js';
import { PreviewReclaimQuery } from './application/preview-reclaim.query.js';
import { ReclaimBatchUseCase } from './application/reclaim-batch.use-case.js';
import { ReclaimRecorderService } from './application/reclaim-recorder.service.js';
import { ReclaimStaleBatchesUseCase } from './application/reclaim-stale-batches.use-case.js';
import { StaleMonitorQuery } from './application/stale-monitor.query.js';
import { ValidateLeasesQuery } from './application/validate-leases.query.js';
import { BatchRecordsModule } from './batch-records.module.js';

/** Reclaim and its views, apart from the work on batches: commands use them too, without threads or consumers. */
@Module({
  imports: [BatchRecordsModule, ExportJobsModule, FleetRecordsModule],
  providers: [
    { provide: BatchFilesPort, inject: [AwsClients], useFactory: ({ s3 }: AwsClients) => new S3BatchFilesAdapter(s3) },
    LeaseService,
    GiveUpBatchUseCase,
    ReclaimRecorderService,
    {
      provide: ReclaimBatchUseCase,
      inject: [CONFIGURATION, BatchRepositoryPort, BatchQueuePort, GiveUpBatchUseCase, ReclaimRecorderService, Clock],
      useFactory: (
        { coordinatorId, batches: { ttlMs }, reclaim: { maxAttempts } }: Configuration,
        batches: BatchRepositoryPort,
        queue: BatchQueuePort,
        giveUpBatch: GiveUpBatchUseCase,
        recorder: ReclaimRecorderService,
        clock: Clock,
      ) => new ReclaimBatchUseCase({ coordinatorId, ttlMs, maxAttempts }, batches, queue, giveUpBatch, recorder, clock),
    },
    {
      provide: ReclaimStaleBatchesUseCase,
      inject: [
        CONFIGURATION,
        BatchRepositoryPort,
        LeaseService,
        OwnHeartbeatPort,
        ReclaimBatchUseCase,
        ReclaimRecorderService,
        Clock,
        AppLogger,
        Metrics,
      ],
      useFactory: (
        { batches: { heartbeatIntervalMs, ttlMs }, reclaim }: Configuration,
        batches: BatchRepositoryPort,
        leases: LeaseService,
        ownHeartbeat: OwnHeartbeatPort,
        reclaimBatch: ReclaimBatchUseCase,
        recorder: ReclaimRecorderService,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) =>
        new ReclaimStaleBatchesUseCase(
          { heartbeatIntervalMs, ttlMs, reclaimIntervalMs: reclaim.intervalMs },
          batches,
          leases,
          ownHeartbeat,
          reclaimBatch,
          recorder,
          clock,
          logger,
          metrics,
        ),
    },
    {
      provide: StaleMonitorQuery,
      inject: [CONFIGURATION, BatchRepositoryPort, Clock],
      useFactory: ({ batches: { ttlMs } }: Configuration, batches: BatchRepositoryPort, clock: Clock) =>
        new StaleMonitorQuery({ ttlMs }, batches, clock),
    },
    {
      provide: ValidateLeasesQuery,
      inject: [CONFIGURATION, BatchRepositoryPort, Clock],
      useFactory: ({ batches: { heartbeatIntervalMs, ttlMs } }: Configuration, batches: BatchRepositoryPort, clock: Clock) =>
        new ValidateLeasesQuery({ heartbeatIntervalMs, ttlMs }, batches, clock),
    },
    {
      provide: PreviewReclaimQuery,
      inject: [CONFIGURATION, BatchRepositoryPort, Clock],
      useFactory: (
        { batches: { heartbeatIntervalMs, ttlMs }, reclaim: { maxAttempts } }: Configuration,
        batches: BatchRepositoryPort,
        clock: Clock,
      ) => new PreviewReclaimQuery({ heartbeatIntervalMs, ttlMs, maxAttempts }, batches, clock),
    },
  ],
  exports: [BatchFilesPort, LeaseService, ReclaimStaleBatchesUseCase, StaleMonitorQuery, ValidateLeasesQuery, PreviewReclaimQuery],
})
export class BatchReclaimModule {}
