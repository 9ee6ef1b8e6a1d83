import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, toLoggable } from '../../shared/index.js';
import { BatchQueuePort } from './batch-queue.port.js';
import { LeaseService } from './lease.service.js';
import type { RunningBatch } from './running-batch.js';

const TRIES = 5;
const PAUSE_MS = 300;

/**
 * Hands a batch back on drain: last checkpoint and count, row queued, then the message. A message first would be dropped
 * as held. When the row's write stays unknown the row is read, and the message sent if it is queued with our lockToken.
 */
@Injectable()
export class ReleaseBatchUseCase {
  constructor(
    private readonly leases: LeaseService,
    private readonly queue: BatchQueuePort,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  async release(running: RunningBatch): Promise<void> {
    const { jobId, batchNo, run } = running.lease;
    const flushed = await this.settle(() => running.flush());
    if (flushed === 'lost') return this.logger.info('Batch left', { jobId, batchNo, reason: 'lost' });
    const released = await this.settle(() => this.leases.release(running.lease));
    if (released !== 'renewed')
      return this.logger.warn('Batch could not be handed back; its lease will run out', { jobId, batchNo, outcome: released });
    await this.send({ jobId, batchNo, run });
    this.logger.info('Batch handed back', { jobId, batchNo, completed: running.checkpoint.whole().completed });
  }

  private async settle(attempt: () => Promise<{ kind: 'renewed' | 'lost' | 'unknown' }>): Promise<'renewed' | 'lost' | 'unknown'> {
    for (let tried = 1; ; tried++) {
      const { kind } = await attempt();
      if (kind !== 'unknown' || tried === TRIES) return kind;
      await this.clock.sleep(PAUSE_MS);
    }
  }

  private async send(message: { jobId: string; batchNo: number; run: number }): Promise<void> {
    for (let tried = 1; ; tried++) {
      try {
        return await this.queue.send([message]);
      } catch (error) {
        if (tried === TRIES) {
          this.logger.error('Batch handed back without a message; it waits for the job to be repaired', {
            ...message,
            error: toLoggable(error),
          });
          return;
        }
        await this.clock.sleep(PAUSE_MS);
      }
    }
  }
}
