import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, Metrics, newId, toLoggable, type MonotonicMs } from '../../shared/index.js';
import type { BatchEntity } from '../domain/batch.entity.js';
import { decideReclaim } from '../domain/decide-reclaim.js';
import { leaseTtlMs } from '../domain/lease-ttl.js';
import { isStale, leaseSignature, silentSeconds } from '../domain/stale-batch.js';
import { BatchQueuePort } from './batch-queue.port.js';
import { BatchRepositoryPort, type BatchKey, type BatchWrite } from './batch-repository.port.js';
import { GiveUpBatchUseCase } from './give-up-batch.use-case.js';
import { LeaseService } from './lease.service.js';
import { OwnHeartbeatPort } from './own-heartbeat.port.js';

export interface ReclaimSettings {
  heartbeatIntervalMs: number;
  /** Per batch type. */
  ttlMs: Readonly<Record<string, number>>;
  reclaimIntervalMs: number;
  maxAttempts: number;
}

/** What one turn did. */
export interface ReclaimTurn {
  running: number;
  stale: number;
  requeued: number;
  givenUp: number;
  /** This process did not trust itself and took none. */
  doubted: boolean;
}

interface Seen {
  signature: string;
  since: MonotonicMs;
}

/** A turn takes none after this; the next one goes on. */
const TURN_LIMIT_MS = 8_000;
const AT_ONCE = 8;
/** The message of a reclaimed batch waits this long for each attempt, at most the limit of SQS. */
const DELAY_PER_ATTEMPT_S = 5;
const MAX_DELAY_S = 900;

/*
 * Takes batches away from holders that went silent. One turn: running-index → consistent reads → stale? → one conditional write each,
 * on everything observed. Whoever moved since the look wins by itself, so any number of reclaimers may run: this is the store's
 * FOR UPDATE SKIP LOCKED. Who reclaims, sends; if he dies between the two, the job's repair sends.
 *
 * It doubts itself, not others: a process whose own turn came late, or whose own last lease or coordinator write failed, may be the one
 * that is cut off, and takes none this turn. An error is logged and ends a turn, never the loop.
 */
@Injectable()
export class ReclaimStaleBatchesUseCase {
  private seen = new Map<string, Seen>();
  private lastTurnAt: MonotonicMs | undefined;
  /** Batches whose last reclaim failed, the one that failed longest ago first. */
  private readonly failed = new Set<string>();

  constructor(
    private readonly settings: ReclaimSettings,
    private readonly batches: BatchRepositoryPort,
    private readonly queue: BatchQueuePort,
    private readonly leases: LeaseService,
    private readonly ownHeartbeat: OwnHeartbeatPort,
    private readonly giveUpBatch: GiveUpBatchUseCase,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {}

  async runOnce(): Promise<ReclaimTurn> {
    const startedAt = this.clock.monotonicMs();
    const doubted = this.doubtsItself(startedAt);
    this.lastTurnAt = startedAt;
    const turn: ReclaimTurn = { running: 0, stale: 0, requeued: 0, givenUp: 0, doubted };
    const seen = new Map<string, Seen>();
    const endsAt = startedAt + TURN_LIMIT_MS;
    const postponed = new Map<string, BatchEntity>();
    for await (const keys of this.batches.listRunning()) {
      const rows = await this.batches.findMany(keys);
      const stale = rows.filter((batch) => batch.status === 'running' && this.look(batch, seen));
      turn.running += rows.length;
      turn.stale += stale.length;
      if (doubted) continue;
      for (const batch of stale) if (this.failed.has(nameOf(batch))) postponed.set(nameOf(batch), batch);
      const fresh = stale.filter((batch) => !postponed.has(nameOf(batch)));
      await this.takeAll(fresh, turn, endsAt);
    }
    // What failed before comes last, so that what takes a whole turn and fails again hides nobody.
    const again = [...this.failed].flatMap((name) => postponed.get(name) ?? []);
    await this.takeAll(again, turn, endsAt);
    for (const name of this.failed) if (!seen.has(name)) this.failed.delete(name);
    this.seen = seen;
    if (turn.stale > 0) this.logger.warn('Stale batches found', { ...turn });
    return turn;
  }

  private doubtsItself(now: MonotonicMs): boolean {
    const isLate = this.lastTurnAt !== undefined && now - this.lastTurnAt > this.settings.reclaimIntervalMs * 2 + TURN_LIMIT_MS;
    const hasFailed = this.leases.lastWriteFailed || this.ownHeartbeat.lastWriteFailed;
    // It costs one turn. A process that lost its batches to an outage writes under no lease any more: it must not doubt for ever.
    this.leases.lastWriteFailed = false;
    return isLate || hasFailed;
  }

  /** Remembers the batch's sign of life; answers whether it has been gone for too long. */
  private look(batch: BatchEntity, seen: Map<string, Seen>): boolean {
    const key = nameOf(batch);
    const now = this.clock.monotonicMs();
    const signature = leaseSignature(batch);
    const before = this.seen.get(key);
    const since = before?.signature === signature ? before.since : now;
    seen.set(key, { signature, since });
    const ttlMs = leaseTtlMs(batch.type, this.settings.ttlMs);
    return isStale(batch, now - since, Date.parse(this.clock.nowIso()), { ttlMs, heartbeatIntervalMs: this.settings.heartbeatIntervalMs });
  }

  private async takeAll(stale: readonly BatchEntity[], turn: ReclaimTurn, endsAt: MonotonicMs): Promise<void> {
    for (let first = 0; first < stale.length && this.clock.monotonicMs() < endsAt; first += AT_ONCE)
      await Promise.all(stale.slice(first, first + AT_ONCE).map((batch) => this.takeSafely(batch, turn)));
  }

  /** One batch that cannot be reclaimed never hides the ones behind it. */
  private async takeSafely(batch: BatchEntity, turn: ReclaimTurn): Promise<void> {
    const { jobId, batchNo, lockedBy, lockToken } = batch;
    this.failed.delete(nameOf(batch));
    try {
      const outcome = await this.take(batch);
      if (outcome === 'requeued') turn.requeued++;
      if (outcome === 'given-up') turn.givenUp++;
      this.metrics.increment('batches_reclaimed_total', { type: batch.type, outcome });
      if (outcome !== 'moved')
        this.logger.warn(`Batch reclaimed: ${outcome}`, { jobId, batchNo, lockedBy, lockToken, attempts: batch.attempts });
    } catch (error) {
      this.failed.add(nameOf(batch));
      this.metrics.increment('batches_reclaimed_total', { type: batch.type, outcome: 'failed' });
      this.logger.error('A stale batch could not be reclaimed; the next turn tries again', { jobId, batchNo, error: toLoggable(error) });
    }
  }

  private async take(batch: BatchEntity): Promise<'requeued' | 'given-up' | 'moved'> {
    const decision = decideReclaim(batch, this.settings.maxAttempts);
    const ttlS = leaseTtlMs(batch.type, this.settings.ttlMs) / 1_000;
    const silentS = silentSeconds(batch, Date.parse(this.clock.nowIso()));
    const silence = `held by ${batch.lockedBy ?? 'unknown'}, silent for ${silentS} s`;
    if (decision.kind === 'give-up') {
      const lastError = `RECLAIMED_TTL: Max attempts reached; ${silence}`;
      return (await this.giveUpBatch.giveUp(batch, newId(), lastError)) ? 'given-up' : 'moved';
    }
    const reclaimId = newId();
    const lastError = `RECLAIMED_TTL: Exceeded TTL (${ttlS} s); ${silence}`;
    const taken = await this.isMine(reclaimId, batch, () =>
      this.batches.reclaim(batch, { reclaimId, attempts: decision.attempts, lastError }),
    );
    if (!taken) return 'moved';
    const { jobId, batchNo, run } = batch;
    await this.queue.send([{ jobId, batchNo, run }], Math.min(MAX_DELAY_S, DELAY_PER_ATTEMPT_S * (decision.attempts - 1)));
    return 'requeued';
  }

  /** A reclaim whose reply was lost, or whose retry met its own write, recognises itself by its id. */
  private async isMine(reclaimId: string, { jobId, batchNo }: BatchKey, write: () => Promise<BatchWrite>): Promise<boolean> {
    const written = await write().catch(() => ({ kind: 'refused' as const }));
    if (written.kind === 'written') return true;
    const row = await this.batches.find(jobId, batchNo);
    return row?.status === 'queued' && row.reclaimId === reclaimId;
  }
}

function nameOf({ jobId, batchNo }: BatchKey): string {
  return `${jobId}#${batchNo}`;
}
