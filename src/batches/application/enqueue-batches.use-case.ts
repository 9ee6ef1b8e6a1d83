import { Injectable } from '@nestjs/common';
import {
  decideFirstSend,
  JobBatchesPort,
  JobCounterService,
  JobWindowService,
  segmentKey,
  type ExpansionPlan,
  type ExportJobEntity,
} from '../../export-jobs/index.js';
import { AppError, chunksOf } from '../../shared/index.js';
import type { BatchSummary } from '../domain/batch.entity.js';
import { BatchRepositoryPort, type NewBatch } from './batch-repository.port.js';

/** Rows written at the same time. */
const CONCURRENCY = 16;
/** A row moves between look and move when its former holder wakes up, a canceller or another expander comes by: not so often. */
const MOVE_ATTEMPTS = 8;

/**
 * Gives every batch of a job a row of the job's run: absent rows are created, rows of a former run are moved, wholly done ones too, or
 * no finisher would find all rows of its run. The batches of the job's window get their message as soon as their rows are there, so that
 * the first file of a job does not wait for a thousand rows. Every step can be repeated, by two expanders at once as well: a row that is
 * in the run already is left alone.
 */
@Injectable()
export class EnqueueBatchesUseCase {
  constructor(
    private readonly batches: BatchRepositoryPort,
    private readonly jobBatches: JobBatchesPort,
    private readonly counter: JobCounterService,
    private readonly window: JobWindowService,
  ) {}

  /** The job ended while its rows were written: those written after its cancel are cancelled too. */
  withdraw(job: ExportJobEntity): Promise<void> {
    return this.jobBatches.cancel(job.jobId, job.run);
  }

  /** @returns batches with a lower number are due once the job is DOWNLOADING */
  async enqueue(job: ExportJobEntity): Promise<number> {
    const { jobId, plan } = job;
    if (plan === undefined) throw new Error(`Job ${jobId} has no expansion plan`);
    const existing = new Map((await this.batches.list(jobId)).map((batch) => [batch.batchNo, batch]));
    const first = decideFirstSend(job, this.window.size);
    const toSend = new Set(first.batchNos);
    const numbers = Array.from({ length: plan.batchCount }, (_, batchNo) => batchNo);
    for (const chunk of chunksOf(numbers, CONCURRENCY)) {
      const owed = await Promise.all(chunk.map((batchNo) => this.bringIntoRun(job, plan, batchNo, existing.get(batchNo))));
      const batchNos = chunk.filter((batchNo, index) => owed[index] === true && toSend.has(batchNo));
      if (batchNos.length > 0) await this.jobBatches.send(job, batchNos);
    }
    return first.sentBatches;
  }

  /** @returns whether the batch waits for a message: it is new, or queued in this run */
  private async bringIntoRun(job: ExportJobEntity, plan: ExpansionPlan, batchNo: number, seen: BatchSummary | undefined): Promise<boolean> {
    const { jobId, run } = job;
    if (seen === undefined && (await this.batches.createIfAbsent(newBatch(job, plan, batchNo))) === 'created') return true;
    // Not seen and yet there: another expander, perhaps of a former run, has written it since the look.
    let row = seen ?? (await this.read(jobId, batchNo));
    for (let attempt = 1; row !== undefined && row.run < run; attempt++) {
      if (attempt > MOVE_ATTEMPTS)
        throw new AppError('BATCH_NOT_MOVED', `Batch ${batchNo} changes faster than it can be moved`, { disposition: 'retry' });
      const moved = await this.batches.move({ jobId, ...row }, run);
      row = moved.kind === 'written' ? moved.batch : await this.read(jobId, batchNo);
    }
    // Moved on by a newer run, or of a version that this process does not know: neither is ours.
    if (row?.run !== run) return false;
    await this.countIfEnded(job, row);
    return row.status === 'queued';
  }

  private async read(jobId: string, batchNo: number): Promise<BatchSummary | undefined> {
    const [row] = await this.batches.findMany([{ jobId, batchNo }]);
    return row;
  }

  /** The last task of a former holder came between the reopening, which did not know of it, and the move: nobody else counts it. */
  private async countIfEnded(job: ExportJobEntity, row: BatchSummary): Promise<void> {
    const hasEnded = row.status === 'succeeded' || row.status === 'dead';
    if (hasEnded && !job.endedBatches.has(row.batchNo))
      await this.counter.countUp(job.jobId, { batchNo: row.batchNo, run: job.run }, row, true);
  }
}

function newBatch({ jobId, run }: ExportJobEntity, plan: ExpansionPlan, batchNo: number): NewBatch {
  return {
    jobId,
    batchNo,
    run,
    type: 'download',
    totalTasks: Math.min(plan.batchSize, plan.totalTasks - batchNo * plan.batchSize),
    segmentKey: segmentKey(plan.segmentPrefix, batchNo),
  };
}
