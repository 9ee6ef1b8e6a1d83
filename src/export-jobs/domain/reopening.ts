import type { BatchCount } from './export-job.entity.js';

/** A batch as the former run left it, ended or not: what of it decides where the reopened job starts. */
export interface FormerBatch {
  batchNo: number;
  status: string;
  totalTasks: number;
  completed: number;
  failed: number;
  bytes: number;
}

/** The counters of a job that is reopened: what is done stays counted, nothing has failed yet. */
export interface ReopenedCounts {
  completed: number;
  bytes: number;
  endedBatches: ReadonlySet<number>;
  batchProgress: ReadonlyMap<number, BatchCount>;
}

/** Nothing of it runs again: it keeps its results, and the reopened job has it ended from the start. */
export function isWhollyDone(batch: Omit<FormerBatch, 'batchNo' | 'bytes'>): boolean {
  return batch.status === 'succeeded' && batch.failed === 0 && batch.completed === batch.totalTasks;
}

/**
 * The invariant of counting holds from the first instant: the counters are the sum of what is recorded. A batch that is partly done
 * stands in `batchProgress` with what the counters hold of it, or its first count would add that again; one that is wholly done is
 * ended, or it could never be counted. What a batch does between this look and its move, the next count brings in.
 */
export function countsOnReopening(batches: readonly FormerBatch[]): ReopenedCounts {
  const endedBatches = new Set<number>();
  const batchProgress = new Map<number, BatchCount>();
  let completed = 0;
  let bytes = 0;
  for (const batch of batches) {
    completed += batch.completed;
    bytes += batch.bytes;
    if (isWhollyDone(batch)) endedBatches.add(batch.batchNo);
    else if (batch.completed > 0) batchProgress.set(batch.batchNo, { completed: batch.completed, failed: 0, bytes: batch.bytes });
  }
  return { completed, bytes, endedBatches, batchProgress };
}
