import { Injectable } from '@nestjs/common';
import {
  CompleteJobUseCase,
  CountBatchEndUseCase,
  DESTINATION_REFUSED,
  destinationRefused,
  type ExportJobEntity,
  MAX_REFUSALS,
} from '../../export-jobs/index.js';
import { AppError, AppLogger, Clock, isRefusedByStore, isRejected, retryUntil, toLoggable, type MonotonicMs } from '../../shared/index.js';
import type { BatchEntity, Lease } from '../domain/batch.entity.js';
import { Checkpoint } from '../domain/checkpoint.js';
import { leaseTtlMs } from '../domain/lease-ttl.js';
import { BatchFilesPort, type Segment } from './batch-files.port.js';
import { BatchTasks } from './batch-tasks.js';
import type { BatchMessage } from './batch-queue.port.js';
import { ClaimBatchUseCase } from './claim-batch.use-case.js';
import { ReleaseBatchUseCase } from './release-batch.use-case.js';
import { RunningBatch, type RunningBatchServices, type StopReason } from './running-batch.js';
import { endJobOfBatch } from './end-job-of-batch.js';
import { TaskDispatcherService } from './task-dispatcher.service.js';

export interface BatchSettings {
  coordinatorId: string;
  heartbeatIntervalMs: number;
  ttlMs: Readonly<Record<string, number>>;
}

export interface RunBatchServices extends RunningBatchServices {
  countBatchEnd: CountBatchEndUseCase;
}

const BACKOFF = { baseMs: 200, capMs: 5_000 };

export type RunOutcome = 'ended' | 'dropped' | StopReason;

/*
 * message ─▶ claim ─▶ message deleted ─▶ counters brought up ─▶ segment ─▶ tasks ⇄ batch heartbeat
 *                                                                   ├─ all recorded ─▶ results ─▶ row succeeded ─▶ last count ─▶ next batches, or job done
 *                                                                   ├─ drain ────────▶ last checkpoint ─▶ row queued ─▶ message
 *                                                                   └─ lost, fenced, job over ─▶ nothing more is written
 * Crash at any arrow: the row says what is done; the lease runs out and the batch is reclaimed from its checkpoint.
 */
@Injectable()
export class RunBatchUseCase {
  private readonly inHand = new Map<RunningBatch, Promise<RunOutcome>>();
  private draining = false;
  /** Aborted when a drain can wait no longer. */
  private readonly outOfTime = new AbortController();

  constructor(
    private readonly settings: BatchSettings,
    private readonly claims: ClaimBatchUseCase,
    private readonly files: BatchFilesPort,
    private readonly dispatcher: TaskDispatcherService,
    private readonly releases: ReleaseBatchUseCase,
    private readonly completeJob: CompleteJobUseCase,
    private readonly services: RunBatchServices,
  ) {}

  /** Batches in hand. */
  get held(): number {
    return this.inHand.size;
  }

  /** @param deleteMessage called once the lease (or nobody) keeps the batch: before that the message is its only trace */
  async run(message: BatchMessage, deleteMessage: () => Promise<void>): Promise<RunOutcome> {
    const claimedAt = this.clock.monotonicMs();
    const claim = await this.claims.claim(message, this.settings.coordinatorId);
    await deleteMessage().catch((error: unknown) =>
      this.logger.warn('A batch message could not be deleted; it will be dropped when it comes again', {
        ...message,
        error: toLoggable(error),
      }),
    );
    if (claim.kind === 'drop') {
      this.logger.debug('Batch message dropped', { ...message, reason: claim.reason });
      return 'dropped';
    }
    const running = this.hold(claim.batch, claimedAt);
    const outcome = this.runClaimed(running, claim.batch, claim.job);
    this.inHand.set(running, outcome);
    this.services.metrics.gauge('batches_running', this.inHand.size);
    try {
      return await outcome;
    } finally {
      this.inHand.delete(running);
      this.services.metrics.gauge('batches_running', this.inHand.size);
    }
  }

  /** No further task begins; those that run go on. */
  pause(): void {
    this.dispatcher.pause();
  }

  /**
   * Hands every batch in hand back. Running tasks may finish until `finishByMs`, then they are aborted. A batch whose tasks
   * are all done is ended rather than handed back, if its end works within half of the time that is left. A thread that does
   * not let go by `releaseByMs` is left behind: what it may still write is not listed anywhere. Until then a job that ends is answered:
   * the next finisher would only come by after a minute. Monotonic milliseconds.
   */
  async drain(deadlines: { finishByMs: number; releaseByMs: number }): Promise<void> {
    this.draining = true;
    this.pause();
    await this.untilOr(this.dispatcher.idle(), deadlines.finishByMs);
    for (const running of this.inHand.keys()) running.stop('draining');
    await this.untilOr(this.allClosed(), (deadlines.finishByMs + deadlines.releaseByMs) / 2);
    this.outOfTime.abort();
    for (const running of this.inHand.keys()) running.stop('draining', 'now');
    await this.untilOr(Promise.all([this.allAnswered(), this.dispatcher.idle()]), deadlines.releaseByMs);
  }

  /** The fleet has given this process up: every batch in hand is let go and nothing more is written of it. What comes next is run as ever. */
  abandon(): void {
    for (const running of this.inHand.keys()) running.stop('lost');
  }

  private async allClosed(): Promise<void> {
    await Promise.allSettled(this.inHand.values());
  }

  private async allAnswered(): Promise<void> {
    await this.allClosed();
    await this.completeJob.idle();
  }

  private async untilOr(work: Promise<unknown>, deadline: MonotonicMs): Promise<void> {
    const done = new AbortController();
    await Promise.race([work, this.clock.sleepUntil(deadline, done.signal)]);
    done.abort();
  }

  private hold(batch: BatchEntity, claimedAt: MonotonicMs): RunningBatch {
    const ttlMs = leaseTtlMs(batch.type, this.settings.ttlMs);
    const running = new RunningBatch(batch, claimedAt, new Checkpoint(batch.totalTasks, batch), { ...this.settings, ttlMs }, this.services);
    // Claimed while the drain began: nothing would run it any more.
    if (this.draining) running.stop('draining');
    return running;
  }

  private async runClaimed(running: RunningBatch, batch: BatchEntity, job: ExportJobEntity): Promise<RunOutcome> {
    running.startHeartbeat();
    try {
      const caughtUp = await this.insist(running, () =>
        this.services.counter.countUp(batch.jobId, running.lease, running.checkpoint.flushable(), false),
      );
      if (caughtUp?.kind === 'stop') running.stop('job-over');
      const segment = await this.insist(running, () => this.segmentOf(batch, job.destination.bucket, running.signal));
      if (segment === undefined) return await this.close(running);
      return await this.work(running, segment, { hasStored: job.completedTasks > 0, trialSize: batch.trialSize ?? batch.totalTasks });
    } catch (error) {
      if (!isRejected(error)) throw error;
      running.stop('job-over');
      endJobOfBatch({ completeJob: this.completeJob, logger: this.logger }, running.lease, error);
      return await this.close(running);
    } finally {
      await running.dispose();
    }
  }

  private async segmentOf(batch: BatchEntity, bucket: string, signal: AbortSignal): Promise<Segment> {
    const segment = await this.files.loadSegment(bucket, batch.segmentKey, signal);
    refuseOther(segment, batch);
    return segment;
  }

  private async work(
    running: RunningBatch,
    segment: Segment,
    { hasStored, trialSize }: { hasStored: boolean; trialSize: number },
  ): Promise<RunOutcome> {
    const tasks = new BatchTasks(running, segment, hasStored);
    await this.bring(running, tasks, trialSize);
    if (tasks.destinationRefusal !== undefined && running.stoppedBecause === undefined) {
      // The files that were refused are counted, as far as this one write says so.
      await running.stopHeartbeat();
      await running.flush();
      throw new AppError(DESTINATION_REFUSED, tasks.destinationRefusal, { disposition: 'reject' });
    }
    if (running.stoppedBecause !== undefined) return this.close(running);
    running.beginEnd();
    return this.end(running, segment, tasks);
  }

  /**
   * All at once, as a rule. A batch whose holders died one after another runs a few of its tasks first, and what has survived is written
   * down before twice as many are run: the next death then tells of fewer tasks.
   */
  private async bring(running: RunningBatch, tasks: BatchTasks, trialSize: number): Promise<void> {
    for (let size = trialSize; ; size *= 2) {
      const brought = tasks.admit(size);
      this.dispatcher.add(tasks);
      await brought;
      if (!tasks.hasMore || tasks.destinationRefusal !== undefined) return;
      await running.written();
      if (running.signal.aborted) return;
    }
  }

  private async end(running: RunningBatch, segment: Segment, tasks: BatchTasks): Promise<RunOutcome> {
    const { jobId, batchNo, lockToken } = running.lease;
    const results = await this.insist(running, async () => {
      const lines = await tasks.results((position) => this.files.describeDone(segment, position));
      return this.files.writeResults({ ...segment, jobId, batchNo, fence: String(lockToken) }, segment, lines);
    });
    if (results === undefined) return this.close(running);
    await running.stopHeartbeat();
    const whole = running.checkpoint.whole();
    const ended = await this.insist(running, async () => {
      const outcome = await this.services.leases.end(running.lease, running.nextSeq(), whole, results);
      if (outcome.kind === 'unknown') throw outcome.cause;
      return outcome;
    });
    if (ended === undefined) return this.close(running);
    if (ended.kind === 'lost') {
      this.logger.warn('Batch was taken over before its end could be written', { jobId, batchNo });
      return 'lost';
    }
    this.logger.info('Batch ended', { jobId, batchNo, completed: whole.completed, failed: whole.failed });
    await this.countEnd(running);
    return 'ended';
  }

  /** The row has ended, so this needs no lease: only a drain that runs out of time leaves it to the job's repair. */
  private async countEnd(running: RunningBatch): Promise<void> {
    const { lease, checkpoint } = running;
    await this.retry(lease, this.outOfTime.signal, () => this.services.countBatchEnd.count(lease.jobId, lease, checkpoint.whole()));
  }

  /** A holder that stopped early: hands the batch back when draining, else leaves the row to whoever has it. */
  private async close(running: RunningBatch): Promise<RunOutcome> {
    await running.stopHeartbeat();
    const reason = running.stoppedBecause ?? 'fenced';
    if (reason === 'draining') await this.releases.release(running);
    else this.logger.info('Batch left', { jobId: running.lease.jobId, batchNo: running.lease.batchNo, reason });
    return reason;
  }

  /**
   * Tries until it works, the work is stopped, or the lease may have run out; `undefined`: it did not work. What the destination refuses for
   * good no try would bring about.
   */
  private insist<T>(running: RunningBatch, attempt: () => Promise<T>): Promise<T | undefined> {
    let refusals = 0;
    return this.retry(running.lease, running.signal, async () => {
      try {
        return await attempt();
      } catch (error) {
        if (running.isPastFence) running.stop('fenced');
        if (isRefusedByStore(error) && ++refusals === MAX_REFUSALS) throw destinationRefused(error);
        throw error;
      }
    });
  }

  private retry<T>({ jobId, batchNo }: Lease, signal: AbortSignal, attempt: () => Promise<T>): Promise<T | undefined> {
    return retryUntil<T>(
      async () => {
        try {
          return { done: true, value: await attempt() };
        } catch (error) {
          if (isRejected(error)) throw error;
          this.logger.retrying('a step of a batch', error, { jobId, batchNo });
          return { done: false };
        }
      },
      { clock: this.clock, backoff: BACKOFF, signal },
    );
  }

  private get clock(): Clock {
    return this.services.clock;
  }

  private get logger(): AppLogger {
    return this.services.logger;
  }
}

/** A segment that is not this batch's would make it never end, or end wrongly. */
function refuseOther(segment: Segment, batch: BatchEntity): void {
  if (segment.jobId === batch.jobId && segment.batchNo === batch.batchNo && segment.tasks.length === batch.totalTasks) return;
  throw new AppError(
    'SEGMENT_MISMATCH',
    `${batch.segmentKey} is not the segment of batch ${batch.batchNo} with ${batch.totalTasks} tasks`,
    {
      disposition: 'reject',
    },
  );
}
