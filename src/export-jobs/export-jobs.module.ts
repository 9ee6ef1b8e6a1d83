import { Module } from '@nestjs/common';
import { BatchRecordsModule } from '../batches/batch-records.module.js';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { FleetRecordsModule } from '../fleet/fleet-records.module.js';
import { AwsClients } from '../platform/index.js';
import { AppLogger, Clock, Metrics } from '../shared/index.js';
import { DynamoDbJobStateRepositoryAdapter } from './adapters/dynamodb/dynamo-db-job-state-repository.adapter.js';
import { HeartbeatOrchestratorLifecycle } from './adapters/heartbeat-orchestrator.lifecycle.js';
import { S3JobResultsAdapter } from './adapters/s3/s3-job-results.adapter.js';
import { SdkStepFunctionsAdapter } from './adapters/sdk-step-functions.adapter.js';
import { CancelJobUseCase } from './application/cancel-job.use-case.js';
import { CommandEndsService } from './application/command-ends.service.js';
import { CountBatchEndUseCase } from './application/count-batch-end.use-case.js';
import { CompleteJobUseCase } from './application/complete-job.use-case.js';
import { HeartbeatOrchestratorService } from './application/heartbeat-orchestrator.service.js';
import { JobBatchesPort } from './application/job-batches.port.js';
import { JobCareService } from './application/job-care.service.js';
import { JobCounterService } from './application/job-counter.service.js';
import { JobResultsPort } from './application/job-results.port.js';
import { JobStateRepositoryPort } from './application/job-state-repository.port.js';
import { JobWindowService } from './application/job-window.service.js';
import { LiveCoordinatorsPort } from './application/live-coordinators.port.js';
import { RepairJobUseCase } from './application/repair-job.use-case.js';
import { ReopenJobUseCase } from './application/reopen-job.use-case.js';
import { SettleTokenService } from './application/settle-token.service.js';
import { StepFunctionsPort } from './application/step-functions.port.js';
import { StuckFinishesQuery } from './application/stuck-finishes.query.js';
import { TopUpJobUseCase } from './application/top-up-job.use-case.js';
import { TaskHeartbeatService } from './application/task-heartbeat.service.js';

@Module({
  imports: [BatchRecordsModule, FleetRecordsModule],
  providers: [
    {
      provide: JobStateRepositoryPort,
      inject: [AwsClients, CONFIGURATION, Clock, AppLogger],
      useFactory: ({ dynamoDb }: AwsClients, { tables, exports }: Configuration, clock: Clock, logger: AppLogger) =>
        new DynamoDbJobStateRepositoryAdapter(
          dynamoDb,
          { table: tables.jobs, statusShards: tables.statusShards, retentionDays: exports.retentionDays },
          clock,
          logger,
        ),
    },
    {
      provide: StepFunctionsPort,
      inject: [AwsClients],
      useFactory: ({ stepFunctions }: AwsClients) => new SdkStepFunctionsAdapter(stepFunctions),
    },
    {
      provide: JobResultsPort,
      inject: [AwsClients, AppLogger],
      useFactory: ({ s3 }: AwsClients, logger: AppLogger) => new S3JobResultsAdapter(s3, logger),
    },
    JobCounterService,
    SettleTokenService,
    CompleteJobUseCase,
    CancelJobUseCase,
    ReopenJobUseCase,
    {
      provide: JobWindowService,
      inject: [CONFIGURATION, LiveCoordinatorsPort],
      useFactory: ({ batches }: Configuration, coordinators: LiveCoordinatorsPort) => new JobWindowService(batches, coordinators),
    },
    TopUpJobUseCase,
    CountBatchEndUseCase,
    StuckFinishesQuery,
    {
      provide: TaskHeartbeatService,
      inject: [CONFIGURATION, StepFunctionsPort, JobStateRepositoryPort, CancelJobUseCase, Clock, AppLogger, Metrics],
      useFactory: (
        { stepFunctions }: Configuration,
        port: StepFunctionsPort,
        jobs: JobStateRepositoryPort,
        cancelJob: CancelJobUseCase,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) => new TaskHeartbeatService(stepFunctions, port, jobs, cancelJob, clock, logger, metrics),
    },
    {
      provide: RepairJobUseCase,
      inject: [CONFIGURATION, JobBatchesPort, LiveCoordinatorsPort, JobCounterService, CompleteJobUseCase, Clock, AppLogger, Metrics],
      useFactory: (
        { repair }: Configuration,
        batches: JobBatchesPort,
        coordinators: LiveCoordinatorsPort,
        counter: JobCounterService,
        completeJob: CompleteJobUseCase,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) => new RepairJobUseCase(repair, { batches, coordinators, counter, completeJob, clock, logger, metrics }),
    },
    CommandEndsService,
    JobCareService,
    {
      provide: HeartbeatOrchestratorService,
      inject: [
        CONFIGURATION,
        JobStateRepositoryPort,
        LiveCoordinatorsPort,
        TaskHeartbeatService,
        JobCareService,
        JobWindowService,
        Clock,
        AppLogger,
        Metrics,
      ],
      useFactory: (
        { stepFunctions, repair }: Configuration,
        jobs: JobStateRepositoryPort,
        coordinators: LiveCoordinatorsPort,
        heartbeats: TaskHeartbeatService,
        care: JobCareService,
        window: JobWindowService,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) =>
        new HeartbeatOrchestratorService(
          { ...stepFunctions, ...repair },
          jobs,
          coordinators,
          heartbeats,
          care,
          window,
          clock,
          logger,
          metrics,
        ),
    },
    HeartbeatOrchestratorLifecycle,
  ],
  exports: [
    JobStateRepositoryPort,
    StepFunctionsPort,
    JobResultsPort,
    JobCounterService,
    SettleTokenService,
    StuckFinishesQuery,
    CompleteJobUseCase,
    CountBatchEndUseCase,
    CancelJobUseCase,
    JobWindowService,
    ReopenJobUseCase,
    TaskHeartbeatService,
    TopUpJobUseCase,
    HeartbeatOrchestratorService,
    HeartbeatOrchestratorLifecycle,
  ],
})
export class ExportJobsModule {}
