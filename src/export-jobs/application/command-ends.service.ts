import { Injectable } from '@nestjs/common';
import { AppLogger, Metrics } from '../../shared/index.js';
import { isTerminal, type ExportJobEntity } from '../domain/export-job.entity.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';
import { reportEnd } from './report-end.js';

/**
 * Counts and logs the jobs that a command has ended: nobody collects a command's metrics, or keeps what it logs.
 *
 * Each coordinator remembers which jobs were active at its last look, anyone's. One that has left the index and is its own to beat is
 * read; if its row says that it is not counted, one conditional write decides who counts it, so that it is counted once at most.
 * Not guaranteed: that the end of a job is counted which no coordinator has seen active, because none lived.
 */
@Injectable()
export class CommandEndsService {
  private active = new Set<string>();
  private reading: Promise<void> = Promise.resolve();

  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {}

  /** @param active ids that a look found, or that were accepted since; does not wait for what follows from it */
  noteLook(active: ReadonlySet<string>, isMine: (jobId: string) => boolean): void {
    const gone = [...this.active].filter((jobId) => !active.has(jobId));
    this.active = new Set(active);
    const mine = gone.filter(isMine);
    if (mine.length > 0) this.reading = this.reading.then(() => this.readSafely(mine));
  }

  async idle(): Promise<void> {
    await this.reading;
  }

  private async readSafely(jobIds: readonly string[]): Promise<void> {
    try {
      for (const job of await this.jobs.findMany(jobIds)) await this.count(job);
    } catch (error) {
      this.again(jobIds);
      this.logger.retrying('the ends that commands wrote', error, { jobs: jobIds.length, next: 'the next look tries again' });
    }
  }

  private async count(job: ExportJobEntity): Promise<void> {
    // The index lags: between two statuses a job may be missing from it.
    if (!isTerminal(job.status)) return this.again([job.jobId]);
    if (job.uncounted !== true) return;
    const claimed = await this.jobs.claimUncounted(job.jobId, job.run);
    if (claimed.kind === 'written') reportEnd({ logger: this.logger, metrics: this.metrics }, claimed.job, { by: 'command' });
  }

  private again(jobIds: readonly string[]): void {
    for (const jobId of jobIds) this.active.add(jobId);
  }
}
