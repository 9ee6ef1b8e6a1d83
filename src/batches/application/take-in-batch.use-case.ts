import { Injectable } from '@nestjs/common';
import type { LiveCoordinatorsPort } from '../../export-jobs/index.js';
import type { AppLogger } from '../../shared/index.js';
import type { TransferPool } from '../../worker-pool/index.js';
import { capacityOf, hasEnough, isForOthers, type InHand, type TakeInLimits } from '../domain/take-in.js';
import type { BatchMessage, BatchQueuePort } from './batch-queue.port.js';
import type { RunBatchUseCase } from './run-batch.use-case.js';
import type { TaskDispatcherService } from './task-dispatcher.service.js';

/** A message that is passed on is received by another after this. */
const PASS_ON_DELAY_S = 1;
/** With nobody to pass it on to it comes back to us: not sooner than others may have come, or a batch has ended. */
const COME_BACK_DELAY_S = 10;

export interface TakeInServices {
  runBatch: Pick<RunBatchUseCase, 'run'>;
  dispatcher: Pick<TaskDispatcherService, 'isWaiting'>;
  pool: Pick<TransferPool, 'capacity'>;
  queue: BatchQueuePort;
  coordinators: LiveCoordinatorsPort;
  logger: AppLogger;
}

/** Decides what becomes of a batch that was received: it is run, or passed on because this coordinator has its share of the job. */
@Injectable()
export class TakeInBatchUseCase {
  private readonly byJob = new Map<string, number>();

  constructor(
    private readonly limits: TakeInLimits,
    private readonly services: TakeInServices,
  ) {}

  /** How many batches may be in hand now, passed-on ones included while their message is sent. */
  get capacity(): number {
    // A pool that has lost all its threads could only hold batches, not run them.
    return this.services.pool.capacity === 0 ? 0 : capacityOf(this.limits, this.inHand);
  }

  get hasEnough(): boolean {
    return this.services.pool.capacity === 0 || hasEnough(this.limits, this.inHand);
  }

  /** @throws when the message is left, and comes again */
  async takeIn(message: BatchMessage, deleteMessage: () => Promise<void>): Promise<void> {
    const { jobId } = message;
    const isTooMany = isForOthers(this.limits, this.inHandOf(jobId));
    this.count(jobId, 1);
    try {
      if (isTooMany) await this.passOn(message, deleteMessage);
      else await this.services.runBatch.run(message, deleteMessage);
    } finally {
      this.count(jobId, -1);
    }
  }

  /** A copy, because a message that is shown again has spent one of its receives. A crash in between leaves both; one of them is dropped. */
  private async passOn(message: BatchMessage, deleteMessage: () => Promise<void>): Promise<void> {
    const { coordinators, queue, logger } = this.services;
    const isAlone = coordinators.list().length === 1;
    await queue.send([message], isAlone ? COME_BACK_DELAY_S : PASS_ON_DELAY_S);
    await deleteMessage();
    logger.debug('Batch message passed on: enough batches of its job are in hand', { ...message });
  }

  private get inHand(): InHand {
    const all = { batches: 0, waiting: 0 };
    for (const jobId of this.byJob.keys()) {
      const { batches, waiting } = this.inHandOf(jobId);
      all.batches += batches;
      all.waiting += waiting;
    }
    return all;
  }

  private inHandOf(jobId: string): InHand {
    const batches = this.byJob.get(jobId) ?? 0;
    return { batches, waiting: this.services.dispatcher.isWaiting(jobId) ? batches : 0 };
  }

  private count(jobId: string, more: number): void {
    const batches = (this.byJob.get(jobId) ?? 0) + more;
    if (batches === 0) this.byJob.delete(jobId);
    else this.byJob.set(jobId, batches);
  }
}
