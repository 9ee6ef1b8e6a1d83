import { Injectable } from '@nestjs/common';
import { AppLogger } from '../../shared/index.js';
import { decideSend, hasWaitingBatches, together } from '../domain/decide-send.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';
import { JobBatchesPort } from './job-batches.port.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';
import { JobWindowService } from './job-window.service.js';

/** Others top the same job up at the same time; whoever loses so often leaves it to them. */
const MAX_TRIES = 4;

/**
 * Sends the messages that a job's window has room for, then records that they are due. Whoever brings in a batch's last count calls this,
 * and the orchestrator once a turn: it makes up for calls that failed or were cut short by a crash, and for a fleet that has grown.
 */
@Injectable()
export class TopUpJobUseCase {
  /** One a job: of ends that come together, all after the first are made up for at once. */
  private readonly underWay = new Map<string, Promise<void>>();
  private readonly waiting = new Map<string, ExportJobEntity>();

  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly batches: JobBatchesPort,
    private readonly window: JobWindowService,
    private readonly logger: AppLogger,
  ) {}

  /** Costs nothing while no batch waits for its message. Never rejects: what could not be sent, the next call sends. */
  topUp(job: ExportJobEntity): Promise<void> {
    const { jobId } = job;
    if (!hasWaitingBatches(job)) return Promise.resolve();
    this.waiting.set(jobId, together(job, this.waiting.get(jobId)));
    const promise = this.underWay.get(jobId) ?? this.topUpWhileAsked(jobId);
    this.underWay.set(jobId, promise);
    return promise;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await Promise.all(this.underWay.values());
  }

  private async topUpWhileAsked(jobId: string): Promise<void> {
    let known: ExportJobEntity | undefined;
    for (let job = this.waiting.get(jobId); job !== undefined; job = this.waiting.get(jobId)) {
      this.waiting.delete(jobId);
      try {
        known = await this.fill(together(job, known));
      } catch (error) {
        this.logger.retrying('the messages of waiting batches', error, {
          jobId,
          next: 'the next end of a batch, or the repair, sends them',
        });
      }
    }
    // In the same breath as the look that found nobody waiting: who asks from now on begins anew.
    this.underWay.delete(jobId);
  }

  /** The row as far as it is known then. */
  private async fill(job: ExportJobEntity): Promise<ExportJobEntity> {
    let known = job;
    for (let tried = 0; tried < MAX_TRIES; tried++) {
      const { batchNos, sentBatches } = decideSend(known, this.window.size);
      if (batchNos.length === 0) break;
      await this.batches.send(known, batchNos);
      known = await this.recordSent(known, sentBatches);
    }
    return known;
  }

  /** The row after the attempt, whether the write was ours, someone else's, or its reply was lost. */
  private async recordSent(observed: ExportJobEntity, sentBatches: number): Promise<ExportJobEntity> {
    const written = await this.jobs.recordSent(observed, sentBatches).catch((cause: unknown) => ({ kind: 'unknown' as const, cause }));
    if (written.kind === 'written') return written.job;
    const row = await this.jobs.find(observed.jobId);
    if (written.kind === 'unknown' && row?.sentBatches === observed.sentBatches) throw written.cause;
    return row ?? { ...observed, sentBatches };
  }
}
