import { Injectable } from '@nestjs/common';
import { AppLogger, Metrics } from '../../shared/index.js';
import { CompleteJobUseCase } from './complete-job.use-case.js';
import type { CompleteOutcome } from './finish-job.js';
import { JobBatchesPort } from './job-batches.port.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';

@Injectable()
export class CancelJobUseCase {
  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly batches: JobBatchesPort,
    private readonly completeJob: CompleteJobUseCase,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {}

  /**
   * An operator's cancel goes through FINALIZING, so that a crash cannot lose the token's answer. A job that is being answered already is
   * watched to its end, and taken over when its finisher is silent.
   * @param onWait called at each look at such a job
   */
  async cancel(jobId: string, reason: string, onWait: () => void = () => undefined): Promise<CompleteOutcome> {
    const outcome = await this.completeJob.fail(jobId, { code: 'ExportCancelled', message: reason });
    return outcome === 'held' ? this.completeJob.awaitOther(jobId, onWait) : outcome;
  }

  /**
   * The token is dead: nobody to answer, so the job is ended at once, if it still carries that token.
   * @returns whether this call ended it
   */
  async cancelDead(jobId: string, run: number, taskToken: string): Promise<boolean> {
    const written = await this.jobs.cancelDead(jobId, run, taskToken);
    const job = written.kind === 'written' ? written.job : await this.jobs.find(jobId);
    // Refused by our own write that a retry met, or by another coordinator's: its batches may still need cancelling.
    if (job?.status !== 'CANCELLED' || job.run !== run) return false;
    if (written.kind === 'written') {
      this.metrics.increment('jobs_total', { status: 'CANCELLED' });
      this.logger.warn('Job cancelled: its execution is gone', { jobId, run });
    }
    await this.batches.cancel(jobId, run);
    return written.kind === 'written';
  }
}
