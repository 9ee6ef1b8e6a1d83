import { Injectable } from '@nestjs/common';
import { JobBatchesPort, segmentKey, type ExportJobEntity } from '../../export-jobs/index.js';
import { BatchQueuePort, type BatchMessage } from './batch-queue.port.js';
import { BatchRepositoryPort } from './batch-repository.port.js';

/** Rows written at the same time. */
const CONCURRENCY = 16;

/**
 * Creates a job's batch rows and sends their messages. Every step can be repeated: rows that exist are left alone, and only
 * batches that are still queued are sent again.
 */
@Injectable()
export class EnqueueBatchesUseCase {
  constructor(
    private readonly batches: BatchRepositoryPort,
    private readonly queue: BatchQueuePort,
    private readonly jobBatches: JobBatchesPort,
  ) {}

  /** The job ended while its rows were written: those written after its cancel are cancelled too. */
  withdraw(job: ExportJobEntity): Promise<void> {
    return this.jobBatches.cancel(job.jobId, job.run);
  }

  async enqueue(job: ExportJobEntity): Promise<void> {
    const { plan } = job;
    if (plan === undefined) throw new Error(`Job ${job.jobId} has no expansion plan`);
    const existing = new Map((await this.batches.list(job.jobId)).map((batch) => [batch.batchNo, batch]));
    for (let first = 0; first < plan.batchCount; first += CONCURRENCY) {
      const numbers = Array.from({ length: Math.min(CONCURRENCY, plan.batchCount - first) }, (_, offset) => first + offset);
      const absent = numbers.filter((batchNo) => !existing.has(batchNo));
      await Promise.all(
        absent.map((batchNo) =>
          this.batches.createIfAbsent({
            jobId: job.jobId,
            batchNo,
            run: job.run,
            type: 'download',
            totalTasks: Math.min(plan.batchSize, plan.totalTasks - batchNo * plan.batchSize),
            segmentKey: segmentKey(plan.segmentPrefix, batchNo),
          }),
        ),
      );
      await this.queue.send(numbers.filter((batchNo) => isOwed(existing.get(batchNo), job.run)).map((batchNo) => message(job, batchNo)));
    }
  }
}

/** New, or still queued in this run. */
function isOwed(existing: { status: string; run: number } | undefined, run: number): boolean {
  return existing === undefined || (existing.status === 'queued' && existing.run === run);
}

function message(job: ExportJobEntity, batchNo: number): BatchMessage {
  return { jobId: job.jobId, batchNo, run: job.run };
}
