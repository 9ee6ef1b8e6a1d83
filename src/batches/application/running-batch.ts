import type { AppLogger, Clock, Metrics, MonotonicMs } from '../../shared/index.js';
import { toLoggable } from '../../shared/index.js';
import type { CompleteJobUseCase, JobCounterService, JobStateRepositoryPort } from '../../export-jobs/index.js';
import { isCounting } from '../../export-jobs/index.js';
import type { BatchEntity, Lease } from '../domain/batch.entity.js';
import type { Checkpoint, CheckpointState } from '../domain/checkpoint.js';
import { localFenceAt } from '../domain/local-fence.js';
import { WorkInHand } from '../domain/work-in-hand.js';
import type { LeaseService, RenewOutcome } from './lease.service.js';
import type { TaskDispatcherService } from './task-dispatcher.service.js';
import type { WorkSigns } from './work-signs.js';

/** Why a holder stopped before its batch ended. */
export type StopReason = 'lost' | 'fenced' | 'job-over' | 'draining';

const RETRY_UNKNOWN_MS = 1_000;

export interface RunningBatchServices {
  leases: LeaseService;
  counter: JobCounterService;
  completeJob: Pick<CompleteJobUseCase, 'helpAfter'>;
  jobs: JobStateRepositoryPort;
  dispatcher: Pick<TaskDispatcherService, 'isWaiting'>;
  signs: WorkSigns;
  clock: Clock;
  logger: AppLogger;
  metrics: Metrics;
}

/**
 * A batch in hand: its lease, its checkpoint, and the heartbeat that carries the one to the other.
 *
 * Each beat writes the checkpoint under the lease, then the job's counters if they changed, else looks at the job.
 *   renewed → go on            lost → abort at once, write nothing more
 *   unknown → try again soon
 *   job over, or of another run → abort: nobody wants this work any more
 * Beats never overlap; the end and the release wait for the one in flight. The local fence (2/3 of the TTL since the start of the last
 * renewal) waits for none: a write that hangs in the network must not keep the work going until someone else has taken over.
 */
export class RunningBatch {
  readonly lease: Lease;
  /** The next checkpoint tells of it: a job that waits for a host is not taken for a hung one. */
  readonly inHand = new WorkInHand();
  private readonly abort = new AbortController();
  private readonly wake = new AbortController();
  /** Aborted when the next beat is wanted at once. */
  private hurry = new AbortController();
  /** Those who wait for the next checkpoint. */
  private readonly waitingForWrite: (() => void)[] = [];
  private seq: number;
  private renewedSince: MonotonicMs;
  private counted: { completed: number; failed: number; bytes: number };
  private activity = 0;
  private writtenActivity = 0;
  /** The last sign of work of this process that a beat has seen. */
  private workedAt: MonotonicMs | undefined;
  private stopReason: StopReason | undefined;
  private ending = false;
  private beating: Promise<unknown> | undefined;
  /** Why the last beat taught us nothing. */
  private lastCause: unknown;

  constructor(
    batch: BatchEntity,
    claimedAt: MonotonicMs,
    readonly checkpoint: Checkpoint,
    private readonly settings: { heartbeatIntervalMs: number; ttlMs: number },
    private readonly services: RunningBatchServices,
  ) {
    this.lease = { jobId: batch.jobId, batchNo: batch.batchNo, run: batch.run, lockToken: batch.lockToken };
    this.seq = batch.seq;
    this.renewedSince = claimedAt;
    this.counted = { completed: batch.completed, failed: batch.failed, bytes: batch.bytes };
    this.workedAt = services.signs.last?.at;
  }

  /** Aborted when the work must end: lease lost, job over, or drained. */
  get signal(): AbortSignal {
    return this.abort.signal;
  }

  get stoppedBecause(): StopReason | undefined {
    return this.stopReason;
  }

  /** The work moved; the next checkpoint says so. */
  noteActivity(): void {
    this.activity++;
  }

  /** The batch is out of this process's hands: nothing more is dispatched or beaten. */
  async dispose(): Promise<void> {
    this.abort.abort();
    await this.stopHeartbeat();
  }

  /** All tasks are recorded: from here a drain waits for the end, which costs less than running the last task again. */
  beginEnd(): void {
    this.ending = true;
  }

  /** `now`: the drain can wait no longer, not even for an end. */
  stop(reason: StopReason, when?: 'now'): void {
    if (this.stopReason !== undefined || (reason === 'draining' && this.ending && when !== 'now')) return;
    this.stopReason = reason;
    this.abort.abort();
  }

  startHeartbeat(): void {
    this.beating ??= Promise.all([this.beatUntilStopped(), this.stopAtFence()]);
  }

  /** Ends the beating and waits for the beat in flight. */
  async stopHeartbeat(): Promise<void> {
    this.wake.abort();
    await this.beating;
  }

  /** One checkpoint now, then the counters. */
  async flush(): Promise<RenewOutcome> {
    const state = this.checkpoint.flushable();
    const activity = this.activity;
    const inHand = this.inHand.tell(this.services.clock.monotonicMs(), this.checkpoint.bytesLeftOut);
    const progressed = this.hasWaitedForTurn() || activity !== this.writtenActivity;
    const outcome = await this.services.leases.checkpoint(this.lease, this.nextSeq(), state, progressed, inHand);
    if (outcome.kind !== 'renewed') return outcome;
    this.renewedSince = outcome.since;
    this.writtenActivity = activity;
    // Let go while this write was under way: what is counted is its next holder's business.
    if (this.stopReason !== 'lost') await this.countOrLook(state);
    return outcome;
  }

  /** Resolves when a checkpoint with all that is recorded now is written, or the work was stopped. */
  async written(): Promise<void> {
    if (this.signal.aborted) return;
    await new Promise<void>((resolve) => {
      this.waitingForWrite.push(resolve);
      this.signal.addEventListener('abort', () => resolve(), { once: true });
      this.hurry.abort();
    });
  }

  /** The number of the next write under this lease. */
  nextSeq(): number {
    return ++this.seq;
  }

  /** Whether this holder may work no more without a renewal. */
  get isPastFence(): boolean {
    return this.services.clock.monotonicMs() >= this.fenceAt;
  }

  private get fenceAt(): MonotonicMs {
    return localFenceAt(this.renewedSince, this.settings.ttlMs);
  }

  private async beatUntilStopped(): Promise<void> {
    let waitMs = this.settings.heartbeatIntervalMs;
    for (;;) {
      await this.services.clock.sleep(waitMs, AbortSignal.any([this.wake.signal, this.hurry.signal]));
      if (this.wake.signal.aborted || this.isGone) return;
      this.hurry = new AbortController();
      const waiting = this.waitingForWrite.splice(0);
      const outcome = await this.flush();
      if (this.isGone) return;
      if (outcome.kind === 'lost') {
        // A row without a holder was cancelled, ended or handed on; only a row with another one was taken.
        if (outcome.by === undefined) this.services.logger.info('Batch taken away: its job ended, or it is queued anew', this.fields());
        else this.services.logger.warn('Batch lost to another holder', { ...this.fields(), by: outcome.by });
        return this.stop('lost');
      }
      if (outcome.kind === 'renewed') for (const resolve of waiting) resolve();
      else this.waitingForWrite.unshift(...waiting);
      this.lastCause = outcome.kind === 'unknown' ? outcome.cause : undefined;
      waitMs = outcome.kind === 'unknown' ? RETRY_UNKNOWN_MS : this.settings.heartbeatIntervalMs;
    }
  }

  /** A batch whose tasks get no place while others' tasks move is no hung one: it waits for capacity that works. */
  private hasWaitedForTurn(): boolean {
    const { dispatcher, signs } = this.services;
    const before = this.workedAt;
    this.workedAt = signs.last?.at;
    return before !== this.workedAt && dispatcher.isWaiting(this.lease.jobId);
  }

  private async stopAtFence(): Promise<void> {
    for (let at = -Infinity; at < this.fenceAt;) {
      at = this.fenceAt;
      await this.services.clock.sleepUntil(at, this.wake.signal);
      if (this.wake.signal.aborted || this.isGone) return;
    }
    if (this.stopReason !== undefined) return;
    this.services.logger.warn('Batch let go: its lease could not be renewed in time', {
      ...this.fields(),
      next: 'another coordinator takes it over from its checkpoint once the lease has run out',
      ...(this.lastCause === undefined ? {} : { error: toLoggable(this.lastCause) }),
    });
    this.stop('fenced');
  }

  /** Nothing more is written under this lease. */
  private get isGone(): boolean {
    return this.stopReason === 'lost' || this.stopReason === 'fenced';
  }

  /** An error here is the next beat's business: counters may lag behind the checkpoint. */
  private async countOrLook(state: CheckpointState): Promise<void> {
    const { jobId, run } = this.lease;
    try {
      const changed =
        state.completed !== this.counted.completed || state.failed !== this.counted.failed || state.bytes !== this.counted.bytes;
      if (changed) {
        const outcome = await this.services.counter.countUp(jobId, this.lease, state, false);
        if (outcome.kind === 'stop') return this.stop('job-over');
        this.services.completeJob.helpAfter(outcome);
        this.counted = { completed: state.completed, failed: state.failed, bytes: state.bytes };
        return;
      }
      const job = await this.services.jobs.find(jobId);
      if (job === undefined || !isCounting(job.status) || job.run !== run) this.stop('job-over');
    } catch (error) {
      this.services.logger.retrying('the counters of a job', error, { ...this.fields(), next: 'the next batch heartbeat tries again' });
    }
  }

  private fields(): { jobId: string; batchNo: number } {
    return { jobId: this.lease.jobId, batchNo: this.lease.batchNo };
  }
}
