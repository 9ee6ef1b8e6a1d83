import {
  BatchRepositoryPort,
  type BatchKey,
  type BatchWrite,
  type MovableBatch,
  type NewBatch,
  type Reclaim,
} from '../../../src/batches/application/batch-repository.port.js';
import { isFinal, type BatchEntity, type Lease, type ResultFile } from '../../../src/batches/domain/batch.entity.js';
import { Checkpoint, type CheckpointState } from '../../../src/batches/domain/checkpoint.js';
import type { InHand } from '../../../src/batches/domain/work-in-hand.js';
import { isWhollyDone } from '../../../src/export-jobs/domain/reopening.js';
import type { Clock } from '../../../src/shared/index.js';
import { FakeClock } from '../fake-clock.js';
import { Gate } from './gate.js';

/** Rows in a map, with the same conditions as the table's. The conformance suite keeps it honest. */
export class InMemoryBatchRepository extends BatchRepositoryPort {
  readonly rows = new Map<string, BatchEntity>();
  /** Of `listRunning`. */
  pageSize = 100;

  constructor(
    readonly gate: Gate = new Gate(),
    private readonly clock: Clock = new FakeClock(),
  ) {
    super();
  }

  put(...batches: BatchEntity[]): this {
    for (const batch of batches) this.rows.set(rowKey(batch), batch);
    return this;
  }

  /** @throws when there is no such row: for tests that put it there */
  get(batchNo: number, jobId = 'job-1'): BatchEntity {
    const batch = this.rows.get(rowKey({ jobId, batchNo }));
    if (batch === undefined) throw new Error(`no batch ${jobId}#${batchNo}`);
    return batch;
  }

  createIfAbsent(batch: NewBatch): Promise<'created' | 'exists'> {
    return this.gate.pass('createBatch', () => {
      if (this.rows.has(rowKey(batch))) return 'exists';
      const enqueuedAt = this.clock.nowIso();
      this.put({ ...batch, ...Checkpoint.empty(batch.totalTasks), status: 'queued', seq: 0, lockToken: 0, attempts: 0, enqueuedAt });
      return 'created';
    });
  }

  find(jobId: string, batchNo: number): Promise<BatchEntity | undefined> {
    return this.gate.pass('findBatch', () => this.rows.get(rowKey({ jobId, batchNo })));
  }

  list(jobId: string): Promise<BatchEntity[]> {
    return this.gate.pass('listBatches', () =>
      [...this.rows.values()].filter((row) => row.jobId === jobId).sort((a, b) => a.batchNo - b.batchNo),
    );
  }

  claim(batch: BatchKey & { run: number }, claim: { claimId: string; lockedBy: string }): Promise<BatchWrite> {
    return this.#write('claim', batch, (row) => {
      if (row.status !== 'queued' || row.run !== batch.run) return undefined;
      const now = this.clock.nowIso();
      const at = { lockedAt: now, heartbeatAt: now, progressedAt: now };
      return { ...row, ...claim, ...at, status: 'running', lockToken: row.lockToken + 1, seq: 0 };
    });
  }

  checkpoint(lease: Lease, seq: number, state: CheckpointState, progressed: boolean, inHand: InHand): Promise<BatchWrite> {
    return this.#write('checkpoint', lease, (row) => {
      if (!holds(row, lease) || row.seq >= seq) return undefined;
      const now = this.clock.nowIso();
      const { pausedHost: _former, ...rest } = row;
      return { ...rest, ...state, ...inHand, seq, heartbeatAt: now, ...(progressed ? { progressedAt: now } : {}) };
    });
  }

  end(lease: Lease, seq: number, state: CheckpointState, resultKeys: { succeeded: ResultFile; failed: ResultFile }): Promise<BatchWrite> {
    return this.#write('endBatch', lease, (row) => {
      if (!holds(row, lease) || row.seq >= seq) return undefined;
      const now = this.clock.nowIso();
      return { ...withoutHolder(row), ...state, seq, heartbeatAt: now, progressedAt: now, status: 'succeeded', resultKeys };
    });
  }

  release(lease: Lease): Promise<BatchWrite> {
    return this.#write('release', lease, (row) =>
      holds(row, lease) ? { ...withoutHolder(row), status: 'queued', enqueuedAt: this.clock.nowIso() } : undefined,
    );
  }

  cancel(batch: BatchKey, run: number): Promise<BatchWrite> {
    return this.#write('cancelBatch', batch, (row) =>
      row.run <= run && !isFinal(row.status) ? { ...withoutHolder(row), status: 'cancelled' } : undefined,
    );
  }

  markSent(observed: BatchKey & { run: number; enqueuedAt: string }, enqueuedAt: string): Promise<BatchWrite> {
    return this.#write('markSent', observed, (row) =>
      row.status === 'queued' && row.run === observed.run && row.enqueuedAt === observed.enqueuedAt ? { ...row, enqueuedAt } : undefined,
    );
  }

  move(observed: MovableBatch, run: number): Promise<BatchWrite> {
    return this.#write('move', observed, (row) => {
      const fields = ['status', 'run', 'lockToken', 'seq', 'completed'] as const;
      if (!fields.every((field) => row[field] === observed[field])) return undefined;
      if (isWhollyDone(observed)) return { ...row, run };
      const { resultKeys: _keys, lastError: _error, trialSize: _trial, ...rest } = withoutHolder(row);
      return {
        ...rest,
        run,
        status: 'queued',
        failures: new Map(),
        failed: 0,
        attempts: 0,
        lockToken: row.lockToken + 1,
        reclaimMark: observed.completed,
        enqueuedAt: this.clock.nowIso(),
      };
    });
  }

  async *listRunning(): AsyncIterable<BatchKey[]> {
    const keys = await this.gate.pass('listRunning', () => [...this.rows.values()].filter((row) => row.status === 'running').map(keyOf));
    for (let first = 0; first < keys.length; first += this.pageSize) yield keys.slice(first, first + this.pageSize);
  }

  findMany(keys: readonly BatchKey[]): Promise<BatchEntity[]> {
    return this.gate.pass('findBatches', () => keys.flatMap((key) => this.rows.get(rowKey(key)) ?? []));
  }

  reclaim(observed: BatchEntity, reclaim: Reclaim): Promise<BatchWrite> {
    return this.#write('reclaim', observed, (row) => {
      if (!isAsObserved(row, observed)) return undefined;
      const failed = reclaim.failures?.size ?? observed.failed;
      const reclaimMark = observed.completed + failed;
      return { ...withoutHolder(row), ...reclaim, failed, reclaimMark, status: 'queued', enqueuedAt: this.clock.nowIso() };
    });
  }

  giveUp(
    observed: BatchEntity,
    end: { reclaimId: string; state: CheckpointState; resultKeys: { succeeded: ResultFile; failed: ResultFile }; lastError: string },
  ): Promise<BatchWrite> {
    return this.#write('giveUp', observed, (row) => {
      if (!isAsObserved(row, observed)) return undefined;
      const { state, ...rest } = end;
      return { ...withoutHolder(row), ...rest, failures: state.failures, failed: state.failed, status: 'dead' };
    });
  }

  #write(name: string, key: BatchKey, change: (row: BatchEntity) => BatchEntity | undefined): Promise<BatchWrite> {
    return this.gate.pass(name, () => {
      const row = this.rows.get(rowKey(key));
      const changed = row === undefined ? undefined : change(row);
      if (changed === undefined) return { kind: 'refused' };
      this.put(changed);
      return { kind: 'written', batch: changed };
    });
  }
}

function rowKey({ jobId, batchNo }: BatchKey): string {
  return `${jobId}#${batchNo}`;
}

function keyOf({ jobId, batchNo }: BatchKey): BatchKey {
  return { jobId, batchNo };
}

function isAsObserved(row: BatchEntity, observed: BatchEntity): boolean {
  const fields = ['run', 'lockToken', 'attempts', 'lockedAt', 'heartbeatAt'] as const;
  return row.status === 'running' && fields.every((field) => row[field] === observed[field]);
}

function holds(row: BatchEntity, lease: Lease): boolean {
  return row.status === 'running' && row.run === lease.run && row.lockToken === lease.lockToken;
}

/** `heartbeatAt` stays as evidence, `lockToken` for ever. */
function withoutHolder({ lockedBy: _by, claimId: _claim, lockedAt: _at, ...row }: BatchEntity): BatchEntity {
  const { bytesInHand: _bytes, pausedMs: _ms, pausedHost: _host, ...rest } = row;
  return rest;
}
