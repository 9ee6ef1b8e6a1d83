import {
  type ActiveJobs,
  JobStateRepositoryPort,
  type Answered,
  type ConditionalWrite,
  type CountWrite,
  type JobFilter,
  type NewJob,
  type Reopening,
} from '../../../src/export-jobs/application/job-state-repository.port.js';
import { encodeBatchCount } from '../../../src/export-jobs/domain/counting.js';
import type {
  ActiveStatus,
  ExpansionPlan,
  ExportJobEntity,
  Finisher,
  JobOutcome,
} from '../../../src/export-jobs/domain/export-job.entity.js';
import { isCounting, isTerminal } from '../../../src/export-jobs/domain/export-job.entity.js';
import type { Clock } from '../../../src/shared/index.js';
import { FakeClock } from '../fake-clock.js';
import { Gate } from './gate.js';

const PAGE = 100;

/** Rows in a map, with the same conditions as the table's. The conformance suite keeps it honest. */
export class InMemoryJobStateRepository extends JobStateRepositoryPort {
  readonly rows = new Map<string, ExportJobEntity>();

  constructor(
    readonly gate: Gate = new Gate(),
    private readonly clock: Clock = new FakeClock(),
  ) {
    super();
  }

  put(...jobs: ExportJobEntity[]): this {
    for (const job of jobs) this.rows.set(job.jobId, job);
    return this;
  }

  /** @throws when there is no such row: for tests that put it there */
  get(jobId: string): ExportJobEntity {
    const job = this.rows.get(jobId);
    if (job === undefined) throw new Error(`no job ${jobId}`);
    return job;
  }

  createIfAbsent(job: NewJob): Promise<{ kind: 'created' | 'exists'; job: ExportJobEntity }> {
    return this.gate.pass('createIfAbsent', () => {
      const existing = this.rows.get(job.jobId);
      if (existing !== undefined) return { kind: 'exists', job: existing };
      const created: ExportJobEntity = {
        ...job,
        status: 'PROCESSING',
        run: 1,
        attempt: job.taskToken === undefined ? 0 : 1,
        completedTasks: 0,
        failedTasks: 0,
        bytesProcessed: 0,
        sentBatches: 0,
        batchProgress: new Map(),
        endedBatches: new Set(),
        updatedAt: job.createdAt,
        lastProgressAt: job.createdAt,
      };
      this.rows.set(job.jobId, created);
      return { kind: 'created', job: created };
    });
  }

  find(jobId: string): Promise<ExportJobEntity | undefined> {
    return this.gate.pass('find', () => this.rows.get(jobId));
  }

  findMany(jobIds: readonly string[]): Promise<ExportJobEntity[]> {
    return this.gate.pass('findMany', () => [...new Set(jobIds)].flatMap((jobId) => this.rows.get(jobId) ?? []));
  }

  async *listActive(statuses: readonly ActiveStatus[]): AsyncIterable<ActiveJobs> {
    const jobs = await this.gate.pass('listActive', () => this.#active(statuses));
    for (const status of statuses) {
      const ids = jobs.filter((job) => job.status === status).map((job) => job.jobId);
      for (let first = 0; first < ids.length; first += PAGE) yield { status, jobIds: ids.slice(first, first + PAGE) };
    }
  }

  recordPlan(jobId: string, run: number, plan: ExpansionPlan): Promise<ConditionalWrite> {
    return this.#write('recordPlan', jobId, (job) =>
      job.plan === undefined && job.status === 'PROCESSING' && job.run === run
        ? { ...job, plan, sentBatches: 0, lastProgressAt: this.#now }
        : undefined,
    );
  }

  touchProgress(jobId: string, run: number): Promise<ConditionalWrite> {
    return this.#write('touchProgress', jobId, (job) =>
      job.status === 'PROCESSING' && job.run === run ? { ...job, lastProgressAt: this.#now } : undefined,
    );
  }

  startDownloading(jobId: string, run: number, sentBatches: number): Promise<ConditionalWrite> {
    return this.#write('startDownloading', jobId, (job) =>
      job.status === 'PROCESSING' && job.run === run
        ? { ...job, status: 'DOWNLOADING', sentBatches, lastProgressAt: this.#now }
        : undefined,
    );
  }

  recordSent(observed: ExportJobEntity, sentBatches: number): Promise<ConditionalWrite> {
    return this.#write('recordSent', observed.jobId, (job) =>
      job.status === 'DOWNLOADING' && job.run === observed.run && job.sentBatches === observed.sentBatches
        ? { ...job, sentBatches }
        : undefined,
    );
  }

  count(write: CountWrite): Promise<ConditionalWrite> {
    return this.#write('count', write.jobId, (job) => {
      const recorded = job.batchProgress.get(write.batchNo);
      const asObserved = text(recorded) === text(write.old);
      if (!isCounting(job.status) || job.run !== write.run || job.endedBatches.has(write.batchNo) || !asObserved) return undefined;
      const batchProgress = new Map(job.batchProgress);
      if (write.ended) batchProgress.delete(write.batchNo);
      else batchProgress.set(write.batchNo, { completed: write.next.completed, failed: write.next.failed, bytes: write.next.bytes });
      return {
        ...job,
        batchProgress,
        endedBatches: write.ended ? new Set([...job.endedBatches, write.batchNo]) : job.endedBatches,
        completedTasks: job.completedTasks + write.delta.completed,
        failedTasks: job.failedTasks + write.delta.failed,
        bytesProcessed: job.bytesProcessed + write.delta.bytes,
        lastProgressAt: this.#now,
      };
    });
  }

  replaceToken(observed: ExportJobEntity, taskToken: string): Promise<ConditionalWrite> {
    return this.#write('replaceToken', observed.jobId, ({ lastHeartbeatAt: _forgotten, ...job }) =>
      isCounting(job.status) && job.status === observed.status && job.run === observed.run && job.taskToken === observed.taskToken
        ? { ...job, taskToken, attempt: observed.attempt + 1 }
        : undefined,
    );
  }

  recordHeartbeat(jobId: string, taskToken: string, at: string): Promise<ConditionalWrite> {
    return this.#write('recordHeartbeat', jobId, (job) => (job.taskToken === taskToken ? { ...job, lastHeartbeatAt: at } : undefined));
  }

  beginFinalizing(observed: ExportJobEntity, outcome: JobOutcome): Promise<ConditionalWrite> {
    return this.#write('beginFinalizing', observed.jobId, (job) => {
      const fields = ['status', 'run', 'completedTasks', 'failedTasks', 'lastProgressAt'] as const;
      const asObserved = fields.every((field) => job[field] === observed[field]);
      return isCounting(job.status) && asObserved
        ? { ...job, status: 'FINALIZING', outcome, finisher: { id: outcome.decidedBy, seq: 0 } }
        : undefined;
    });
  }

  takeOverFinish(observed: ExportJobEntity, finisherId: string): Promise<ConditionalWrite> {
    return this.#write('takeOverFinish', observed.jobId, (job) => {
      const asObserved = job.finisher?.id === observed.finisher?.id && job.finisher?.seq === observed.finisher?.seq;
      return job.status === 'FINALIZING' && job.run === observed.run && asObserved
        ? { ...job, finisher: { id: finisherId, seq: 0 } }
        : undefined;
    });
  }

  renewFinish(jobId: string, run: number, finisher: Finisher): Promise<ConditionalWrite> {
    return this.#write('renewFinish', jobId, (job) =>
      job.status === 'FINALIZING' && job.run === run && job.finisher?.id === finisher.id && job.finisher.seq <= finisher.seq
        ? { ...job, finisher }
        : undefined,
    );
  }

  end(jobId: string, run: number, outcome: JobOutcome, answered: Answered): Promise<ConditionalWrite> {
    return this.#write('end', jobId, ({ taskToken: _token, finisher: _finisher, ...job }) => {
      if (job.status !== 'FINALIZING' || job.run !== run) return undefined;
      const error = outcome.error === undefined ? {} : { error: outcome.error };
      return { ...job, ...answered, ...error, status: outcome.status, completedAt: outcome.decidedAt };
    });
  }

  recordAnswer(jobId: string, run: number, callback: 'success' | 'failure'): Promise<ConditionalWrite> {
    return this.#write('recordAnswer', jobId, (job) =>
      job.run === run && (job.callback === 'gone' || job.callback === 'unknown') ? { ...job, callback } : undefined,
    );
  }

  claimUncounted(jobId: string, run: number): Promise<ConditionalWrite> {
    return this.#write('claimUncounted', jobId, ({ uncounted, ...job }) => (uncounted === true && job.run === run ? job : undefined));
  }

  cancelDead(jobId: string, run: number, taskToken: string): Promise<ConditionalWrite> {
    return this.#write('cancelDead', jobId, ({ taskToken: carried, ...job }) => {
      if (!isCounting(job.status) || job.run !== run || carried !== taskToken) return undefined;
      const error = { code: 'ExportCancelled' as const, message: 'The execution is gone.' };
      return { ...job, status: 'CANCELLED', completedAt: this.#now, callback: 'gone', error };
    });
  }

  reopen(observed: ExportJobEntity, reopening: Reopening): Promise<ConditionalWrite> {
    return this.#write('reopen', observed.jobId, (job) => {
      if (!isTerminal(job.status) || job.status !== observed.status || job.run !== observed.run) return undefined;
      const {
        completedAt: _at,
        outcome: _outcome,
        finisher: _finisher,
        resultKey: _key,
        resultsNotWritten: _notWritten,
        callback: _callback,
        uncounted: _uncounted,
        error: _error,
        lastHeartbeatAt: _beat,
        ...rest
      } = job;
      const { taskToken, completed, bytes, endedBatches, batchProgress } = reopening;
      return {
        ...rest,
        status: 'PROCESSING',
        run: observed.run + 1,
        completedTasks: completed,
        failedTasks: 0,
        bytesProcessed: bytes,
        endedBatches,
        batchProgress,
        sentBatches: 0,
        lastProgressAt: this.#now,
        reopened: { at: this.#now, completed, bytes },
        ...(taskToken === undefined ? {} : { taskToken, attempt: observed.attempt + 1 }),
      };
    });
  }

  list(statuses: readonly ActiveStatus[], limit: number): Promise<ExportJobEntity[]> {
    const newestFirst = (a: ExportJobEntity, b: ExportJobEntity) => (a.createdAt < b.createdAt ? 1 : -1);
    return Promise.resolve(this.#active(statuses).sort(newestFirst).slice(0, limit));
  }

  async *scan({ statuses, createdSince = '', idPrefix = '' }: JobFilter): AsyncIterable<ExportJobEntity[]> {
    yield [...this.rows.values()].filter(
      (job) => statuses?.includes(job.status) !== false && job.createdAt >= createdSince && job.jobId.startsWith(idPrefix),
    );
  }

  get #now(): string {
    return this.clock.nowIso();
  }

  #active(statuses: readonly ActiveStatus[]): ExportJobEntity[] {
    return [...this.rows.values()].filter((job) => !isTerminal(job.status) && statuses.includes(job.status));
  }

  #write(name: string, jobId: string, change: (job: ExportJobEntity) => ExportJobEntity | undefined): Promise<ConditionalWrite> {
    return this.gate.pass(name, () => {
      const job = this.rows.get(jobId);
      const changed = job === undefined ? undefined : change(job);
      if (changed === undefined) return { kind: 'refused' };
      const written = name === 'recordHeartbeat' ? changed : { ...changed, updatedAt: this.#now };
      this.rows.set(jobId, written);
      return { kind: 'written', job: written };
    });
  }
}

function text(count: CountWrite['old']): string | undefined {
  return count === undefined ? undefined : encodeBatchCount(count);
}
