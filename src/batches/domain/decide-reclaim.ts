import type { BatchEntity } from './batch.entity.js';
import { Checkpoint } from './checkpoint.js';

/** Code of tasks that were never brought to an end, because their holders died. */
export const RECLAIMED_TTL = 'RECLAIMED_TTL';

export type ReclaimDecision =
  /**
   * Back to the queue, with so many attempts in a row without progress. `trialSize`: so many tasks are run first, alone; as before when it
   * is absent. `setApart`: the position of the task that fails, because it took its holders down while it ran alone.
   */
  | { kind: 'requeue'; attempts: number; trialSize?: number; setApart?: number }
  /** It takes its holders down without getting any further: its remaining tasks fail. */
  | { kind: 'give-up' };

/** Once is an accident; from the second death in a row on, one of the tasks may be the cause. */
const HALVED_FROM_ATTEMPTS = 2;
/** Each costs the life of a process: a batch with more such tasks is given up. */
const MAX_SET_APART = 3;

/**
 * A batch that made progress since it was last taken away is innocent of its holder's death, at the limit too. Progress is done or
 * failed tasks, whoever brought them; not bytes, not heartbeats, which a file that kills the process also has.
 *
 * One file that kills its process must not take the others of its batch along. After two deaths in a row half of the remaining tasks are
 * run first, after three a quarter, and so on; what survives is recorded before more is run. At the limit one task alone is to
 * blame; the next one begins anew, because a death may have another cause.
 */
export function decideReclaim(
  batch: Pick<
    BatchEntity,
    'attempts' | 'bytes' | 'completed' | 'done' | 'failed' | 'failures' | 'reclaimMark' | 'totalTasks' | 'trialSize'
  >,
  maxAttempts: number,
): ReclaimDecision {
  const hasGrown = batch.completed + batch.failed > (batch.reclaimMark ?? 0);
  if (hasGrown) return { kind: 'requeue', attempts: 1 };
  const pending = new Checkpoint(batch.totalTasks, batch).pending();
  const ranAtOnce = Math.min(pending.length, batch.trialSize ?? Infinity);
  const attempts = batch.attempts + 1;
  if (attempts < HALVED_FROM_ATTEMPTS) return { kind: 'requeue', attempts };
  if (ranAtOnce > 1) return { kind: 'requeue', attempts, trialSize: Math.ceil(ranAtOnce / 2) };
  if (batch.attempts < maxAttempts) return { kind: 'requeue', attempts };
  const setApart = [...batch.failures.values()].filter((code) => code === RECLAIMED_TTL).length;
  const [position] = pending;
  if (position === undefined || pending.length === 1 || setApart >= MAX_SET_APART) return { kind: 'give-up' };
  return { kind: 'requeue', attempts: 1, setApart: position };
}
