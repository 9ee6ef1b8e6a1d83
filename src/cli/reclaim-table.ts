import type { ReclaimRecord } from '../batches/index.js';
import { age } from './held-batches.js';
import { table } from './presentation/index.js';

/** Reclaims, one a line, as they come. `width`: of the lines, at most. */
export function reclaimTable(reclaims: readonly ReclaimRecord[], width: number): string {
  return table(
    [
      { title: 'RECLAIMED AT' },
      { title: 'JOB', shorten: 'end' },
      { title: 'BATCH', align: 'right' },
      { title: 'OUTCOME' },
      { title: 'TRY', align: 'right' },
      { title: 'HELD BY', shorten: 'start' },
      { title: 'FOR', align: 'right', wideOnly: true },
      { title: 'SILENT', align: 'right' },
      { title: 'DONE', align: 'right' },
      { title: 'FAILED', align: 'right', wideOnly: true },
      { title: 'RECLAIMED BY', wideOnly: true },
    ],
    reclaims.map((reclaim) => [
      width === Infinity ? reclaim.reclaimedAt : toTheSecond(reclaim.reclaimedAt),
      reclaim.jobId,
      String(reclaim.batchNo),
      reclaim.outcome,
      String(reclaim.attempt),
      reclaim.heldBy ?? '?',
      age(reclaim.lockAgeS),
      age(reclaim.heartbeatAgeS),
      String(reclaim.completed),
      String(reclaim.failed),
      reclaim.reclaimedBy,
    ]),
    width,
  );
}

/** `11-29 01:04:05`, UTC; the year is the reader's. */
function toTheSecond(iso: string): string {
  return iso.slice(5, 19).replace('T', ' ');
}
