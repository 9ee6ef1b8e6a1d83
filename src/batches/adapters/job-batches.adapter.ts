import { JobBatchesPort, type BatchSummary } from '../../export-jobs/index.js';
import { chunksOf, type Clock } from '../../shared/index.js';
import type { BatchQueuePort } from '../application/batch-queue.port.js';
import type { BatchRepositoryPort } from '../application/batch-repository.port.js';

/** Rows written at the same time. */
const CONCURRENCY = 16;

/** What the export-jobs feature may know of the batches. */
export class JobBatchesAdapter extends JobBatchesPort {
  constructor(
    private readonly batches: BatchRepositoryPort,
    private readonly queue: BatchQueuePort,
    private readonly clock: Clock,
  ) {
    super();
  }

  async list(jobId: string): Promise<BatchSummary[]> {
    return this.batches.list(jobId);
  }

  async failuresOf(jobId: string, batchNo: number): Promise<ReadonlyMap<number, string>> {
    return (await this.batches.find(jobId, batchNo))?.failures ?? new Map();
  }

  async cancel(jobId: string, run: number): Promise<void> {
    const rows = (await this.batches.list(jobId)).filter((row) => row.run <= run && (row.status === 'queued' || row.status === 'running'));
    // Refused: it ended, or lives another run; both are as good as cancelled here.
    for (const chunk of chunksOf(rows, CONCURRENCY))
      await Promise.all(chunk.map(({ batchNo }) => this.batches.cancel({ jobId, batchNo }, run)));
  }

  isQueueEmpty(): Promise<boolean> {
    return this.queue.isEmpty();
  }

  async send({ jobId, run }: { jobId: string; run: number }, batchNos: readonly number[]): Promise<void> {
    await this.queue.send(batchNos.map((batchNo) => ({ jobId, batchNo, run })));
  }

  /** Row first: a message for a batch that someone claimed meanwhile would only be dropped, but each costs a receive. */
  async sendAgain(jobId: string, observed: readonly BatchSummary[]): Promise<void> {
    for (const chunk of chunksOf(observed, CONCURRENCY)) {
      const mine = await Promise.all(chunk.map((batch) => this.markSent(jobId, batch)));
      const messages = chunk.filter((_batch, index) => mine[index]).map(({ batchNo, run }) => ({ jobId, batchNo, run }));
      if (messages.length > 0) await this.queue.send(messages);
    }
  }

  /** Refused may be our own write that an SDK retry met. */
  private async markSent(jobId: string, { batchNo, run, enqueuedAt }: BatchSummary): Promise<boolean> {
    const now = this.clock.nowIso();
    const written = await this.batches.markSent({ jobId, batchNo, run, enqueuedAt }, now);
    if (written.kind === 'written') return true;
    const row = await this.batches.find(jobId, batchNo);
    return row?.status === 'queued' && row.run === run && row.enqueuedAt === now;
  }
}
