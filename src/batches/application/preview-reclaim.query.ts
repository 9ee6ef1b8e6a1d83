import { Injectable } from '@nestjs/common';
import { Clock } from '../../shared/index.js';
import { decideReclaim, type ReclaimDecision } from '../domain/decide-reclaim.js';
import { heldBatchOf, type HeldBatch } from '../domain/held-batch.js';
import { leaseTtlMs } from '../domain/lease-ttl.js';
import { storedSilenceMs, watchMs } from '../domain/stale-batch.js';
import { BatchRepositoryPort } from './batch-repository.port.js';
import { runningRows } from './running-rows.js';

export interface ReclaimPreview {
  /** How long the holders must stay silent from now on for this to come true. */
  watchMs: number;
  batches: (HeldBatch & { would: ReclaimDecision })[];
}

/**
 * What a reclaimer that begins to watch now would take, if nobody gives a sign of life while it watches: those that will be older
 * than their TTL by then. Not what is stale: stored times alone never condemn.
 */
@Injectable()
export class PreviewReclaimQuery {
  constructor(
    private readonly settings: { heartbeatIntervalMs: number; ttlMs: Readonly<Record<string, number>>; maxAttempts: number },
    private readonly batches: BatchRepositoryPort,
    private readonly clock: Clock,
  ) {}

  /** Longest silent, measured by its TTL, first. */
  async list(): Promise<ReclaimPreview> {
    const watch = watchMs(this.settings.heartbeatIntervalMs);
    const preview: ReclaimPreview = { watchMs: watch, batches: [] };
    for await (const rows of runningRows(this.batches)) {
      const nowMs = Date.parse(this.clock.nowIso());
      for (const batch of rows) {
        const ttlMs = leaseTtlMs(batch.type, this.settings.ttlMs);
        if (storedSilenceMs(batch, nowMs) + watch <= ttlMs) continue;
        preview.batches.push({ ...heldBatchOf(batch, nowMs, ttlMs), would: decideReclaim(batch, this.settings.maxAttempts) });
      }
    }
    preview.batches.sort((a, b) => b.share - a.share);
    return preview;
  }
}
