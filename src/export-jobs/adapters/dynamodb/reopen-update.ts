import type { ConditionalUpdate } from '../../../platform/dynamodb/index.js';
import type { Reopening } from '../../application/job-state-repository.port.js';
import { encodeBatchCount } from '../../domain/counting.js';
import type { ExportJobEntity } from '../../domain/export-job.entity.js';
import { NAMES } from './job-conditions.js';

const AS_OBSERVED = '#status = :observed AND #run = :run';
/** Never out of a life that still counts or answers, even if that is what was observed. */
const HAS_ENDED = '#status IN (:completed, :failed, :cancelled)';
/** What the former run ended with. */
const FORMER_END = '#ttl, completedAt, outcome, finisher, resultKey, resultsNotWritten, callback, uncounted, #error, lastHeartbeatAt';

/**
 * The write that reopens a job. Two messages may find the same ended job: one of them reopens it. Counters and what is recorded for
 * the batches come with the run, in one write: no count can fall in between.
 */
export function reopenUpdate(
  observed: ExportJobEntity,
  { taskToken, completed, bytes, endedBatches, batchProgress }: Reopening,
  at: { statusShard: string; now: string },
): Omit<ConditionalUpdate, 'TableName' | 'Key'> {
  // DynamoDB stores no empty set.
  const noneEnded = endedBatches.size === 0;
  return {
    UpdateExpression:
      'SET #status = :processing, statusShard = :shard, #run = :nextRun, completedTasks = :done, failedTasks = :zero, ' +
      'bytesProcessed = :bytes, batchProgress = :progress, sentBatches = :zero, lastProgressAt = :now, updatedAt = :now, reopened = :reopened' +
      (noneEnded ? '' : ', endedBatches = :ended') +
      (taskToken === undefined ? '' : ', taskToken = :token, attempt = :attempt') +
      ` REMOVE ${FORMER_END}${noneEnded ? ', endedBatches' : ''}`,
    ConditionExpression: [AS_OBSERVED, HAS_ENDED].join(' AND '),
    ExpressionAttributeNames: { ...NAMES, '#ttl': 'ttl', '#error': 'error' },
    ExpressionAttributeValues: {
      ':observed': observed.status,
      ':run': observed.run,
      ':completed': 'COMPLETED',
      ':failed': 'FAILED',
      ':cancelled': 'CANCELLED',
      ':processing': 'PROCESSING',
      ':shard': at.statusShard,
      ':nextRun': observed.run + 1,
      ':done': completed,
      ':zero': 0,
      ':bytes': bytes,
      ':progress': Object.fromEntries([...batchProgress].map(([batchNo, count]) => [String(batchNo), encodeBatchCount(count)])),
      ':now': at.now,
      ':reopened': { at: at.now, completed, bytes } satisfies ExportJobEntity['reopened'],
      ...(noneEnded ? {} : { ':ended': new Set(endedBatches) }),
      ...(taskToken === undefined ? {} : { ':token': taskToken, ':attempt': observed.attempt + 1 }),
    },
  };
}
