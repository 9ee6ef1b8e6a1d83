import { Module } from '@nestjs/common';
import { BatchesModule } from '../batches/batches.module.js';
import { EnqueueBatchesUseCase } from '../batches/index.js';
import { CONFIGURATION, type Configuration } from '../config/index.js';
import { ExportJobsModule } from '../export-jobs/export-jobs.module.js';
import {
  CompleteJobUseCase,
  JobResultsPort,
  JobStateRepositoryPort,
  ReopenJobUseCase,
  SettleTokenService,
  TaskHeartbeatService,
  TopUpJobUseCase,
} from '../export-jobs/index.js';
import { AwsClients } from '../platform/index.js';
import { SqsQueue, SqsVisibilityAdapter } from '../platform/sqs/index.js';
import { AppLogger, Clock, Metrics } from '../shared/index.js';
import { SourceReader } from '../worker-pool/index.js';
import { WorkerPoolModule } from '../worker-pool/worker-pool.module.js';
import { ExportJobConsumer } from './adapters/export-job.consumer.js';
import { S3SegmentWriterAdapter } from './adapters/s3-segment-writer.adapter.js';
import { SpoolingManifestAdapter } from './adapters/spooling-manifest.adapter.js';
import { SqsDeadLetterAdapter } from './adapters/sqs-dead-letter.adapter.js';
import { AcceptJobUseCase } from './application/accept-job.use-case.js';
import { DeadLetterPort } from './application/dead-letter.port.js';
import { ExpandJobUseCase } from './application/expand-job.use-case.js';
import { ManifestPort } from './application/manifest.port.js';
import { RejectMessageUseCase } from './application/reject-message.use-case.js';
import { SegmentWriterPort } from './application/segment-writer.port.js';

@Module({
  imports: [ExportJobsModule, BatchesModule, WorkerPoolModule],
  providers: [
    {
      provide: ManifestPort,
      inject: [SourceReader, AwsClients, CONFIGURATION],
      useFactory: (sources: SourceReader, { s3 }: AwsClients, { exports, pool }: Configuration) =>
        new SpoolingManifestAdapter(sources, s3, { exportBucket: exports.bucket, timeoutMs: pool.taskTimeoutMs }),
    },
    { provide: SegmentWriterPort, inject: [AwsClients], useFactory: ({ s3 }: AwsClients) => new S3SegmentWriterAdapter(s3) },
    {
      provide: DeadLetterPort,
      inject: [AwsClients, CONFIGURATION, Clock],
      useFactory: ({ sqs }: AwsClients, { queues }: Configuration, clock: Clock) =>
        new SqsDeadLetterAdapter(new SqsQueue(sqs, queues.deadLetterUrl, clock)),
    },
    RejectMessageUseCase,
    {
      provide: AcceptJobUseCase,
      inject: [
        JobStateRepositoryPort,
        JobResultsPort,
        TaskHeartbeatService,
        SettleTokenService,
        CompleteJobUseCase,
        ReopenJobUseCase,
        CONFIGURATION,
        Clock,
        AppLogger,
      ],
      useFactory: (
        jobs: JobStateRepositoryPort,
        results: JobResultsPort,
        heartbeats: TaskHeartbeatService,
        settler: SettleTokenService,
        completeJob: CompleteJobUseCase,
        reopenJob: ReopenJobUseCase,
        { stepFunctions }: Configuration,
        clock: Clock,
        logger: AppLogger,
      ) => new AcceptJobUseCase(jobs, results, heartbeats, settler, completeJob, reopenJob, stepFunctions, clock, logger),
    },
    {
      provide: ExpandJobUseCase,
      inject: [
        JobStateRepositoryPort,
        ManifestPort,
        SegmentWriterPort,
        EnqueueBatchesUseCase,
        CompleteJobUseCase,
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
        topUpJob: TopUpJobUseCase,
        { exports }: Configuration,
        clock: Clock,
        logger: AppLogger,
      ) => new ExpandJobUseCase(jobs, manifests, segments, batches, completeJob, topUpJob, exports, clock, logger),
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
        clock: Clock,
        logger: AppLogger,
        metrics: Metrics,
      ) =>
        new ExportJobConsumer(
          {
            defaults: {
              bucket: configuration.exports.bucket,
              destinationBuckets: configuration.access.destinationBuckets,
              ...(configuration.exports.manifestUriTemplate === undefined
                ? {}
                : { manifestUriTemplate: configuration.exports.manifestUriTemplate }),
            },
            intakeConcurrency: configuration.exports.intakeConcurrency,
            visibility: configuration.visibility,
          },
          new SqsQueue(sqs, configuration.queues.jobsUrl, clock),
          new SqsVisibilityAdapter(sqs),
          { acceptJob, expandJob, rejectMessage, completeJob, jobs },
          { clock, logger, metrics },
        ),
    },
  ],
  exports: [ExportJobConsumer],
})
export class IntakeModule {}
