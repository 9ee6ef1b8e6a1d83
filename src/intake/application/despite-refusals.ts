import { destinationRefused, MAX_REFUSALS } from '../../export-jobs/index.js';
import { fullJitterMs, isRefusedByStore, type BackoffPolicy } from '../../shared/index.js';

/** Four waits: about 5 s. */
const BACKOFF: BackoffPolicy = { baseMs: 500, capMs: 5_000 };

/**
 * Goes on after a first try that failed: what the destination refused is tried again for some
 * seconds, because a policy may just have been changed.
 * @throws AppError `DESTINATION_REFUSED` when it stays refused; any other failure as it is
 */
export async function insistAfter<T>(failure: unknown, attempt: () => Promise<T>, wait: (ms: number) => Promise<void>): Promise<T> {
  if (!isRefusedByStore(failure)) throw failure;
  for (let refusals = 1, last = failure; ; refusals++) {
    if (refusals === MAX_REFUSALS) throw destinationRefused(last);
    await wait(fullJitterMs(BACKOFF, refusals) + BACKOFF.baseMs / 2);
    try {
      return await attempt();
    } catch (error) {
      if (!isRefusedByStore(error)) throw error;
      last = error;
    }
  }
}
