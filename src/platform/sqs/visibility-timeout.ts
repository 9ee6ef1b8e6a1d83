import { toLoggable, type AppLogger } from '../../shared/index.js';
import type { SqsQueue } from './sqs-queue.js';

const FALLBACK_S = 600;

/** What is configured, else the queue's own visibility timeout, else 600 s when that cannot be read. In seconds. */
export async function resolveVisibilityTimeoutS(
  queue: Pick<SqsQueue, 'attributes'>,
  configuredS: number | undefined,
  logger: AppLogger,
  signal?: AbortSignal,
): Promise<number> {
  if (configuredS !== undefined) return configuredS;
  try {
    const { visibilityTimeoutS } = await queue.attributes(signal);
    if (visibilityTimeoutS > 0) return visibilityTimeoutS;
    logger.warn(`The queue has no visibility timeout: ${FALLBACK_S} s are used`);
  } catch (error) {
    logger.warn(`The queue's visibility timeout cannot be read: ${FALLBACK_S} s are used`, { error: toLoggable(error) });
  }
  return FALLBACK_S;
}
