import { Injectable } from '@nestjs/common';
import { CompleteJobUseCase, JobCounterService, JobStateRepositoryPort } from '../../export-jobs/index.js';
import { AppError } from '../../shared/index.js';
import type { BatchEntity } from '../domain/batch.entity.js';
import { Checkpoint } from '../domain/checkpoint.js';
import { BatchFilesPort, resultsInOrder } from './batch-files.port.js';
import { BatchRepositoryPort } from './batch-repository.port.js';
import { writeOwnReclaim } from './own-reclaim.js';

/** Code of the tasks that were never brought to an end. */
const REMAINING = 'RECLAIMED_TTL';
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
    private readonly counter: JobCounterService,
    private readonly completeJob: CompleteJobUseCase,
  ) {}

  /** @returns the dead row, whose counts are still to be brought up; `undefined`: the batch moved since it was observed */
  async giveUp(observed: BatchEntity, reclaimId: string, lastError: string): Promise<BatchEntity | undefined> {
    const { jobId, batchNo } = observed;
    const job = await this.jobs.find(jobId);
    if (job === undefined) throw new AppError('JOB_ROW_MISSING', `Batch ${batchNo} has no job`, { disposition: 'yield' });
    const timeout = AbortSignal.timeout(SEGMENT_TIMEOUT_MS);
    const segment = await this.files.loadSegment(job.destination.bucket, observed.segmentKey, timeout);
    const checkpoint = new Checkpoint(observed.totalTasks, observed);
    for (const position of checkpoint.pending()) checkpoint.fail(position, REMAINING);
    const state = checkpoint.whole();
    const results = await resultsInOrder(observed.totalTasks, state.failures, undefined, (position) =>
      this.files.describeDone(segment, position),
    );
    const resultKeys = await this.files.writeResults({ ...segment, jobId, batchNo, fence: reclaimId }, segment, results);
    return writeOwnReclaim(this.batches, observed, { status: 'dead', reclaimId }, () =>
      this.batches.giveUp(observed, { reclaimId, state, resultKeys, lastError }),
    );
  }

  /** Brings the job's counters up, and ends the job when it was its last batch: that waits for Step Functions as long as it takes. */
  async count(dead: BatchEntity): Promise<void> {
    await this.completeJob.completeAfter(await this.counter.countUp(dead.jobId, dead, dead, true));
  }
}
