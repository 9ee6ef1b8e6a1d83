import { toLoggable, type AppLogger } from '../../shared/index.js';
import { ATTRIBUTES_LIMIT_MS } from './visibility-timeout.js';

/**
 * The queue's maxReceiveCount: after that many receives a message goes to the dead-letter queue. A consumer that counts to another
 * number gives a message up too late, and its job is never answered, or too early.
 * @param assumed in its place when the queue has no redrive policy, or does not tell
 */
export async function resolveMaxReceiveCount(
  queue: { attributes(signal: AbortSignal): Promise<{ maxReceiveCount?: number }> },
  name: string,
  assumed: number,
  logger: AppLogger,
): Promise<number> {
  try {
    const { maxReceiveCount } = await queue.attributes(AbortSignal.timeout(ATTRIBUTES_LIMIT_MS));
    if (maxReceiveCount !== undefined) {
      logger.info(`${name}: a message has ${maxReceiveCount} receives`, { maxReceiveCount });
      return maxReceiveCount;
    }
    logger.warn(`${name} has no redrive policy: what nobody can use is received again until it is too old`, {
      mend: `give the queue a RedrivePolicy with a dead-letter queue and maxReceiveCount ${assumed}`,
    });
  } catch (error) {
    logger.warn(`${name}: its redrive policy cannot be read; a maxReceiveCount of ${assumed} is assumed`, { error: toLoggable(error) });
  }
  return assumed;
}
