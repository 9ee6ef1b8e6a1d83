import { Injectable } from '@nestjs/common';
import type { LifecyclePart } from '../../platform/index.js';
import { CompleteJobUseCase } from '../application/complete-job.use-case.js';
import { HeartbeatOrchestratorService } from '../application/heartbeat-orchestrator.service.js';

/** While the rest drains the beats go on; then the finishers are interrupted and the loop stops. */
@Injectable()
export class HeartbeatOrchestratorLifecycle implements LifecyclePart {
  constructor(
    private readonly orchestrator: HeartbeatOrchestratorService,
    private readonly completeJob: CompleteJobUseCase,
  ) {}

  start(): void {
    this.orchestrator.start();
  }

  async stop(): Promise<void> {
    await this.completeJob.stop();
    await this.orchestrator.stop();
  }
}
