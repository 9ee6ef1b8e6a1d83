import { Injectable } from '@nestjs/common';
import {
  CompleteJobUseCase,
  CountBatchEndUseCase,
  isCounting,
  JobStateRepositoryPort,
  type ExportJobEntity,
} from '../../export-jobs/index.js';
import { AppError, AppLogger, isRejected } from '../../shared/index.js';
import type { BatchEntity } from '../domain/batch.entity.js';
import { Checkpoint } from '../domain/checkpoint.js';
import { RECLAIMED_TTL } from '../domain/decide-reclaim.js';
import { BatchFilesPort, resultsInOrder, type Segment } from './batch-files.port.js';
import { BatchRepositoryPort } from './batch-repository.port.js';
import { writeOwnReclaim } from './own-reclaim.js';
import { endJobOfBatch } from './end-job-of-batch.js';

const SEGMENT_TIMEOUT_MS = 60_000;

/**
 * Ends a batch that takes its holders down: results first, then the row, then the counters, so that its job still ends and
 * its manifest has a line for every task. The result keys carry the reclaimId: no holder's files are overwritten.
 */
@Injectable()
export class GiveUpBatchUseCase {
  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly batches: BatchRepositoryPort,
    private readonly files: BatchFilesPort,
    private readonly countBatchEnd: CountBatchEndUseCase,
    private readonly completeJob: CompleteJobUseCase,
    private readonly logger: AppLogger,
  ) {}

  /** @returns the dead row, whose counts are still to be brought up; `undefined`: the batch moved since it was observed, or its job ends without it */
  async giveUp(observed: BatchEntity, reclaimId: string, lastError: string): Promise<BatchEntity | undefined> {
    const { jobId, batchNo } = observed;
    const job = await this.jobs.find(jobId);
    if (job === undefined) throw new AppError('JOB_ROW_MISSING', `Batch ${batchNo} has no job`, { disposition: 'yield' });
    const segment = await this.segmentOrStall(observed, job);
    if (segment === undefined) return undefined;
    const checkpoint = new Checkpoint(observed.totalTasks, observed);
    for (const position of checkpoint.pending()) checkpoint.fail(position, RECLAIMED_TTL);
    const state = checkpoint.whole();
    const results = await resultsInOrder(observed.totalTasks, state.failures, undefined, (position) =>
      this.files.describeDone(segment, position),
    );
    const resultKeys = await this.files.writeResults({ ...segment, jobId, batchNo, fence: reclaimId }, segment, results);
    return writeOwnReclaim(this.batches, observed, { status: 'dead', reclaimId }, () =>
      this.batches.giveUp(observed, { reclaimId, state, resultKeys, lastError }),
    );
  }

  /** `undefined`: it is broken for good, so there will be no results. The job ends by it, which cancels the batch; one that is over does not. */
  private async segmentOrStall(observed: BatchEntity, job: ExportJobEntity): Promise<Segment | undefined> {
    try {
      return await this.files.loadSegment(job.destination.bucket, observed.segmentKey, AbortSignal.timeout(SEGMENT_TIMEOUT_MS));
    } catch (error) {
      if (!isRejected(error)) throw error;
      const isWanted = isCounting(job.status) && job.run === observed.run;
      if (isWanted) endJobOfBatch({ completeJob: this.completeJob, logger: this.logger }, observed, error);
      else await this.batches.cancel(observed, observed.run);
      return undefined;
    }
  }

  /** Brings the job's counters up, and goes on with the job. */
  async count(dead: BatchEntity): Promise<void> {
    await this.countBatchEnd.count(dead.jobId, dead, dead);
  }
}
