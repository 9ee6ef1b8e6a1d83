import { Injectable } from '@nestjs/common';
import { Clock, type MonotonicMs } from '../../shared/index.js';
import type { BatchEntity, Lease, ResultFile } from '../domain/batch.entity.js';
import type { CheckpointState } from '../domain/checkpoint.js';
import type { InHand } from '../domain/work-in-hand.js';
import { BatchRepositoryPort } from './batch-repository.port.js';

/** What a write under a lease taught us. `unknown` is not `lost`: keep working until the local fence. */
export type RenewOutcome =
  | { kind: 'renewed'; since: MonotonicMs; batch: BatchEntity }
  | { kind: 'lost'; by: string | undefined }
  | { kind: 'unknown'; cause: unknown };

/**
 * Writes under a lease. A refused write is lost only once a reading shows that the row is no longer ours: the SDK may have
 * retried a write whose reply was lost and met its own work.
 */
@Injectable()
export class LeaseService {
  /** Whether the last write under a lease did not get through: this process may be the one that is cut off. */
  lastWriteFailed = false;

  constructor(
    private readonly batches: BatchRepositoryPort,
    private readonly clock: Clock,
  ) {}

  checkpoint(lease: Lease, seq: number, state: CheckpointState, progressed: boolean, inHand: InHand): Promise<RenewOutcome> {
    return this.write(
      () => this.batches.checkpoint(lease, seq, state, progressed, inHand),
      (row) => row.status === 'running' && row.run === lease.run && row.lockToken === lease.lockToken && row.seq >= seq,
      lease,
    );
  }

  end(lease: Lease, seq: number, state: CheckpointState, resultKeys: { succeeded: ResultFile; failed: ResultFile }): Promise<RenewOutcome> {
    return this.write(
      () => this.batches.end(lease, seq, state, resultKeys),
      (row) => row.status === 'succeeded' && row.run === lease.run && row.lockToken === lease.lockToken,
      lease,
    );
  }

  /** Back to the queue; the row keeps the lockToken, so a released batch that nobody has claimed since is recognised. */
  release(lease: Lease): Promise<RenewOutcome> {
    return this.write(
      () => this.batches.release(lease),
      (row) => row.status === 'queued' && row.run === lease.run && row.lockToken === lease.lockToken,
      lease,
    );
  }

  private async write(
    attempt: () => ReturnType<BatchRepositoryPort['checkpoint']>,
    isMine: (row: BatchEntity) => boolean,
    lease: Lease,
  ): Promise<RenewOutcome> {
    const since = this.clock.monotonicMs();
    try {
      const written = await attempt();
      this.lastWriteFailed = false;
      if (written.kind === 'written') return { kind: 'renewed', since, batch: written.batch };
      const row = await this.batches.find(lease.jobId, lease.batchNo);
      if (row !== undefined && isMine(row)) return { kind: 'renewed', since, batch: row };
      return { kind: 'lost', by: row?.lockedBy };
    } catch (cause) {
      this.lastWriteFailed = true;
      return { kind: 'unknown', cause };
    }
  }
}
