import { Injectable } from '@nestjs/common';
import { AppLogger, chunksOf, Clock, Metrics, toLoggable, type MonotonicMs } from '../../shared/index.js';
import type { BatchEntity } from '../domain/batch.entity.js';
import { RECLAIMED_TTL } from '../domain/decide-reclaim.js';
import { leaseTtlMs } from '../domain/lease-ttl.js';
import type { ReclaimRecord } from '../domain/reclaim-record.js';
import { isOverdue, isStale, leaseSignature } from '../domain/stale-batch.js';
import { BatchRepositoryPort, nameOfBatch } from './batch-repository.port.js';
import { BesideTurns } from './beside-turns.js';
import { LeaseService } from './lease.service.js';
import { OwnHeartbeatPort } from './own-heartbeat.port.js';
import { ReclaimBatchUseCase, type ReclaimOutcome } from './reclaim-batch.use-case.js';
import { ReclaimRecorderService } from './reclaim-recorder.service.js';
import { RunningLook } from './running-look.js';
import { runningRows } from './running-rows.js';
import { SelfDoubt } from './self-doubt.js';

export interface ReclaimSettings {
  heartbeatIntervalMs: number;
  /** Per batch type. */
  ttlMs: Readonly<Record<string, number>>;
  reclaimIntervalMs: number;
}

/** What one turn did. Batches are given up beside it: those come in when they are through, `idle()` waits for them. */
export interface ReclaimTurn {
  /** Whether its look began with the first batch; else it went on where the last turn ended. */
  beginsLook: boolean;
  /** Whether it came to the last batch; else the next turn goes on. */
  endsLook: boolean;
  running: number;
  stale: number;
  requeued: number;
  givenUp: number;
  /** Someone moved them between look and write. */
  moved: number;
  failed: number;
  /** Stale ones that this turn had no time for. */
  left: number;
  /** This process did not trust itself and took none. */
  doubted: boolean;
  /** Of what was taken. */
  reclaims: ReclaimRecord[];
}

interface Seen {
  signature: string;
  since: MonotonicMs;
}

/** A turn looks at no further batch after this: the rest of its time is for those that failed before. */
const LOOK_LIMIT_MS = 6_000;
/** A turn takes none after this; the next one goes on. */
const TURN_LIMIT_MS = 8_000;
const AT_ONCE = 8;

const NOTHING_DONE = { endsLook: false, running: 0, stale: 0, requeued: 0, givenUp: 0, moved: 0, failed: 0, left: 0 };

/*
 * Takes batches away from holders that went silent. One turn: running-index → consistent reads → stale? → one conditional write each,
 * on everything observed. Whoever moved since the look wins by itself, so any number of reclaimers may run: this is the store's
 * FOR UPDATE SKIP LOCKED. Who reclaims, sends; if he dies between the two, the job's repair sends.
 *
 * A batch to be given up has its files read and written, and may end its job, which waits for Step Functions: that happens beside the
 * turns, so that it holds up neither the batches behind it nor the next turn.
 *
 * A look that finds more than a turn has time for goes on in the next one, where it stopped: were it to last as long as it takes, each
 * turn would be late, and a late reclaimer takes none.
 *
 * A process that doubts itself looks, and takes none. An error is logged and ends a turn, never the loop.
 */
@Injectable()
export class ReclaimStaleBatchesUseCase {
  private readonly seen = new Map<string, Seen>();
  /** The one that the last turn did not end. */
  private openLook: RunningLook | undefined;
  private readonly selfDoubt: SelfDoubt;
  /** Batches whose last reclaim failed, the one that failed longest ago first. */
  private readonly failed = new Set<string>();
  private readonly givingUp = new BesideTurns<BatchEntity>(AT_ONCE, nameOfBatch);

  constructor(
    private readonly settings: ReclaimSettings,
    private readonly batches: BatchRepositoryPort,
    leases: LeaseService,
    ownHeartbeat: OwnHeartbeatPort,
    private readonly reclaimBatch: ReclaimBatchUseCase,
    private readonly recorder: ReclaimRecorderService,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {
    const lateMs = settings.reclaimIntervalMs * 2 + TURN_LIMIT_MS;
    this.selfDoubt = new SelfDoubt(lateMs, leases, ownHeartbeat, logger);
  }

  async runOnce(): Promise<ReclaimTurn> {
    const startedAt = this.clock.monotonicMs();
    const doubted = this.selfDoubt.beginTurn(startedAt);
    const beginsLook = this.openLook === undefined;
    const look = this.openLook ?? new RunningLook(runningRows(this.batches));
    // One that throws is not gone on with: its pages are lost, what it saw is kept.
    this.openLook = undefined;
    const turn: ReclaimTurn = { ...NOTHING_DONE, beginsLook, doubted, reclaims: [] };
    const endsAt = startedAt + TURN_LIMIT_MS;
    const postponed: BatchEntity[] = [];
    // Of an earlier part of this look. Those of a look before it are found again, or are not stale any more.
    const hopeless: BatchEntity[] = beginsLook ? [] : [...this.givingUp.waiting];
    for await (const rows of look.pages(() => this.clock.monotonicMs() >= startedAt + LOOK_LIMIT_MS)) {
      const stale = rows.filter((batch) => this.isStale(batch, look));
      turn.running += rows.length;
      turn.stale += stale.length;
      if (doubted) continue;
      const fresh: BatchEntity[] = [];
      for (const batch of stale) {
        const later = this.failed.has(nameOfBatch(batch)) ? postponed : fresh;
        (this.reclaimBatch.decide(batch).kind === 'give-up' ? hopeless : later).push(batch);
      }
      await this.takeAll(fresh, turn, endsAt);
    }
    // What failed before comes last, so that what takes a whole turn and fails again hides nobody.
    this.givingUp.replace(this.failedLast(hopeless), (batch) => this.takeSafely(batch, turn));
    // The next turn comes by those that are left again, at once.
    const goesOn = turn.left === 0;
    await this.takeAll(this.failedLast(postponed), turn, endsAt);
    if (look.isThrough) this.endLook(look);
    else if (goesOn) this.openLook = look;
    turn.endsLook = look.isThrough;
    return turn;
  }

  /** Resolves when every batch that is to be given up is through, and the history of all reclaims is written. */
  async idle(): Promise<void> {
    await this.givingUp.idle();
    await this.recorder.idle();
  }

  /** Begins nothing new, and waits for what is under way; for the history a moment only. */
  async stop(): Promise<void> {
    this.givingUp.clear();
    await this.givingUp.idle();
    await this.recorder.stop();
  }

  private endLook({ names, overdue }: RunningLook): void {
    this.metrics.gauge('batches_overdue', overdue);
    for (const name of this.seen.keys()) if (!names.has(name)) this.seen.delete(name);
    for (const name of this.failed) if (!names.has(name)) this.failed.delete(name);
  }

  /** Remembers the batch's sign of life; answers whether it has been gone for too long. */
  private isStale(batch: BatchEntity, look: RunningLook): boolean {
    const name = nameOfBatch(batch);
    const now = this.clock.monotonicMs();
    const signature = leaseSignature(batch);
    const before = this.seen.get(name);
    const since = before?.signature === signature ? before.since : now;
    this.seen.set(name, { signature, since });
    look.names.add(name);
    const limits = { ttlMs: leaseTtlMs(batch.type, this.settings.ttlMs), heartbeatIntervalMs: this.settings.heartbeatIntervalMs };
    const nowMs = Date.parse(this.clock.nowIso());
    if (isOverdue(batch, now - since, nowMs, limits)) look.overdue++;
    return isStale(batch, now - since, nowMs, limits);
  }

  private failedLast(batches: readonly BatchEntity[]): BatchEntity[] {
    const order = [...this.failed];
    return batches.toSorted((a, b) => order.indexOf(nameOfBatch(a)) - order.indexOf(nameOfBatch(b)));
  }

  private async takeAll(stale: readonly BatchEntity[], turn: ReclaimTurn, endsAt: MonotonicMs): Promise<void> {
    for (const chunk of chunksOf(stale, AT_ONCE)) {
      if (this.clock.monotonicMs() >= endsAt) turn.left += chunk.length;
      else await Promise.all(chunk.map((batch) => this.takeSafely(batch, turn)));
    }
  }

  /** One batch that cannot be reclaimed never hides the ones behind it. */
  private async takeSafely(batch: BatchEntity, turn: ReclaimTurn): Promise<void> {
    this.failed.delete(nameOfBatch(batch));
    try {
      this.report(batch, await this.reclaimBatch.reclaim(batch), turn);
    } catch (error) {
      this.failed.add(nameOfBatch(batch));
      this.count(batch, turn, 'failed');
      const { jobId, batchNo } = batch;
      this.logger.retrying('the reclaim of a stale batch', error, { jobId, batchNo, next: 'the next turn tries again' });
    }
  }

  private report(batch: BatchEntity, outcome: ReclaimOutcome, turn: ReclaimTurn): void {
    const { jobId, batchNo, lockedBy, lockToken } = batch;
    if (outcome.kind !== 'moved') turn.reclaims.push(outcome.record);
    switch (outcome.kind) {
      case 'moved':
        return this.count(batch, turn, 'moved');
      case 'unfinished':
        this.count(batch, turn, 'failed');
        return this.logger.error('A reclaimed batch lacks its message, or its counts; the repair of its job brings them', {
          jobId,
          batchNo,
          outcome: outcome.record.outcome,
          error: toLoggable(outcome.cause),
        });
      case 'requeued':
        this.count(batch, turn, 'requeued');
        if (outcome.setApart !== undefined)
          this.logger.warn('A file takes down every process that runs it alone: it is recorded as failed, the rest of its batch goes on', {
            jobId,
            batchNo,
            position: outcome.setApart,
            code: RECLAIMED_TTL,
          });
        return this.logger.info('Batch reclaimed: requeued', { jobId, batchNo, lockedBy, lockToken, attempts: outcome.record.attempt });
      case 'given-up':
        this.count(batch, turn, 'given-up');
        return this.logger.error(
          'Batch given up: it was taken over too often without progress, and its files that are left fail (RECLAIMED_TTL)',
          {
            jobId,
            batchNo,
            lockedBy,
            lockToken,
            attempts: outcome.record.attempt,
          },
        );
      default:
        return outcome satisfies never;
    }
  }

  private count({ type }: BatchEntity, turn: ReclaimTurn, outcome: 'requeued' | 'given-up' | 'moved' | 'failed'): void {
    turn[outcome === 'given-up' ? 'givenUp' : outcome]++;
    this.metrics.increment('batches_reclaimed_total', { type, outcome });
  }
}
