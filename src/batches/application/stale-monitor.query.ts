import { Injectable } from '@nestjs/common';
import { Clock } from '../../shared/index.js';
import { heldBatchOf, type HeldBatch, type LeaseState } from '../domain/held-batch.js';
import { leaseTtlMs } from '../domain/lease-ttl.js';
import { BatchRepositoryPort } from './batch-repository.port.js';
import { runningRows } from './running-rows.js';

export interface StaleMonitor {
  /** Of all running batches, whatever the limit. */
  counts: Record<LeaseState, number>;
  /** Those that are nearest to their TTL, or furthest beyond it, first. */
  batches: HeldBatch[];
}

/** Who holds what, and how long ago each gave a sign of life by the stored times: for people, nothing is decided by it. */
@Injectable()
export class StaleMonitorQuery {
  constructor(
    private readonly settings: { ttlMs: Readonly<Record<string, number>> },
    private readonly batches: BatchRepositoryPort,
    private readonly clock: Clock,
  ) {}

  async list(limit: number): Promise<StaleMonitor> {
    const counts = { healthy: 0, late: 0, stale: 0 };
    let batches: HeldBatch[] = [];
    for await (const rows of runningRows(this.batches)) {
      const nowMs = Date.parse(this.clock.nowIso());
      const held = rows.map((batch) => heldBatchOf(batch, nowMs, leaseTtlMs(batch.type, this.settings.ttlMs)));
      for (const { state } of held) counts[state]++;
      batches = [...batches, ...held].sort((a, b) => b.share - a.share).slice(0, limit);
    }
    return { counts, batches };
  }
}
