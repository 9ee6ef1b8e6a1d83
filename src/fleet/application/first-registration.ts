import { AppError, retryUntil, toLoggable, type AppLogger, type Clock } from '../../shared/index.js';

/** A fleet that starts all at once is throttled, and a network comes up late: that is no reason to end. */
const PATIENCE_MS = 30_000;
const BACKOFF = { baseMs: 500, capMs: 5_000 };
const MISSING_OR_FORBIDDEN = 'TABLE_UNUSABLE';

/**
 * Tries until this process is registered, or what keeps it from that cannot pass, or has not passed for half a minute.
 * @param register one try; throws what the registry throws
 * @param signal this process leaves: no more tries
 * @throws AppError `COORDINATOR_NOT_REGISTERED` (fatal)
 */
export async function registerFirst(
  register: () => Promise<void>,
  names: { coordinatorId: string; table: string },
  { clock, logger }: { clock: Clock; logger: AppLogger },
  signal: AbortSignal,
): Promise<void> {
  const endsAt = clock.monotonicMs() + PATIENCE_MS;
  let cause: unknown = new AppError('COORDINATOR_LEAVES', 'this process was told to stop', { disposition: 'yield' });
  const outcome = await retryUntil<'registered' | 'failed'>(
    async (attempt) => {
      try {
        await register();
        return { done: true, value: 'registered' };
      } catch (error) {
        cause = error;
        if (!mayPass(error) || clock.monotonicMs() >= endsAt) return { done: true, value: 'failed' };
        logger.warn('The coordinator could not be registered; it is tried again', { attempt, error: toLoggable(error) });
        return { done: false };
      }
    },
    { clock, backoff: BACKOFF, signal },
  );
  if (outcome !== 'registered') throw notRegistered(names, cause);
}

function mayPass(error: unknown): boolean {
  return !(error instanceof AppError) || error.disposition === 'retry';
}

function notRegistered({ coordinatorId, table }: { coordinatorId: string; table: string }, cause: unknown): AppError {
  const hint =
    cause instanceof AppError && cause.code === MISSING_OR_FORBIDDEN
      ? '. DYNAMODB_COORDINATORS_TABLE must name a table that exists, and this service needs GetItem, PutItem, UpdateItem and Scan on it'
      : '';
  const message = `Coordinator ${coordinatorId} could not be registered in the table ${table}: ${toLoggable(cause).message}${hint}`;
  return new AppError('COORDINATOR_NOT_REGISTERED', message, { disposition: 'fatal', cause });
}
