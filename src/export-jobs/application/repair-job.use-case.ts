import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, Metrics, type MonotonicMs } from '../../shared/index.js';
import type { RepairLimits } from '../domain/decide-heartbeat.js';
import { decideRepair, type BatchSign } from '../domain/decide-repair.js';
import { isDue } from '../domain/decide-send.js';
import { isCounting, type ExportJobEntity } from '../domain/export-job.entity.js';
import { JobStateVO } from '../domain/job-state.vo.js';
import { CompleteJobUseCase } from './complete-job.use-case.js';
import { JobBatchesPort, type BatchSummary } from './job-batches.port.js';
import { JobCounterService } from './job-counter.service.js';
import { LiveCoordinatorsPort } from './live-coordinators.port.js';

/** `counted`: its counters were behind, and may add up now · `quiet`: no sign of life, but not for long enough · `stalled`: for long enough. */
export type RepairOutcome = 'alive' | 'counted' | 'quiet' | 'stalled';

/** What the former look at a job's batches showed. */
interface Look {
  at: MonotonicMs;
  batches: Map<number, LookedAt>;
  sentAt: MonotonicMs;
}

interface LookedAt {
  work: string;
  beat: string;
  /** When its message was sent for the last time; none while it is not due. */
  message: string | undefined;
  messageSince: MonotonicMs;
  /** Queued and due: unclaimed since then, however often its message was sent. */
  waitsSince?: MonotonicMs;
}

/** What a repair stands on, as one thing to hand over. */
export interface RepairServices {
  batches: JobBatchesPort;
  coordinators: LiveCoordinatorsPort;
  counter: JobCounterService;
  completeJob: CompleteJobUseCase;
  clock: Clock;
  logger: AppLogger;
  metrics: Metrics;
}

/*
 * Looks into a job that has made no progress for a while, turn after turn until it moves again:
 *   a running batch that moved since the former look, or waits out a Retry-After → alive
 *   a queued batch that is due, and someone runs batches                        → alive; its message sent again if it is lost
 *   a checkpoint that the counters lag behind (its holder died in between)      → counted
 *   none of these for the stall timeout                                         → JobStalled, IF the job has not moved since
 *
 * "Moved" is what this process saw move between two of its own looks, never an age by stored instants: a batch may wait for minutes in a
 * backlog and be looked at right after its claim, and hosts' clocks differ. What it sees for the first time counts as moved.
 */
@Injectable()
export class RepairJobUseCase {
  private readonly looks = new Map<string, Look>();

  constructor(
    private readonly limits: RepairLimits,
    private readonly services: RepairServices,
  ) {}

  /** @param quietMs since the last sign of life that this process knows of */
  async repair(job: ExportJobEntity, quietMs: number): Promise<RepairOutcome> {
    const { batches, coordinators, clock } = this.services;
    // Rows that a reopening has not moved yet are no work of this run.
    const rows = (await batches.list(job.jobId)).filter(({ run }) => run === job.run);
    const now = clock.monotonicMs();
    const former = this.looks.get(job.jobId);
    const look = lookAt(job, rows, former, now);
    this.looks.set(job.jobId, look);
    const decision = decideRepair(
      job,
      rows.map((row) => signOf(row, former, look, now)),
      {
        someoneWorks: coordinators.someoneWorks(),
        queueIsEmpty: await this.isQueueEmpty(job, rows),
        sinceSentMs: now - look.sentAt,
      },
      this.limits,
    );
    // What the look has shown stands, whatever becomes of the mending.
    const counted = await this.attempt(job, () => this.countUp(job, rows, decision.countUp));
    await this.attempt(job, () => this.sendAgain(job, rows, look, decision.sendAgain));
    if (counted === true) return 'counted';
    // Between looks that lie far apart nothing was seen to stand still: the batches could not be read.
    const wasBlind = former !== undefined && now - former.at > this.limits.repairAfterMs;
    if (decision.alive || wasBlind) return 'alive';
    return quietMs < this.limits.stallTimeoutMs ? 'quiet' : 'stalled';
  }

  /** Ends the job as JobStalled, unless it has moved since. Waits for Step Functions as long as it takes. */
  async giveUp(job: ExportJobEntity, quietMs: number): Promise<void> {
    const seconds = Math.round(quietMs / 1_000);
    const reason =
      `No progress for ${seconds} s: nothing of this job moved, waited for a source, or waited for a worker. ` +
      'Start the execution again to fetch the rest.';
    const isStill = (current: ExportJobEntity): boolean =>
      isCounting(current.status) &&
      current.run === job.run &&
      current.lastProgressAt === job.lastProgressAt &&
      // A window that has grown since the look has sent batches that may be claimed by now.
      current.sentBatches === job.sentBatches;
    await this.services.completeJob.stall(job.jobId, reason, isStill, { quietS: seconds, progress: JobStateVO.of(job).progress });
  }

  /** Forgets the jobs that are not looked after any more. */
  retain(jobIds: ReadonlySet<string>): void {
    for (const jobId of this.looks.keys()) if (!jobIds.has(jobId)) this.looks.delete(jobId);
  }

  /** Asked only when it matters; a queue that does not answer is none that is known to be empty. */
  private async isQueueEmpty(job: ExportJobEntity, rows: readonly BatchSummary[]): Promise<boolean> {
    if (!rows.some(({ batchNo, status }) => status === 'queued' && isDue(job, batchNo))) return false;
    return (await this.attempt(job, () => this.services.batches.isQueueEmpty())) ?? false;
  }

  /** `undefined`: it did not work; the next look tries again. */
  private async attempt<T>({ jobId }: ExportJobEntity, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.services.logger.retrying('a step of a repair', error, { jobId, next: 'the next look tries again' });
      return undefined;
    }
  }

  private async countUp(
    { jobId }: ExportJobEntity,
    rows: readonly BatchSummary[],
    lagging: readonly { batchNo: number; ended: boolean }[],
  ): Promise<boolean> {
    const { counter, logger } = this.services;
    for (const { batchNo, ended } of lagging) {
      const row = rows.find((batch) => batch.batchNo === batchNo);
      if (row !== undefined && (await counter.countUp(jobId, row, row, ended)).kind === 'stop') return false;
    }
    if (lagging.length === 0) return false;
    logger.info('Job repaired: counters brought up to the checkpoints', { jobId, batches: lagging.length });
    return true;
  }

  private async sendAgain(job: ExportJobEntity, rows: readonly BatchSummary[], look: Look, lost: readonly number[]): Promise<void> {
    if (lost.length === 0) return;
    const { batches, clock, logger } = this.services;
    const numbers = new Set(lost);
    await batches.sendAgain(
      job.jobId,
      rows.filter(({ batchNo }) => numbers.has(batchNo)),
    );
    look.sentAt = clock.monotonicMs();
    logger.warn('Job repaired: messages of queued batches sent again', { jobId: job.jobId, batches: lost.length });
  }
}

function lookAt(job: ExportJobEntity, rows: readonly BatchSummary[], former: Look | undefined, now: MonotonicMs): Look {
  const batches = rows.map((row) => {
    const { batchNo, status } = row;
    const message = isDue(job, batchNo) ? row.enqueuedAt : undefined;
    const before = former?.batches.get(batchNo);
    const work = workOf(row);
    const messageSince = before?.message === message ? (before?.messageSince ?? now) : now;
    // A claim since the former look shows in its work: then this is another wait.
    const stillWaits = before?.work === work ? before.waitsSince : undefined;
    const waits = status === 'queued' && message !== undefined ? { waitsSince: stillWaits ?? now } : {};
    return [batchNo, { work, beat: beatOf(row), message, messageSince, ...waits }] as const;
  });
  return { at: now, batches: new Map(batches), sentAt: former?.sentAt ?? -Infinity };
}

function signOf(row: BatchSummary, former: Look | undefined, look: Look, now: MonotonicMs): BatchSign {
  const before = former?.batches.get(row.batchNo);
  const { messageSince = now, waitsSince = now } = look.batches.get(row.batchNo) ?? {};
  const isRunning = row.status === 'running';
  return {
    ...row,
    moved: isRunning && before?.work !== workOf(row),
    waitsForHost: isRunning && (row.pausedMs ?? 0) > 0 && before?.beat !== beatOf(row),
    queuedMs: now - messageSince,
    waitedMs: now - waitsSince,
  };
}

function workOf({ lockToken, progressedAt }: BatchSummary): string {
  return `${lockToken}/${progressedAt ?? ''}`;
}

function beatOf({ lockToken, heartbeatAt }: BatchSummary): string {
  return `${lockToken}/${heartbeatAt ?? ''}`;
}
