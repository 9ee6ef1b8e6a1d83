import { isCounting, jobInHand, type BatchSummary, type ExportJobEntity, type JobInHand } from '../export-jobs/index.js';
import type { Services } from './services.js';

/** Batches tell of their work every 10 s, and a job may have a thousand of them. */
const LOOK_EVERY = 5;

/** What is in hand of a job that is looked at once a second. */
export class FollowedWork {
  private rows: readonly BatchSummary[] = [];
  private looks = 0;

  constructor(private readonly batches: Services['batches']) {}

  async of(job: ExportJobEntity): Promise<JobInHand> {
    if (isCounting(job.status) && this.looks++ % LOOK_EVERY === 0) this.rows = await this.batches.list(job.jobId);
    return jobInHand(job, this.rows, Date.now());
  }
}
