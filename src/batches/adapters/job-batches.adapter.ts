import { JobBatchesPort, type BatchSummary } from '../../export-jobs/index.js';
import type { BatchRepositoryPort } from '../application/batch-repository.port.js';

/** Rows cancelled at the same time. */
const CONCURRENCY = 16;

/** What the export-jobs feature may know of the batches. */
export class JobBatchesAdapter extends JobBatchesPort {
  constructor(private readonly batches: BatchRepositoryPort) {
    super();
  }

  async list(jobId: string): Promise<BatchSummary[]> {
    return this.batches.list(jobId);
  }

  async cancel(jobId: string, run: number): Promise<void> {
    const rows = (await this.batches.list(jobId)).filter((row) => row.run <= run && (row.status === 'queued' || row.status === 'running'));
    // Refused: it ended, or lives another run; both are as good as cancelled here.
    for (let first = 0; first < rows.length; first += CONCURRENCY)
      await Promise.all(rows.slice(first, first + CONCURRENCY).map(({ batchNo }) => this.batches.cancel({ jobId, batchNo }, run)));
  }
}
