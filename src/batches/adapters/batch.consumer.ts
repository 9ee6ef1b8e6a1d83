import { stallTimeoutProblem } from '../../config/index.js';
import type { DrainDeadlines, LifecyclePart } from '../../platform/index.js';
import {
  askedOnce,
  FALLBACK_VISIBILITY_S,
  LONG_POLL_S,
  PollLoop,
  resolveMaxReceiveCount,
  resolveVisibilityTimeoutS,
  type ReceivedMessage,
  type SqsQueue,
} from '../../platform/sqs/index.js';
import { AppError, type AppLogger, type Clock } from '../../shared/index.js';
import type { RunBatchUseCase } from '../application/run-batch.use-case.js';
import type { TakeInBatchUseCase } from '../application/take-in-batch.use-case.js';
import type { WorkSigns } from '../application/work-signs.js';
import { parseBatchMessage } from './batch-message.schema.js';

/**
 * While a coordinator has enough to do it looks at the queue twice a second, so that a new job's first file starts within five. It finds
 * only what nobody wants: whoever has less to do waits for messages all the time, and gets each the moment it comes. A look asks a part
 * of the servers of SQS and may miss a message; the next one asks others.
 */
const LOOK = { waitSeconds: 0, pauseMs: 500 };
const LONG_POLL = { waitSeconds: LONG_POLL_S, pauseMs: 0 };
/** Where the queue does not say it. Batches come again with each hand-over that was lost. */
const ASSUMED_RECEIVES = 20;

export type BatchesQueue = Pick<SqsQueue, 'receive' | 'delete' | 'send' | 'attributes' | 'changeVisibilityBatch'>;

export interface BatchWork {
  takeInBatch: Pick<TakeInBatchUseCase, 'capacity' | 'hasEnough' | 'takeIn'>;
  runBatch: Pick<RunBatchUseCase, 'pause' | 'drain'>;
}

/**
 * Receives as many batches as there is room for; a batch counts from its receive on, so nothing waits in a local buffer.
 * The message is deleted as soon as the lease keeps the batch: one right to a batch at a time, not two.
 */
export class BatchConsumer implements LifecyclePart {
  private loop: PollLoop | undefined;

  constructor(
    private readonly settings: { visibilityTimeoutS?: number; stallTimeoutMs: number },
    private readonly queue: BatchesQueue,
    private readonly work: BatchWork,
    private readonly tools: { signs: WorkSigns; clock: Clock; logger: AppLogger },
  ) {}

  /** @throws AppError when a message that a dying worker swallows would come back too late to save its job */
  async start(): Promise<void> {
    const { signs, clock, logger } = this.tools;
    const { takeInBatch } = this.work;
    const { stallTimeoutMs } = this.settings;
    const fallbackS = Math.min(FALLBACK_VISIBILITY_S, Math.floor(stallTimeoutMs / 3_000));
    const queue = askedOnce(this.queue);
    const [visibilityTimeoutS, maxReceiveCount] = await Promise.all([
      resolveVisibilityTimeoutS(queue, this.settings.visibilityTimeoutS, logger, fallbackS),
      resolveMaxReceiveCount(queue, 'Batches queue', ASSUMED_RECEIVES, logger),
    ]);
    const problem = stallTimeoutProblem(stallTimeoutMs, visibilityTimeoutS);
    if (problem !== undefined) throw new AppError('STALL_TIMEOUT_TOO_SHORT', problem, { disposition: 'fatal' });
    this.loop = new PollLoop({
      name: 'Batches queue',
      queue: this.queue,
      maxReceiveCount,
      capacity: () => takeInBatch.capacity,
      pace: () => (takeInBatch.hasEnough ? LOOK : LONG_POLL),
      visibilityTimeoutS,
      handle: (message) => this.handle(message),
      // A look by the way is no sign that what waits in the queue is taken in.
      onTurn: () => {
        if (!takeInBatch.hasEnough) signs.note();
      },
      clock,
      logger,
    });
    this.loop.start();
    // Its first long poll takes some seconds; there is room from now on.
    signs.note();
  }

  /** For the health answer: what keeps the loop from turning. */
  get problem(): string | undefined {
    return this.loop === undefined ? 'not started' : this.loop.problem;
  }

  /** Tasks that run go on while the last poll is waited for; no other one begins. */
  quiesce(): void {
    this.work.runBatch.pause();
    this.loop?.quiesce();
  }

  /** Batches are handed back when the last poll has ended: it would take their messages. */
  async drain(deadlines: DrainDeadlines): Promise<void> {
    await this.loop?.stop(deadlines.finishBy);
    await this.work.runBatch.drain({ finishByMs: deadlines.finishBy, releaseByMs: deadlines.handBackBy });
    await this.loop?.idle();
  }

  private async handle(received: ReceivedMessage): Promise<void> {
    const parsed = parseBatchMessage(received.body);
    if (parsed.kind === 'newer') return;
    if (parsed.kind === 'unusable') {
      this.tools.logger.error('A message on the batches queue is none of ours and is left to the dead-letter queue', {
        messageId: received.messageId,
      });
      return;
    }
    await this.work.takeInBatch.takeIn(parsed.message, () => this.queue.delete(received.receiptHandle));
  }
}
