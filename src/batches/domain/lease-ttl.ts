import type { BatchType } from './batch.entity.js';

/** Of a type that has no TTL of its own. */
const DEFAULT_TTL_MS = 300_000;

/** How long a holder of such a batch may be silent, in milliseconds; its own fence and its reclaimers go by the same figure. */
export function leaseTtlMs(type: BatchType, ttlMs: Readonly<Record<string, number>>): number {
  return ttlMs[type] ?? DEFAULT_TTL_MS;
}
