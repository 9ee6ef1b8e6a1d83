import type { BatchSummary, ExportJobEntity } from '../export-jobs/index.js';
import { durationMs } from './job-view.js';

export interface Rates {
  tasksPerSecond: number;
  bytesPerSecond: number;
}

/** Of the job's present run, from its beginning until now, or its end; undefined when a former version began the run and said nothing of it. */
export function averageRates(job: ExportJobEntity, bytesInHand: number, nowMs = Date.now()): Rates | undefined {
  const { run, reopened, completedTasks, failedTasks, bytesProcessed } = job;
  if (run > 1 && reopened === undefined) return undefined;
  const seconds = durationMs(job, nowMs) / 1_000;
  const done = completedTasks + failedTasks - (reopened?.completed ?? 0);
  return perSecond(done, bytesProcessed + bytesInHand - (reopened?.bytes ?? 0), seconds);
}

/**
 * What the batches in hand do together; undefined when there is none to tell from. A batch that was claimed twice does not count: what its
 * checkpoint holds was not all done by its present holder.
 */
export function currentRates(batches: readonly BatchSummary[], nowMs = Date.now()): Rates | undefined {
  const running = batches.filter(({ status, lockToken }) => status === 'running' && lockToken === 1);
  if (running.length === 0) return undefined;
  const rates = running.map(({ completed, failed, bytes, bytesInHand = 0, lockedAt }) =>
    perSecond(completed + failed, bytes + bytesInHand, (nowMs - Date.parse(lockedAt ?? '')) / 1_000),
  );
  const sum = (of: (rate: Rates) => number) => rates.reduce((total, rate) => total + of(rate), 0);
  return { tasksPerSecond: sum((rate) => rate.tasksPerSecond), bytesPerSecond: sum((rate) => rate.bytesPerSecond) };
}

function perSecond(tasks: number, bytes: number, seconds: number): Rates {
  return seconds > 0 ? { tasksPerSecond: tasks / seconds, bytesPerSecond: bytes / seconds } : { tasksPerSecond: 0, bytesPerSecond: 0 };
}
