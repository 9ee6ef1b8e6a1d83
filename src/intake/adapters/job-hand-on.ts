import type { LiveCoordinatorsPort } from '../../export-jobs/index.js';
import type { ReceivedMessage, SqsQueue } from '../../platform/sqs/index.js';
import { toLoggable, type AppLogger } from '../../shared/index.js';
import type { Leaving } from '../application/plan-expansion.use-case.js';
import { decideHandOn } from '../domain/decide-hand-on.js';

/** Message attribute: how often the job was handed on. */
const HAND_ONS = 'handOns';

/**
 * Lets another coordinator have a job whose list cannot be opened here. A copy of its message is
 * sent, and whoever holds the original deletes it afterwards: a crash in between leaves two
 * messages, which the job bears, and none of the five receives is spent. The row is stamped before,
 * because a job that is sent on and on would wait nowhere for long enough to be stamped.
 */
export class JobHandOn {
  constructor(
    private readonly queue: Pick<SqsQueue, 'send'>,
    private readonly coordinators: Pick<LiveCoordinatorsPort, 'list'>,
    private readonly logger: AppLogger,
  ) {}

  /**
   * True when a copy was sent: the original is to be deleted. Never rejects; a copy that cannot be
   * sent leaves the job waiting here, and a job that is over is not sent on.
   */
  async handOn({ body, attributes, messageId }: ReceivedMessage, jobId: string, { place, stamp }: Leaving): Promise<boolean> {
    const handOns = handOnsOf(attributes);
    const hasOthers = this.coordinators.list().length > 1;
    const decision = decideHandOn({ handOns, hasOthers, place });
    if (decision.kind === 'wait' || !(await stamp())) return false;
    const next = decision.kind === 'hand-on' ? handOns + 1 : handOns;
    try {
      await this.queue.send({ body, delayS: decision.delayS, attributes: { [HAND_ONS]: String(next) } });
    } catch (error) {
      this.logger.warn('A job whose list cannot be opened here could not be handed on', { jobId, messageId, error: toLoggable(error) });
      return false;
    }
    this.logger.info('Job handed on: its list cannot be opened here yet', { jobId, messageId, handOns: next, delayS: decision.delayS });
    return true;
  }
}

/** A sender may have written anything there. */
function handOnsOf(attributes: ReceivedMessage['attributes']): number {
  const handOns = Number(attributes[HAND_ONS] ?? 0);
  return Number.isSafeInteger(handOns) && handOns > 0 ? handOns : 0;
}
