import { Injectable } from '@nestjs/common';
import { Clock, newId } from '../../shared/index.js';
import type { BatchEntity } from '../domain/batch.entity.js';
import { decideReclaim, RECLAIMED_TTL, type ReclaimDecision } from '../domain/decide-reclaim.js';
import { leaseTtlMs } from '../domain/lease-ttl.js';
import { reclaimRecordOf, type ReclaimedAs, type ReclaimRecord } from '../domain/reclaim-record.js';
import { storedSilenceMs } from '../domain/stale-batch.js';
import { BatchQueuePort } from './batch-queue.port.js';
import { BatchRepositoryPort } from './batch-repository.port.js';
import { GiveUpBatchUseCase } from './give-up-batch.use-case.js';
import { writeOwnReclaim } from './own-reclaim.js';
import { ReclaimRecorderService } from './reclaim-recorder.service.js';

export type ReclaimOutcome =
  /** `setApart`: the position of a task that is recorded as failed, because it takes its holders down. */
  | { kind: 'requeued'; record: ReclaimRecord; setApart?: number }
  | { kind: 'given-up'; record: ReclaimRecord }
  /** Someone moved the batch since it was observed: nothing was written. */
  | { kind: 'moved' }
  /** The row is taken, but its message or its counts did not get through: the job's repair brings them. */
  | { kind: 'unfinished'; record: ReclaimRecord; cause: unknown };

/** The message of a reclaimed batch waits this long for each attempt, at most the limit of SQS. */
const DELAY_PER_ATTEMPT_S = 5;
const MAX_DELAY_S = 900;

/**
 * Takes one batch away from its silent holder: one conditional write on everything observed, then the message or the counts, and a
 * line in the history. Whoever moved since the look wins by itself.
 */
@Injectable()
export class ReclaimBatchUseCase {
  constructor(
    private readonly settings: { coordinatorId: string; ttlMs: Readonly<Record<string, number>>; maxAttempts: number },
    private readonly batches: BatchRepositoryPort,
    private readonly queue: BatchQueuePort,
    private readonly giveUpBatch: GiveUpBatchUseCase,
    private readonly recorder: ReclaimRecorderService,
    private readonly clock: Clock,
  ) {}

  decide(observed: BatchEntity): ReclaimDecision {
    return decideReclaim(observed, this.settings.maxAttempts);
  }

  /** @throws when nothing was taken, or it is unknown whether: the next turn tries again */
  async reclaim(observed: BatchEntity): Promise<ReclaimOutcome> {
    const decision = this.decide(observed);
    return decision.kind === 'give-up' ? this.giveUp(observed) : this.requeue(observed, decision);
  }

  private async requeue(
    observed: BatchEntity,
    { attempts, trialSize, setApart }: Extract<ReclaimDecision, { kind: 'requeue' }>,
  ): Promise<ReclaimOutcome> {
    const { jobId, batchNo, run } = observed;
    const reclaimId = newId();
    const ttlS = leaseTtlMs(observed.type, this.settings.ttlMs) / 1_000;
    const lastError = `${RECLAIMED_TTL}: Exceeded TTL (${ttlS} s); ${this.silence(observed)}`;
    const row = await writeOwnReclaim(this.batches, observed, { status: 'queued', reclaimId }, () =>
      this.batches.reclaim(observed, {
        reclaimId,
        attempts,
        lastError,
        ...(trialSize === undefined ? {} : { trialSize }),
        // Its job counts it with the next claim.
        ...(setApart === undefined ? {} : { failures: new Map(observed.failures).set(setApart, RECLAIMED_TTL) }),
      }),
    );
    if (row === undefined) return { kind: 'moved' };
    const delayS = Math.min(MAX_DELAY_S, DELAY_PER_ATTEMPT_S * (attempts - 1));
    const record = this.recordOf(observed, row, 'requeued', reclaimId);
    try {
      await this.queue.send([{ jobId, batchNo, run }], delayS);
      return { kind: 'requeued', record, ...(setApart === undefined ? {} : { setApart }) };
    } catch (cause) {
      return { kind: 'unfinished', record, cause };
    } finally {
      this.recorder.add(record);
    }
  }

  private async giveUp(observed: BatchEntity): Promise<ReclaimOutcome> {
    const reclaimId = newId();
    const row = await this.giveUpBatch.giveUp(observed, reclaimId, `${RECLAIMED_TTL}: Max attempts reached; ${this.silence(observed)}`);
    if (row === undefined) return { kind: 'moved' };
    const record = this.recordOf(observed, row, 'given-up', reclaimId);
    this.recorder.add(record);
    try {
      await this.giveUpBatch.count(row);
      return { kind: 'given-up', record };
    } catch (cause) {
      return { kind: 'unfinished', record, cause };
    }
  }

  private silence(observed: BatchEntity): string {
    const silentS = Math.round(storedSilenceMs(observed, Date.parse(this.clock.nowIso())) / 1_000);
    return `held by ${observed.lockedBy ?? 'unknown'}, silent for ${silentS} s`;
  }

  private recordOf(observed: BatchEntity, row: BatchEntity, outcome: ReclaimedAs, reclaimId: string): ReclaimRecord {
    const { coordinatorId: reclaimedBy } = this.settings;
    return reclaimRecordOf(observed, row, { outcome, reclaimId, reclaimedBy, reclaimedAt: this.clock.nowIso() });
  }
}
