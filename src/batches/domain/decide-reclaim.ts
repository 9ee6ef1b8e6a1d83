import type { BatchEntity } from './batch.entity.js';

export type ReclaimDecision =
  /** Back to the queue, with so many attempts in a row without progress. */
  | { kind: 'requeue'; attempts: number }
  /** It takes its holders down without getting any further: its remaining tasks fail. */
  | { kind: 'give-up' };

/**
 * A batch that made progress since it was last taken away is innocent of its holder's death, at the limit too. Progress is done or
 * failed tasks, whoever brought them; not bytes, not heartbeats, which a file that kills the process also has.
 */
export function decideReclaim(
  batch: Pick<BatchEntity, 'attempts' | 'completed' | 'failed' | 'reclaimMark'>,
  maxAttempts: number,
): ReclaimDecision {
  const hasGrown = batch.completed + batch.failed > (batch.reclaimMark ?? 0);
  if (hasGrown) return { kind: 'requeue', attempts: 1 };
  return batch.attempts < maxAttempts ? { kind: 'requeue', attempts: batch.attempts + 1 } : { kind: 'give-up' };
}
