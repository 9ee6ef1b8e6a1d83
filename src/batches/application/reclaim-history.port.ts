import type { ReclaimRecord } from '../domain/reclaim-record.js';

/** What was reclaimed, for people: nothing is decided by it. */
export abstract class ReclaimHistoryPort {
  /** Written once: a repetition finds the first and leaves it. Rejects soon when the signal is aborted; whether it is written is then unknown. */
  abstract record(reclaim: ReclaimRecord, signal?: AbortSignal): Promise<void>;
  /** The newest of one job, newest first. */
  abstract ofJob(jobId: string, limit: number): Promise<ReclaimRecord[]>;
  /** The newest of all jobs, newest first; one that was written a moment ago may be missing. */
  abstract recent(limit: number): Promise<ReclaimRecord[]>;
}
