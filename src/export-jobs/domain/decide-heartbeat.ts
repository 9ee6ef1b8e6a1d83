import type { MonotonicMs } from '../../shared/index.js';
import { isCounting, isTerminal, type ExportJobEntity } from './export-job.entity.js';
import { JobStateVO } from './job-state.vo.js';

/** The lease of its finisher unchanged for longer than this: it has probably died, and begins no call with the token any more (FinishLease). */
export const FINALIZING_STUCK_MS = 60_000;

/**
 * Since when this process has seen a job unchanged, on its own monotonic clock; a job new to it counts as changed just now.
 * A difference of stored instants would judge by other hosts' clocks.
 */
export interface JobSeen {
  statusSince: MonotonicMs;
  /** Who finishes it, and that finisher's last renewal. */
  leaseSince: MonotonicMs;
  progressSince: MonotonicMs;
  /** The last sign of life of any kind: progress of the job, or what a repair found in its batches. */
  aliveSince: MonotonicMs;
  /** Its finisher, which decided on its counts, does not find all batches final: nothing will end it by itself. */
  cannotFinish: boolean;
}

export interface RepairLimits {
  /** Without progress for so long: look into it. */
  repairAfterMs: number;
  /** Without any sign of life for so long: stalled. */
  stallTimeoutMs: number;
}

/** What a job needs of this turn. Care runs beside the beat, never in front of it. */
export interface HeartbeatDecision {
  beat: boolean;
  care: 'none' | 'finish' | 'repair';
}

/** A job under care is beaten until it is stalled: what cares for it may take longer than the token lives without a beat. */
export function decideHeartbeat(job: ExportJobEntity, seen: JobSeen, now: MonotonicMs, limits: RepairLimits): HeartbeatDecision {
  if (isTerminal(job.status)) return { beat: false, care: 'none' };
  const hasToken = job.taskToken !== undefined;
  if (!isCounting(job.status)) {
    const inStatusMs = now - seen.statusSince;
    const isStuck = seen.cannotFinish && inStatusMs >= limits.stallTimeoutMs;
    return { beat: hasToken && !isStuck, care: now - seen.leaseSince > FINALIZING_STUCK_MS ? 'finish' : 'none' };
  }
  const state = JobStateVO.of(job);
  if (state.failsEarly || (job.status === 'DOWNLOADING' && state.addsUp)) return { beat: hasToken, care: 'finish' };
  const isQuiet = now - seen.progressSince >= limits.repairAfterMs;
  return { beat: hasToken && now - seen.aliveSince < limits.stallTimeoutMs, care: isQuiet ? 'repair' : 'none' };
}
