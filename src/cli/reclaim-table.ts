import type { ReclaimRecord } from '../batches/index.js';
import { age } from './held-batches.js';
import { table } from './presentation/index.js';

/** Reclaims, one a line, as they come. */
export function reclaimTable(reclaims: readonly ReclaimRecord[]): string {
  return table(
    [
      { title: 'RECLAIMED AT' },
      { title: 'JOB' },
      { title: 'BATCH', align: 'right' },
      { title: 'OUTCOME' },
      { title: 'ATTEMPT', align: 'right' },
      { title: 'HELD BY' },
      { title: 'FOR', align: 'right' },
      { title: 'SILENT', align: 'right' },
      { title: 'DONE', align: 'right' },
      { title: 'FAILED', align: 'right' },
      { title: 'RECLAIMED BY' },
    ],
    reclaims.map((reclaim) => [
      reclaim.reclaimedAt,
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
  );
}
