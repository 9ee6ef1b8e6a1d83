import { Injectable } from '@nestjs/common';
import { CompleteJobUseCase, JobCounterService, JobStateRepositoryPort, JobStateVO } from '../../export-jobs/index.js';
import { AppError } from '../../shared/index.js';
import type { BatchEntity } from '../domain/batch.entity.js';
import { Checkpoint } from '../domain/checkpoint.js';
import { BatchFilesPort, resultsInOrder } from './batch-files.port.js';
import { BatchRepositoryPort } from './batch-repository.port.js';

/** Code of the tasks that were never brought to an end. */
const REMAINING = 'RECLAIMED_TTL';

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

  /** @returns false when the batch moved since it was observed: nothing was given up then */
  async giveUp(observed: BatchEntity, reclaimId: string, lastError: string): Promise<boolean> {
    const { jobId, batchNo } = observed;
    const job = await this.jobs.find(jobId);
    if (job === undefined) throw new AppError('JOB_ROW_MISSING', `Batch ${batchNo} has no job`, { disposition: 'yield' });
    const segment = await this.files.loadSegment(job.destination.bucket, observed.segmentKey, AbortSignal.timeout(60_000));
    const checkpoint = new Checkpoint(observed.totalTasks, observed);
    for (const position of checkpoint.pending()) checkpoint.fail(position, REMAINING);
    const state = checkpoint.whole();
    const results = await resultsInOrder(observed.totalTasks, state.failures, undefined, (position) =>
      this.files.describeDone(segment, position),
    );
    const resultKeys = await this.files.writeResults({ ...segment, jobId, batchNo, fence: reclaimId }, segment, results);
    const written = await this.batches
      .giveUp(observed, { reclaimId, state, resultKeys, lastError })
      .catch(() => ({ kind: 'refused' as const }));
    const row = written.kind === 'written' ? written.batch : await this.batches.find(jobId, batchNo);
    if (row?.status !== 'dead' || row.reclaimId !== reclaimId) return false;
    const counted = await this.counter.countUp(jobId, row, row, true);
    if (counted.kind === 'counted' && JobStateVO.of(counted.job).addsUp) await this.completeJob.complete(jobId);
    return true;
  }
}
