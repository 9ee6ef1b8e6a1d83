import { decideCount } from './counting.js';
import { isDue } from './decide-send.js';
import type { BatchCount, ExportJobEntity } from './export-job.entity.js';

/** A batch of the job's own run, as it looks and as it has changed since the former look. */
export interface BatchSign extends BatchCount {
  batchNo: number;
  status: 'queued' | 'running' | 'succeeded' | 'dead' | 'cancelled';
  /** Running: claimed, or its bytes or results moved. */
  moved: boolean;
  /** Running: its holder beats, and waits out a host's Retry-After. */
  waitsForHost: boolean;
  /** Queued: its message has been due for so long, as far as this process has seen. */
  queuedMs: number;
  /** Queued: it has waited for so long in all, through every message that was sent again meanwhile. */
  waitedMs: number;
}

export interface RepairSurroundings {
  /** Someone's loops run batches: what is queued waits for capacity that exists. */
  someoneWorks: boolean;
  queueIsEmpty: boolean;
  /** Since the last messages of this job were sent again by this process; Infinity: never. */
  sinceSentMs: number;
}

export interface RepairDecision {
  /** The job has a sign of life of its own. */
  alive: boolean;
  /** Queued batches whose message is lost. */
  sendAgain: number[];
  /** Batches whose checkpoint the counters lag behind; `ended`: with their last count. */
  countUp: { batchNo: number; ended: boolean }[];
}

/**
 * What a job without progress needs. Running work that moves, or waits because its host asked for it, is alive; so is queued work that
 * is due while someone takes batches in. Batches that are not due wait for one that is, and say nothing by themselves: a job of which
 * nothing that is out moves is hung, however much of it is left. A message counts as lost when the queue is empty, or when it has been due for a whole stall
 * timeout: the messages of other jobs may keep the queue full for ever. In such a queue it is most likely not lost at all, and a backlog
 * of hours must not grow by every batch every ten minutes: each further one is due for as long as the batch had waited before it. So the
 * distance doubles, a day's wait costs a batch eight messages, and one that is lost all the same makes a wait twice as long.
 */
export function decideRepair(
  job: ExportJobEntity,
  batches: readonly BatchSign[],
  around: RepairSurroundings,
  limits: { repairAfterMs: number; stallTimeoutMs: number },
): RepairDecision {
  const queued = batches.filter(({ batchNo, status }) => status === 'queued' && isDue(job, batchNo));
  const countUp = batches
    .map((batch) => ({ batch, ended: batch.status === 'succeeded' || batch.status === 'dead' }))
    .filter(({ batch, ended }) => decideCount(job, { ...batch, run: job.run }, batch, ended).kind === 'count')
    .map(({ batch: { batchNo }, ended }) => ({ batchNo, ended }));
  const lost = around.sinceSentMs < limits.repairAfterMs ? [] : queued.filter((batch) => isLost(batch, around, limits));
  return {
    alive: countUp.length > 0 || batches.some((batch) => batch.moved || batch.waitsForHost) || (queued.length > 0 && around.someoneWorks),
    sendAgain: lost.map(({ batchNo }) => batchNo),
    countUp,
  };
}

function isLost(batch: BatchSign, around: RepairSurroundings, limits: { stallTimeoutMs: number }): boolean {
  return around.queueIsEmpty || batch.queuedMs >= Math.max(limits.stallTimeoutMs, batch.waitedMs - batch.queuedMs);
}
