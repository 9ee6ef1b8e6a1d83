import { isWhollyDone } from '../../export-jobs/index.js';
import type { ConditionalUpdate } from '../../platform/dynamodb/index.js';
import type { MovableBatch } from '../application/batch-repository.port.js';

/**
 * A zombie's checkpoint or end, a claim, a reclaim or a cancel between the look and the move wins: its row is read again. The done
 * bits, which would each be fetched again if the move lost one, are not compared themselves: a thousand bitmaps would have to be read
 * for it. They change only by a checkpoint or an end, which raises `seq`, under a claim, which raises `lockToken`; so the two stand
 * for them, and `completed` guards that.
 */
const AS_OBSERVED = ['#status = :observed', '#run = :run', 'lockToken = :lockToken', 'seq = :seq', 'completed = :completed'].join(' AND ');

const NAMES = { '#status': 'status', '#run': 'run', '#ttl': 'ttl' };

/** The write that takes a batch of a former run into its reopened job's run. `leaseFields`: what only a running batch has. */
export function moveUpdate(
  observed: MovableBatch,
  run: number,
  at: { now: string; expiryS: number; leaseFields: string },
): Omit<ConditionalUpdate, 'TableName' | 'Key'> {
  const values = {
    ':observed': observed.status,
    ':run': observed.run,
    ':lockToken': observed.lockToken,
    ':seq': observed.seq,
    ':completed': observed.completed,
    ':newRun': run,
  };
  const common = { ConditionExpression: AS_OBSERVED, ExpressionAttributeNames: NAMES };
  // It keeps its results; only that it is forgotten begins anew.
  if (isWhollyDone(observed))
    return {
      ...common,
      UpdateExpression: 'SET #run = :newRun, #ttl = :ttl',
      ExpressionAttributeValues: { ...values, ':ttl': at.expiryS },
    };
  // lockToken + 1: whoever still holds it in the former run writes nothing more.
  return {
    ...common,
    UpdateExpression:
      'SET #run = :newRun, #status = :queued, failures = :none, failed = :zero, attempts = :zero, lockToken = lockToken + :one, ' +
      `reclaimMark = :completed, enqueuedAt = :now REMOVE ${at.leaseFields}, resultKeys, lastError, trialSize, #ttl`,
    ExpressionAttributeValues: { ...values, ':queued': 'queued', ':none': {}, ':zero': 0, ':one': 1, ':now': at.now },
  };
}
