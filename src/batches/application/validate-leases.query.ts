import { Injectable } from '@nestjs/common';
import { Clock } from '../../shared/index.js';
import { heldBatchOf, type HeldBatch } from '../domain/held-batch.js';
import { leaseTtlMs } from '../domain/lease-ttl.js';
import { isOverdue } from '../domain/stale-batch.js';
import { BatchRepositoryPort } from './batch-repository.port.js';
import { runningRows } from './running-rows.js';

/** What must not be: batches that run for more than twice their TTL without a heartbeat. Someone should have reclaimed them. */
@Injectable()
export class ValidateLeasesQuery {
  constructor(
    private readonly settings: { ttlMs: Readonly<Record<string, number>> },
    private readonly batches: BatchRepositoryPort,
    private readonly clock: Clock,
  ) {}

  /** Longest silent, measured by its TTL, first. */
  async list(): Promise<HeldBatch[]> {
    const overdue: HeldBatch[] = [];
    for await (const rows of runningRows(this.batches)) {
      const nowMs = Date.parse(this.clock.nowIso());
      for (const batch of rows) {
        const ttlMs = leaseTtlMs(batch.type, this.settings.ttlMs);
        if (isOverdue(batch, nowMs, ttlMs)) overdue.push(heldBatchOf(batch, nowMs, ttlMs));
      }
    }
    return overdue.sort((a, b) => b.share - a.share);
  }
}
