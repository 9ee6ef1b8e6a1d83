import type { ExportJobEntity } from './export-job.entity.js';
import { isTerminal } from './export-job.entity.js';
import { JobStateVO } from './job-state.vo.js';

/** FINALIZING for longer than this: its finisher has probably died. */
export const FINALIZING_STUCK_MS = 60_000;

/** What a job needs of this turn; `finish` runs beside the beat, never in front of it. */
export interface HeartbeatDecision {
  beat: boolean;
  finish: boolean;
}

/**
 * @param unchangedMs how long this process has seen the job in this status, on its own monotonic clock:
 *   a difference of stored instants would judge by other hosts' clocks
 */
export function decideHeartbeat(job: ExportJobEntity, unchangedMs: number): HeartbeatDecision {
  if (isTerminal(job.status)) return { beat: false, finish: false };
  const finish =
    job.status === 'FINALIZING' ? unchangedMs > FINALIZING_STUCK_MS : job.status === 'DOWNLOADING' && JobStateVO.of(job).addsUp;
  return { beat: job.taskToken !== undefined, finish };
}
