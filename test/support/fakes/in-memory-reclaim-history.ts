import { ReclaimHistoryPort } from '../../../src/batches/application/reclaim-history.port.js';
import type { ReclaimRecord } from '../../../src/batches/domain/reclaim-record.js';
import { Gate } from './gate.js';

/** The conformance suite keeps it honest. */
export class InMemoryReclaimHistory extends ReclaimHistoryPort {
  private readonly rows = new Map<string, ReclaimRecord>();

  constructor(readonly gate: Gate = new Gate()) {
    super();
  }

  /** As they came. */
  get records(): ReclaimRecord[] {
    return [...this.rows.values()];
  }

  record(reclaim: ReclaimRecord): Promise<void> {
    const { jobId, batchNo, attempt, lockToken } = reclaim;
    const key = `${jobId}/${batchNo}#${attempt}#${lockToken}`;
    return this.gate.pass('recordReclaim', () => {
      if (!this.rows.has(key)) this.rows.set(key, reclaim);
    });
  }

  ofJob(jobId: string, limit: number): Promise<ReclaimRecord[]> {
    return this.gate.pass('reclaimsOfJob', () => newestFirst(this.records.filter((row) => row.jobId === jobId)).slice(0, limit));
  }

  recent(limit: number): Promise<ReclaimRecord[]> {
    return this.gate.pass('recentReclaims', () => newestFirst(this.records).slice(0, limit));
  }
}

function newestFirst(records: readonly ReclaimRecord[]): ReclaimRecord[] {
  return records.toSorted((a, b) => Date.parse(b.reclaimedAt) - Date.parse(a.reclaimedAt));
}
