import { Injectable } from '@nestjs/common';
import { Clock, fullJitterMs, Metrics, type MonotonicMs } from '../../shared/index.js';
import { TransferPool, type TaskFailure, type TaskOutcome } from '../../worker-pool/index.js';
import { earliest } from '../domain/earliest.js';
import { HOST_PATIENCE_MS, HostGate } from '../domain/host-gate.js';
import { JobLane } from './job-lane.js';
import type { Dispatched, TaskSource } from './task-source.js';
import { WorkSigns } from './work-signs.js';

const BACKOFF = { baseMs: 1_000, capMs: 30_000 };
/** A source that sent other bytes than promised may have been caught in a change; twice is an answer. */
const MAX_MISMATCHES = 2;
/** Our own store is away or slows us down: no fault of the file, and it passes. Minutes of patience instead of seconds. */
const STORE_PATIENCE = 3;

const REFUSED: TaskOutcome = {
  success: false,
  bytesProcessed: 0,
  error: {
    code: 'SOURCE_REFUSES',
    message: `for ${HOST_PATIENCE_MS / 60_000} minutes its host has served nothing and only asked to come back later (Retry-After)`,
    retryable: true,
  },
};

/**
 * Feeds the pool fairly: whenever a place is free, the next job in turn gives one task. A task that waits out its backoff, or waits for
 * its host, holds no place, nor does one whose source has been read. Tasks are pulled, never queued in front of the pool, so an abort has
 * nothing to hunt for.
 */
@Injectable()
export class TaskDispatcherService {
  private readonly lanes = new Map<string, JobLane>();
  private readonly gate: HostGate;
  private running = 0;
  /** Of those that run, the ones that hold a place: their source is still to be read. */
  private reading = 0;
  private waitingOut = 0;
  private paused = false;
  private idleWaiters: (() => void)[] = [];
  /** The sleep until the next paused host opens, while tasks wait for one. */
  private opening: { at: MonotonicMs; sleep: AbortController } | undefined;

  constructor(
    private readonly pool: TransferPool,
    private readonly settings: { taskMaxAttempts: number; maxConnectionsPerHost: number },
    private readonly clock: Clock,
    private readonly metrics: Metrics,
    private readonly signs: WorkSigns,
  ) {
    this.gate = new HostGate(settings.maxConnectionsPerHost);
  }

  /** Tasks that run in the pool. */
  get runningTasks(): number {
    return this.running;
  }

  /** Whether tasks in hand wait out a backoff or a Retry-After, for a place that exists. */
  get waitsForSources(): boolean {
    return (this.waitingOut > 0 || this.opening !== undefined) && this.pool.capacity > 0;
  }

  /** Whether the job has tasks in hand here, none of which runs or could run now: all of them wait for a host. */
  isWaiting(jobId: string): boolean {
    return this.lanes.get(jobId)?.isWaiting(this.clock.monotonicMs()) ?? false;
  }

  /** Whether the job has tasks in hand here, none of which runs: others have the places, or the connections of its hosts. */
  waitsForTurn(jobId: string): boolean {
    const lane = this.lanes.get(jobId);
    return lane !== undefined && lane.running === 0 && !lane.isEmpty;
  }

  add(source: TaskSource): void {
    this.laneOf(source.jobId).add(source, this.clock.monotonicMs());
    source.signal.addEventListener('abort', () => this.remove(source), { once: true });
    this.fill();
  }

  /** No new tasks; those running may finish. There is no way back: it is the first step of a drain. */
  pause(): void {
    this.paused = true;
    this.awaitOpening();
  }

  /** Resolves when no task runs in the pool. */
  async idle(): Promise<void> {
    if (this.running > 0) await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
  }

  private laneOf(jobId: string): JobLane {
    const lane = this.lanes.get(jobId) ?? new JobLane(this.gate);
    this.lanes.set(jobId, lane);
    return lane;
  }

  private remove(source: TaskSource): void {
    this.lanes.get(source.jobId)?.remove(source);
    this.dropIfEmpty(source.jobId);
    this.awaitOpening();
  }

  private dropIfEmpty(jobId: string): void {
    if (this.lanes.get(jobId)?.isEmpty === true) this.lanes.delete(jobId);
  }

  private fill(): void {
    while (!this.paused && this.reading < this.pool.capacity && this.running < this.pool.maxInHand) {
      const next = this.pull();
      if (next === undefined) break;
      if (this.gate.hasGivenUp(next.host, next.inHandSince)) this.record(next, REFUSED);
      else void this.run(next);
    }
    this.awaitOpening();
  }

  /** The next job in turn that has a task which may run, or fails unrun; it then goes to the end of the line. */
  private pull(): Dispatched | undefined {
    const now = this.clock.monotonicMs();
    for (const [jobId, lane] of this.lanes) {
      const next = lane.take(now);
      if (next === undefined) {
        this.dropIfEmpty(jobId);
        continue;
      }
      this.lanes.delete(jobId);
      this.lanes.set(jobId, lane);
      return next;
    }
    return undefined;
  }

  /** A host that is full opens with the end of a task; one that is paused, with time. */
  private awaitOpening(): void {
    const now = this.clock.monotonicMs();
    const at = this.paused ? undefined : earliest(Array.from(this.lanes.values(), (lane) => lane.opensAt(now)));
    if (at === this.opening?.at) return;
    this.opening?.sleep.abort();
    this.opening = undefined;
    if (at === undefined) return;
    const sleep = new AbortController();
    this.opening = { at, sleep };
    void this.fillLater(at - now, sleep.signal);
  }

  private async fillLater(waitMs: number, signal: AbortSignal): Promise<void> {
    await this.clock.sleep(waitMs, signal);
    if (signal.aborted) return;
    this.opening = undefined;
    this.fill();
  }

  private async run(dispatched: Dispatched): Promise<void> {
    const { source, task, host } = dispatched;
    const startedAt = this.clock.monotonicMs();
    dispatched.startedAt ??= startedAt;
    dispatched.attempts++;
    this.running++;
    this.laneOf(task.jobId).running++;
    const leavePlace = this.takePlace(host, startedAt);
    const pausedHosts = this.gate.paused(startedAt);
    let outcome: TaskOutcome;
    try {
      outcome = await this.pool.run(
        { ...task, ...(pausedHosts.length === 0 ? {} : { pausedHosts }), attempt: dispatched.attempts },
        {
          signal: source.signal,
          onProgress: () => {
            this.gate.serves(host, this.clock.monotonicMs());
            this.signs.note();
            source.onProgress();
          },
          onRead: () => {
            this.gate.serves(host, this.clock.monotonicMs());
            leavePlace();
            this.fill();
          },
        },
      );
    } finally {
      this.running--;
      leavePlace();
    }
    const lane = this.lanes.get(task.jobId);
    if (lane !== undefined) lane.running--;
    this.settle(dispatched, outcome, startedAt);
    this.dropIfEmpty(task.jobId);
    this.fill();
    if (this.running === 0) for (const wake of this.idleWaiters.splice(0)) wake();
  }

  /** A place and a connection of the host; the function gives both back, once. */
  private takePlace(host: string | undefined, now: MonotonicMs): () => void {
    this.reading++;
    this.gate.enter(host, now);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.reading--;
      this.gate.leave(host, this.clock.monotonicMs());
    };
  }

  private settle(dispatched: Dispatched, outcome: TaskOutcome, startedAt: MonotonicMs): void {
    if (!outcome.success && outcome.error.code === 'ABORTED') return;
    this.signs.note();
    // Bytes are service, whatever became of them.
    const isServed = outcome.success || outcome.bytesProcessed > 0 || (!outcome.error.retryable && outcome.error.httpStatus !== undefined);
    if (isServed) this.gate.serves(dispatched.host, this.clock.monotonicMs());
    if (!outcome.success) this.pauseHost(dispatched, outcome.error, startedAt);
    if (!outcome.success && this.mayRetry(dispatched, outcome.error)) return void this.retryLater(dispatched);
    this.record(dispatched, outcome);
  }

  private record({ source, position, attempts, startedAt }: Dispatched, outcome: TaskOutcome): void {
    const now = this.clock.monotonicMs();
    const durationMs = Math.round(now - (startedAt ?? now));
    this.metrics.increment(
      'tasks_total',
      outcome.success ? { outcome: 'succeeded', code: '' } : { outcome: 'failed', code: outcome.error.code },
    );
    this.metrics.increment('bytes_total', {}, outcome.bytesProcessed);
    this.metrics.observe('task_duration_seconds', durationMs / 1_000);
    source.onResult(position, outcome, attempts, durationMs);
  }

  /** For everyone, whatever becomes of the task that was told; the tasks that were under way with it are not charged for it. */
  private pauseHost(dispatched: Dispatched, error: TaskFailure, startedAt: MonotonicMs): void {
    const { retryable, retryAfterMs = 0, retryAfterHost: host = dispatched.host } = error;
    if (host === undefined || !retryable || retryAfterMs === 0) return;
    const now = this.clock.monotonicMs();
    // One that was not even asked says nothing new.
    const { isNews } = error.code === 'SOURCE_PAUSED' ? { isNews: false } : this.gate.pause(host, retryAfterMs, startedAt, now);
    if (!isNews) dispatched.pardoned++;
    dispatched.host = host;
    const until = this.gate.opensAt(host, now) ?? now;
    dispatched.source.onPause(until);
    for (const lane of this.lanes.values()) lane.notePause(host, until);
  }

  private mayRetry(dispatched: Dispatched, error: TaskFailure): boolean {
    if (error.code === 'CHECKSUM_MISMATCH' && ++dispatched.mismatches === MAX_MISMATCHES) return false;
    const { taskMaxAttempts } = this.settings;
    const counted = dispatched.attempts - dispatched.pardoned;
    return error.retryable && counted < (error.code === 'UPLOAD_FAILED' ? taskMaxAttempts * STORE_PATIENCE : taskMaxAttempts);
  }

  /** The lane may be gone by the time the wait is over: then it comes back. */
  private async retryLater(dispatched: Dispatched): Promise<void> {
    const { signal, jobId } = dispatched.source;
    this.waitingOut++;
    await this.clock.sleep(fullJitterMs(BACKOFF, dispatched.attempts), signal);
    this.waitingOut--;
    if (signal.aborted) return;
    this.laneOf(jobId).hold(dispatched, this.clock.monotonicMs());
    this.fill();
  }
}
