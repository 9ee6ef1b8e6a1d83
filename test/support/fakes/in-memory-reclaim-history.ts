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

  async record(reclaim: ReclaimRecord, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { jobId, batchNo, attempt, lockToken } = reclaim;
    const key = `${jobId}/${batchNo}#${attempt}#${lockToken}`;
    const write = this.gate.pass('recordReclaim', () => {
      if (!this.rows.has(key)) this.rows.set(key, reclaim);
    });
    await (signal === undefined ? write : Promise.race([write, aborted(signal)]));
  }

  ofJob(jobId: string, limit: number): Promise<ReclaimRecord[]> {
    return this.gate.pass('reclaimsOfJob', () => newestFirst(this.records.filter((row) => row.jobId === jobId)).slice(0, limit));
  }

  recent(limit: number): Promise<ReclaimRecord[]> {
    return this.gate.pass('recentReclaims', () => newestFirst(this.records).slice(0, limit));
  }
}

/** As with the SDK, a call ends with its signal, and what it has sent is on its way. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('Request aborted')), { once: true });
  });
}

function newestFirst(records: readonly ReclaimRecord[]): ReclaimRecord[] {
  return records.toSorted((a, b) => Date.parse(b.reclaimedAt) - Date.parse(a.reclaimedAt));
}
