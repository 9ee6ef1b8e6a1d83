import { Inject, Module } from '@nestjs/common';
import { BatchesModule } from './batches/batches.module.js';
import { BatchConsumer, ReclaimLoop } from './batches/index.js';
import { ExportJobsModule } from './export-jobs/export-jobs.module.js';
import { HeartbeatOrchestratorLifecycle, HeartbeatOrchestratorService } from './export-jobs/index.js';
import { FleetModule } from './fleet/fleet.module.js';
import { CoordinatorHeartbeatService } from './fleet/index.js';
import { ExportJobConsumer } from './intake/index.js';
import { IntakeModule } from './intake/intake.module.js';
import { HealthService, Lifecycle, PlatformModule, StartCheck } from './platform/index.js';
import { PoolManagerService, SourceReader, UploadRuleCheck } from './worker-pool/index.js';
import { WorkerPoolModule } from './worker-pool/worker-pool.module.js';

/** The whole service. Who starts when is Lifecycle's business. */
@Module({ imports: [PlatformModule, WorkerPoolModule, ExportJobsModule, BatchesModule, FleetModule, IntakeModule] })
export class AppModule {
  constructor(
    @Inject(Lifecycle) lifecycle: Lifecycle,
    @Inject(HealthService) health: HealthService,
    @Inject(StartCheck) startCheck: StartCheck,
    @Inject(CoordinatorHeartbeatService) coordinator: CoordinatorHeartbeatService,
    @Inject(PoolManagerService) pool: PoolManagerService,
    @Inject(SourceReader) sources: SourceReader,
    @Inject(UploadRuleCheck) uploadRules: UploadRuleCheck,
    @Inject(ReclaimLoop) reclaim: ReclaimLoop,
    @Inject(BatchConsumer) batchConsumer: BatchConsumer,
    @Inject(ExportJobConsumer) jobConsumer: ExportJobConsumer,
    @Inject(HeartbeatOrchestratorService) orchestrator: HeartbeatOrchestratorService,
    @Inject(HeartbeatOrchestratorLifecycle) heartbeats: HeartbeatOrchestratorLifecycle,
  ) {
    lifecycle.register('aws', startCheck);
    lifecycle.register('coordinator', coordinator);
    lifecycle.register('worker-pool', pool);
    lifecycle.register('upload-rules', uploadRules);
    lifecycle.register('reclaim', reclaim);
    lifecycle.register('batch-consumer', batchConsumer);
    lifecycle.register('job-consumer', jobConsumer);
    lifecycle.register('heartbeat-orchestrator', heartbeats);
    lifecycle.onClose(() => sources.close());
    health.watchLoop('coordinator', () => coordinator.problem);
    health.watchLoop('reclaim', () => reclaim.problem);
    health.watchLoop('jobs-queue', () => jobConsumer.problem);
    health.watchLoop('batches-queue', () => batchConsumer.problem);
    health.watchLoop('heartbeat-orchestrator', () => orchestrator.problem);
    health.watchLoop('worker-pool', () => (pool.capacity === 0 ? 'all threads are lost' : undefined));
  }
}
