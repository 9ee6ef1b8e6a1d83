import { toLoggable, type AppLogger } from '../../shared/index.js';
import type { SqsQueue } from './sqs-queue.js';

export const FALLBACK_VISIBILITY_S = 600;
/** How long a start waits for what a queue says of itself: one that is silent must not hold it up. */
export const ATTRIBUTES_LIMIT_MS = 5_000;

/** A queue that is asked once for all that a start wants to know of it. */
export function askedOnce(queue: Pick<SqsQueue, 'attributes'>): Pick<SqsQueue, 'attributes'> {
  let asked: ReturnType<SqsQueue['attributes']> | undefined;
  return { attributes: (signal) => (asked ??= queue.attributes(signal)) };
}

/** What is configured, else the queue's own visibility timeout, else the fallback when that cannot be read. In seconds. */
export async function resolveVisibilityTimeoutS(
  queue: Pick<SqsQueue, 'attributes'>,
  configuredS: number | undefined,
  logger: AppLogger,
  fallbackS = FALLBACK_VISIBILITY_S,
): Promise<number> {
  if (configuredS !== undefined) return configuredS;
  try {
    const { visibilityTimeoutS } = await queue.attributes(AbortSignal.timeout(ATTRIBUTES_LIMIT_MS));
    if (visibilityTimeoutS > 0) return visibilityTimeoutS;
    logger.warn(`The queue has no visibility timeout: ${fallbackS} s are used`);
  } catch (error) {
    logger.warn(`The queue's visibility timeout cannot be read: ${fallbackS} s are used`, { error: toLoggable(error) });
  }
  return fallbackS;
}
