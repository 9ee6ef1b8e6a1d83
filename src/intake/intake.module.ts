import { tmpdir } from 'node:os';
import { Module } from '@nestjs/common';
import { BatchesModule } from '../batches/batches.module.js';
import { EnqueueBatchesUseCase } from '../batches/index.js';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { ExportJobsModule } from '../export-jobs/export-jobs.module.js';
import {
  CompleteJobUseCase,
  JobResultsPort,
  JobStateRepositoryPort,
  LiveCoordinatorsPort,
  ReopenJobUseCase,
  SettleTokenService,
  TaskHeartbeatService,
  TopUpJobUseCase,
} from '../export-jobs/index.js';
import { FleetRecordsModule } from '../fleet/fleet-records.module.js';
import { AwsClients } from '../platform/index.js';
import { SqsQueue, SqsVisibilityAdapter } from '../platform/sqs/index.js';
import { AppLogger, Clock, Metrics } from '../shared/index.js';
import { SourceReader } from '../worker-pool/index.js';
import { WorkerPoolModule } from '../worker-pool/worker-pool.module.js';
import { ExportJobConsumer } from './adapters/export-job.consumer.js';
import { S3DestinationAdapter } from './adapters/s3-destination.adapter.js';
import { JobHandOn } from './adapters/job-hand-on.js';
import { S3SegmentWriterAdapter } from './adapters/s3-segment-writer.adapter.js';
import { SpoolingManifestAdapter } from './adapters/spooling-manifest.adapter.js';
import { SpoolSweep } from './adapters/spool-folders.js';
import { SqsDeadLetterAdapter } from './adapters/sqs-dead-letter.adapter.js';
import { AcceptJobUseCase } from './application/accept-job.use-case.js';
import { DeadLetterPort } from './application/dead-letter.port.js';
import { DestinationPort } from './application/destination.port.js';
import { ExpandJobUseCase } from './application/expand-job.use-case.js';
import { ExpansionTurns } from './application/expansion-turns.js';
import { ManifestPort } from './application/manifest.port.js';
import { OpenLists } from './application/open-lists.js';
import { PlanExpansionUseCase, type IntakeCapacity } from './application/plan-expansion.use-case.js';
import { RejectMessageUseCase } from './application/reject-message.use-case.js';
import { SegmentWriterPort } from './application/segment-writer.port.js';

const INTAKE_CAPACITY = Symbol('IntakeCapacity');

@Module({
  imports: [ExportJobsModule, BatchesModule, FleetRecordsModule, WorkerPoolModule],
  providers: [
    {
      provide: ManifestPort,
      inject: [SourceReader, AwsClients, CONFIGURATION, Clock],
      useFactory: (sources: SourceReader, { lists }: AwsClients, { exports, pool }: Configuration, clock: Clock) => {
        const { bucket: exportBucket, maxSpoolBytes } = exports;
        return new SpoolingManifestAdapter(
          sources,
          lists,
          { exportBucket, folder: tmpdir(), timeoutMs: pool.taskTimeoutMs, maxSpoolBytes },
          clock,
        );
      },
    },
    { provide: SpoolSweep, inject: [AppLogger], useFactory: (logger: AppLogger) => new SpoolSweep(tmpdir(), logger) },
    { provide: SegmentWriterPort, inject: [AwsClients], useFactory: ({ s3 }: AwsClients) => new S3SegmentWriterAdapter(s3) },
    {
      provide: DeadLetterPort,
      inject: [AwsClients, CONFIGURATION, Clock],
      useFactory: ({ sqs }: AwsClients, { queues }: Configuration, clock: Clock) =>
        new SqsDeadLetterAdapter(new SqsQueue(sqs, queues.deadLetterUrl, clock)),
    },
    {
      provide: DestinationPort,
      inject: [AwsClients, Clock],
      useFactory: ({ s3 }: AwsClients, clock: Clock) => new S3DestinationAdapter(s3, clock),
    },
    RejectMessageUseCase,
    {
      provide: AcceptJobUseCase,
      inject: [
        JobStateRepositoryPort,
        JobResultsPort,
        DestinationPort,
        TaskHeartbeatService,
        SettleTokenService,
        ReopenJobUseCase,
        CONFIGURATION,
        Clock,
        AppLogger,
      ],
      useFactory: (
        jobs: JobStateRepositoryPort,
        results: JobResultsPort,
        destinations: DestinationPort,
        heartbeats: TaskHeartbeatService,
        settler: SettleTokenService,
        reopenJob: ReopenJobUseCase,
        { stepFunctions }: Configuration,
        clock: Clock,
        logger: AppLogger,
      ) => new AcceptJobUseCase(jobs, results, destinations, heartbeats, settler, reopenJob, stepFunctions, clock, logger),
    },
    {
      provide: INTAKE_CAPACITY,
      inject: [CONFIGURATION, Clock],
      useFactory: ({ exports }: Configuration, clock: Clock): IntakeCapacity => ({
        turns: new ExpansionTurns(exports.intakeConcurrency),
        lists: new OpenLists(exports.maxOpenLists, clock),
      }),
    },
    {
      provide: ExpandJobUseCase,
      inject: [
        JobStateRepositoryPort,
        ManifestPort,
        SegmentWriterPort,
        EnqueueBatchesUseCase,
        CompleteJobUseCase,
        INTAKE_CAPACITY,
        TopUpJobUseCase,
        CONFIGURATION,
        Clock,
        AppLogger,
      ],
      useFactory: (
        jobs: JobStateRepositoryPort,
        manifests: ManifestPort,
        segments: SegmentWriterPort,
        batches: EnqueueBatchesUseCase,
        completeJob: CompleteJobUseCase,
        capacity: IntakeCapacity,
        topUpJob: TopUpJobUseCase,
        { exports }: Configuration,
        clock: Clock,
        logger: AppLogger,
      ) => {
        const planExpansion = new PlanExpansionUseCase({ jobs, manifests, segments, clock }, capacity, exports, logger);
        return new ExpandJobUseCase(planExpansion, capacity, { jobs, batches, completeJob, topUpJob, clock, logger });
      },
    },
    {
      provide: ExportJobConsumer,
      inject: [
        CONFIGURATION,
        AwsClients,
        AcceptJobUseCase,
        ExpandJobUseCase,
        RejectMessageUseCase,
        CompleteJobUseCase,
        JobStateRepositoryPort,
        LiveCoordinatorsPort,
        Clock,
        AppLogger,
        Metrics,
      ],
      useFactory: (
        configuration: Configuration,
        { sqs }: AwsClients,
        acceptJob: AcceptJobUseCase,
        expandJob: ExpandJobUseCase,
        rejectMessage: RejectMessageUseCase,
        completeJob: CompleteJobUseCase,
        jobs: JobStateRepositoryPort,
        coordinators: LiveCoordinatorsPort,
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) => {
        const queue = new SqsQueue(sqs, configuration.queues.jobsUrl, clock);
        const handOn = new JobHandOn(queue, coordinators, logger);
        return new ExportJobConsumer(
          {
            defaults: {
              bucket: configuration.exports.bucket,
              destinationBuckets: configuration.access.destinationBuckets,
              ...(configuration.exports.manifestUriTemplate === undefined
                ? {}
                : { manifestUriTemplate: configuration.exports.manifestUriTemplate }),
            },
            visibility: configuration.visibility,
          },
          queue,
          new SqsVisibilityAdapter(sqs),
          { acceptJob, expandJob, rejectMessage, completeJob, jobs, handOn },
          { clock, logger, metrics },
        );
      },
    },
  ],
  exports: [ExportJobConsumer],
})
export class IntakeModule {}
