import { Injectable } from '@nestjs/common';
import { AppLogger } from '../../shared/index.js';
import type { ExportJobEntity } from '../domain/export-job.entity.js';
import { countsOnReopening } from '../domain/reopening.js';
import { JobBatchesPort } from './job-batches.port.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';

/**
 * FAILED | CANCELLED | COMPLETED ─▶ PROCESSING of the next run: only what is not done runs again.
 *
 * One write, after which the former run can change nothing: its counts, its finisher and its canceller all test the run. The batch
 * rows follow when the job's message is expanded; a crash in between leaves them to the message's next delivery.
 */
@Injectable()
export class ReopenJobUseCase {
  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly batches: JobBatchesPort,
    private readonly logger: AppLogger,
  ) {}

  /**
   * @param observed an ended job
   * @param taskToken a live one; without it the job runs with no callbacks
   * @returns the reopened job; `undefined` when somebody was faster: read again
   */
  async reopen(observed: ExportJobEntity, taskToken?: string): Promise<ExportJobEntity | undefined> {
    const { jobId } = observed;
    const run = observed.run + 1;
    const job = await this.tryReopen(observed, taskToken);
    if (job?.status !== 'PROCESSING' || job.run !== run || job.taskToken !== taskToken) return undefined;
    this.logger.info('Job reopened', { jobId, run, attempt: job.attempt, completedTasks: job.completedTasks });
    return job;
  }

  /** The row after the attempt, whether it was ours, someone else's, or its reply was lost. */
  private async tryReopen(observed: ExportJobEntity, taskToken: string | undefined): Promise<ExportJobEntity | undefined> {
    const counts = countsOnReopening(await this.batches.list(observed.jobId));
    try {
      const written = await this.jobs.reopen(observed, { ...counts, ...(taskToken === undefined ? {} : { taskToken }) });
      if (written.kind === 'written') return written.job;
    } catch (error) {
      const row = await this.jobs.find(observed.jobId);
      if (row?.run === observed.run) throw error;
      return row;
    }
    return this.jobs.find(observed.jobId);
  }
}
