import type { ConditionalUpdate } from '../../../platform/dynamodb/index.js';
import type { Answered } from '../../application/job-state-repository.port.js';
import type { ExportJobEntity, Finisher, JobOutcome } from '../../domain/export-job.entity.js';
import { NAMES, SAME_RUN, STATUS_IS_FINALIZING } from './job-conditions.js';

const FINISHER_AS_OBSERVED = 'finisher.#id = :id AND finisher.seq = :seq';
const NO_FINISHER = 'attribute_not_exists(finisher)';
const MY_FINISH = 'finisher.#id = :id';
const RENEWAL_NOT_OLDER = 'finisher.seq <= :seq';

type Update = Omit<ConditionalUpdate, 'TableName' | 'Key'>;

/** Of two that saw the finisher silent one takes over; a holder that has renewed meanwhile keeps its lease. */
export function takeOverUpdate({ run, finisher }: ExportJobEntity, finisherId: string, now: string): Update {
  return {
    UpdateExpression: 'SET finisher = :successor, updatedAt = :now',
    ConditionExpression: [STATUS_IS_FINALIZING, SAME_RUN, finisher === undefined ? NO_FINISHER : FINISHER_AS_OBSERVED].join(' AND '),
    ExpressionAttributeNames: { ...NAMES, ...(finisher === undefined ? {} : { '#id': 'id' }) },
    ExpressionAttributeValues: {
      ':finalizing': 'FINALIZING',
      ':run': run,
      ':successor': { id: finisherId, seq: 0 } satisfies Finisher,
      ':now': now,
      ...(finisher === undefined ? {} : { ':id': finisher.id, ':seq': finisher.seq }),
    },
  };
}

/** A renewal that the network held back must not undo a newer one: who saw its number before would take the holder for silent. */
export function renewUpdate(run: number, finisher: Finisher, now: string): Update {
  return {
    UpdateExpression: 'SET finisher = :renewed, updatedAt = :now',
    ConditionExpression: [STATUS_IS_FINALIZING, SAME_RUN, MY_FINISH, RENEWAL_NOT_OLDER].join(' AND '),
    ExpressionAttributeNames: { ...NAMES, '#id': 'id' },
    ExpressionAttributeValues: {
      ':finalizing': 'FINALIZING',
      ':run': run,
      ':renewed': finisher,
      ':id': finisher.id,
      ':seq': finisher.seq,
      ':now': now,
    },
  };
}

/** The last write of a finisher. Its lease is not asked for: of two that overlap either may end the job, which both have answered alike. */
export function endUpdate(run: number, outcome: JobOutcome, answered: Answered, { now, ttlS }: { now: string; ttlS: number }): Update {
  const { resultKey, resultsNotWritten, callback, uncounted } = answered;
  const { error } = outcome;
  return {
    UpdateExpression:
      'SET #status = :status, completedAt = :completedAt, callback = :callback, updatedAt = :now, #ttl = :ttl' +
      (resultKey === undefined ? '' : ', resultKey = :resultKey') +
      (resultsNotWritten === undefined ? '' : ', resultsNotWritten = :notWritten') +
      (uncounted === undefined ? '' : ', uncounted = :uncounted') +
      (error === undefined ? '' : ', #error = :error') +
      ' REMOVE taskToken, statusShard, finisher',
    ConditionExpression: [STATUS_IS_FINALIZING, SAME_RUN].join(' AND '),
    ExpressionAttributeNames: { ...NAMES, '#ttl': 'ttl', ...(error === undefined ? {} : { '#error': 'error' }) },
    ExpressionAttributeValues: {
      ':finalizing': 'FINALIZING',
      ':run': run,
      ':status': outcome.status,
      ':completedAt': outcome.decidedAt,
      ':callback': callback,
      ':now': now,
      ':ttl': ttlS,
      ...(resultKey === undefined ? {} : { ':resultKey': resultKey }),
      ...(resultsNotWritten === undefined ? {} : { ':notWritten': resultsNotWritten }),
      ...(uncounted === undefined ? {} : { ':uncounted': uncounted }),
      ...(error === undefined ? {} : { ':error': error }),
    },
  };
}
