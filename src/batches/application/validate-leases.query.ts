import { Injectable } from '@nestjs/common';
import { Clock } from '../../shared/index.js';
import type { BatchEntity } from '../domain/batch.entity.js';
import { heldBatchOf, type HeldBatch } from '../domain/held-batch.js';
import { leaseTtlMs } from '../domain/lease-ttl.js';
import { isLongSilent, leaseSignature, watchMs } from '../domain/stale-batch.js';
import { BatchRepositoryPort, nameOfBatch } from './batch-repository.port.js';
import { runningRows } from './running-rows.js';

/**
 * What must not be: batches whose holder has been silent for longer than their TTL and a minute. Someone should have reclaimed them.
 *
 * Stored times find the suspects; only those that give no sign of life for four heartbeat intervals of this process's own clock are listed,
 * because a holder whose clock is slow looks silent while it beats.
 * Not guaranteed: a dead holder whose clock was fast is found that much later.
 */
@Injectable()
export class ValidateLeasesQuery {
  constructor(
    private readonly settings: { ttlMs: Readonly<Record<string, number>>; heartbeatIntervalMs: number },
    private readonly batches: BatchRepositoryPort,
    private readonly clock: Clock,
  ) {}

  /** Longest silent, measured by its TTL, first. */
  async list(): Promise<HeldBatch[]> {
    const suspects: BatchEntity[] = [];
    for await (const rows of runningRows(this.batches)) {
      const nowMs = this.nowMs();
      suspects.push(...rows.filter((batch) => isLongSilent(batch, nowMs, this.ttlMs(batch))));
    }
    if (suspects.length === 0) return [];
    await this.clock.sleep(watchMs(this.settings.heartbeatIntervalMs));
    const overdue = await this.stillSilent(suspects);
    const nowMs = this.nowMs();
    return overdue.map((batch) => heldBatchOf(batch, nowMs, this.ttlMs(batch))).sort((a, b) => b.share - a.share);
  }

  private async stillSilent(suspects: readonly BatchEntity[]): Promise<BatchEntity[]> {
    const signatures = new Map(suspects.map((batch) => [nameOfBatch(batch), leaseSignature(batch)]));
    const rows = await this.batches.findMany(suspects);
    return rows.filter((batch) => batch.status === 'running' && signatures.get(nameOfBatch(batch)) === leaseSignature(batch));
  }

  private ttlMs({ type }: BatchEntity): number {
    return leaseTtlMs(type, this.settings.ttlMs);
  }

  private nowMs(): number {
    return Date.parse(this.clock.nowIso());
  }
}
