import { Injectable } from '@nestjs/common';
import { decideCount } from '../domain/counting.js';
import type { BatchCount, ExportJobEntity } from '../domain/export-job.entity.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';

export type CountOutcome =
  /** The row records at least this for the batch. */
  { kind: 'counted'; job: ExportJobEntity } | { kind: 'stop'; reason: 'job-not-counting' | 'other-run' | 'job-missing' };

/** Brings the counters of a job up to what a batch's row already holds: read, decide, write, and on refusal once more. */
@Injectable()
export class JobCounterService {
  constructor(private readonly jobs: JobStateRepositoryPort) {}

  /** @throws when the table cannot be asked; calling again with the same numbers is safe. */
  async countUp(jobId: string, batch: { batchNo: number; run: number }, next: BatchCount, ended: boolean): Promise<CountOutcome> {
    for (;;) {
      const job = await this.jobs.find(jobId);
      if (job === undefined) return { kind: 'stop', reason: 'job-missing' };
      const decision = decideCount(job, batch, next, ended);
      switch (decision.kind) {
        case 'stop':
          return decision;
        case 'already-counted':
          return { kind: 'counted', job };
        case 'count': {
          const written = await this.jobs.count({ jobId, ...batch, next, ended, old: decision.old, delta: decision.delta });
          if (written.kind === 'written') return { kind: 'counted', job: written.job };
        }
      }
    }
  }
}
