import { isCounting, type BatchCount, type ExportJobEntity } from './export-job.entity.js';

/*
 * Counting, the heart of the service.
 *
 * Invariant: completedTasks, failedTasks and bytesProcessed equal the sum of what the row records for its batches
 * (batchProgress of the running ones, and what the ended ones last recorded).
 *
 * One conditional update adds a batch's progress and replaces the batch's recorded value. It tests that the recorded
 * value is still the one the difference was computed from, so the ADD in it happens at most once: a retry that meets its
 * own write fails the condition, reads again, finds its value recorded (or the batch ended) and has nothing left to add.
 * A plain ADD would count twice.
 *
 * A number never falls within a run, and only a batch of the job's own run is counted, only while the job is PROCESSING
 * or DOWNLOADING. The batch's checkpoint is always written first: counters may lag behind it, never run ahead of it.
 */

const NOTHING: BatchCount = { completed: 0, failed: 0, bytes: 0 };

export type CountDecision =
  /** Write `next` IF the recorded value is `old` (`undefined`: nothing recorded), adding `delta`. */
  | { kind: 'count'; old: BatchCount | undefined; delta: BatchCount }
  /** The row already says this, or more. */
  | { kind: 'already-counted' }
  /** The batch's work is worth nothing any more: the job is being answered, or lives another run. */
  | { kind: 'stop'; reason: 'job-not-counting' | 'other-run' };

export function decideCount(
  job: ExportJobEntity,
  batch: { batchNo: number; run: number },
  next: BatchCount,
  ended: boolean,
): CountDecision {
  if (job.run !== batch.run) return { kind: 'stop', reason: 'other-run' };
  if (!isCounting(job.status)) return { kind: 'stop', reason: 'job-not-counting' };
  if (job.endedBatches.has(batch.batchNo)) return { kind: 'already-counted' };
  const old = job.batchProgress.get(batch.batchNo);
  const recorded = old ?? NOTHING;
  const ahead = recorded.completed > next.completed || recorded.failed > next.failed;
  if (ahead) return { kind: 'already-counted' };
  const delta = {
    completed: next.completed - recorded.completed,
    failed: next.failed - recorded.failed,
    bytes: Math.max(0, next.bytes - recorded.bytes),
  };
  const same = delta.completed === 0 && delta.failed === 0 && delta.bytes === 0;
  return same && !ended ? { kind: 'already-counted' } : { kind: 'count', old, delta };
}

/** The value of a batch in `batchProgress`: `completed/failed/bytes`. */
export function encodeBatchCount(count: BatchCount): string {
  return `${count.completed}/${count.failed}/${count.bytes}`;
}

export function decodeBatchCount(text: string): BatchCount {
  const [completed = 0, failed = 0, bytes = 0] = text.split('/').map(Number);
  return { completed, failed, bytes };
}
