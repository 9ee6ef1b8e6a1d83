import { isCounting, type ExportJobEntity } from './export-job.entity.js';

/** A host that asked for patience, and the ISO-8601 instant until which files of the job wait for it. */
interface HostWait {
  readonly host: string;
  readonly until: string;
}

/** What is in hand of a job, beyond what it has counted. */
export interface JobInHand {
  /** Bytes that have arrived and are not in `bytesProcessed`. */
  readonly bytesInHand: number;
  /** The longest wait first. */
  readonly waits: readonly HostWait[];
}

/** What the row of a batch tells of its work; `heartbeatAt` is when. */
interface ToldByBatch {
  readonly batchNo: number;
  readonly run: number;
  readonly status: string;
  readonly bytes: number;
  readonly bytesInHand?: number;
  readonly pausedMs?: number;
  readonly pausedHost?: string;
  readonly heartbeatAt?: string;
}

const NOTHING_IN_HAND: JobInHand = { bytesInHand: 0, waits: [] };

/**
 * By the rows of the job and of its batches, whichever was read first: what a batch has is compared with what the job records of it, so no
 * byte shows twice. Only a batch that runs has anything in hand: what a lost holder had brought is gone when its batch is taken over.
 */
export function jobInHand(job: ExportJobEntity, batches: readonly ToldByBatch[], nowMs: number): JobInHand {
  if (!isCounting(job.status)) return NOTHING_IN_HAND;
  const ends = new Map<string, number>();
  let bytesInHand = 0;
  for (const batch of batches) {
    if (batch.run !== job.run || job.endedBatches.has(batch.batchNo)) continue;
    const isRunning = batch.status === 'running';
    const arrived = batch.bytes + (isRunning ? (batch.bytesInHand ?? 0) : 0);
    bytesInHand += Math.max(0, arrived - (job.batchProgress.get(batch.batchNo)?.bytes ?? 0));
    const { pausedHost: host, pausedMs = 0, heartbeatAt } = batch;
    if (!isRunning || host === undefined || heartbeatAt === undefined) continue;
    const endsMs = Date.parse(heartbeatAt) + pausedMs;
    if (endsMs > nowMs) ends.set(host, Math.max(endsMs, ends.get(host) ?? 0));
  }
  const longestFirst = [...ends].toSorted(([, a], [, b]) => b - a);
  return { bytesInHand, waits: longestFirst.map(([host, endsMs]) => ({ host, until: new Date(endsMs).toISOString() })) };
}
