import { Injectable } from '@nestjs/common';
import { CountBatchEndUseCase, isCounting, JobStateRepositoryPort, type ExportJobEntity } from '../../export-jobs/index.js';
import { newId } from '../../shared/index.js';
import { isFinal, type BatchEntity } from '../domain/batch.entity.js';
import type { BatchMessage } from './batch-queue.port.js';
import { BatchRepositoryPort } from './batch-repository.port.js';

export type ClaimOutcome =
  | { kind: 'claimed'; batch: BatchEntity; job: ExportJobEntity }
  /** Nothing to do for this message: delete it. */
  | { kind: 'drop'; reason: 'job-over' | 'other-run' | 'held' | 'final' | 'missing' };

/**
 * Turns a message into a lease, or finds that nothing is owed to it. The claim carries a random claimId, so that a claim
 * whose reply was lost recognises itself, and two consumers of one process never both think they hold the batch.
 */
@Injectable()
export class ClaimBatchUseCase {
  constructor(
    private readonly jobs: JobStateRepositoryPort,
    private readonly batches: BatchRepositoryPort,
    private readonly countBatchEnd: CountBatchEndUseCase,
  ) {}

  /** @throws when the tables cannot be asked: the message is left, and comes again. */
  async claim(message: BatchMessage, coordinatorId: string): Promise<ClaimOutcome> {
    const job = await this.jobs.find(message.jobId);
    if (job === undefined || !isCounting(job.status)) {
      if (job?.status === 'CANCELLED' || job?.status === 'FAILED') await this.cancelLeftBehind(message);
      return { kind: 'drop', reason: 'job-over' };
    }
    if (job.run !== message.run) return { kind: 'drop', reason: 'other-run' };
    const claimId = newId();
    for (;;) {
      const batch = await this.tryClaim(message, claimId, coordinatorId);
      if (batch === undefined) return { kind: 'drop', reason: 'missing' };
      if (batch.status === 'running' && batch.claimId === claimId) return { kind: 'claimed', batch, job };
      if (batch.run !== message.run) return { kind: 'drop', reason: 'other-run' };
      if (batch.status === 'running') return { kind: 'drop', reason: 'held' };
      if (isFinal(batch.status)) {
        // Its holder may have died between the batch's end and its last count.
        if (batch.status !== 'cancelled') await this.countBatchEnd.count(message.jobId, message, batch);
        return { kind: 'drop', reason: 'final' };
      }
    }
  }

  /**
   * Whoever ended the job may have died before he cancelled its batches; this message is the last that points to the row. A job that
   * was reopened since has moved it to a newer run, or moves it now: the cancel is refused there, or undone by the move.
   */
  private async cancelLeftBehind(message: BatchMessage): Promise<void> {
    await this.batches.cancel(message, message.run);
  }

  /** The row after the attempt, whether the claim was ours, someone else's, or its reply was lost. */
  private async tryClaim(message: BatchMessage, claimId: string, lockedBy: string): Promise<BatchEntity | undefined> {
    try {
      const written = await this.batches.claim(message, { claimId, lockedBy });
      if (written.kind === 'written') return written.batch;
    } catch (error) {
      const row = await this.batches.find(message.jobId, message.batchNo);
      if (row?.claimId === claimId) return row;
      throw error;
    }
    return this.batches.find(message.jobId, message.batchNo);
  }
}
