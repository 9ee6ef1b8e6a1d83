import { Injectable } from '@nestjs/common';
import { Clock, fullJitterMs, Metrics, type MonotonicMs } from '../../shared/index.js';
import { TransferPool, type TaskFailure, type TaskOutcome, type TransferTask } from '../../worker-pool/index.js';
import { WorkSigns } from './work-signs.js';

const BACKOFF = { baseMs: 1_000, capMs: 30_000 };
/** A source that sent other bytes than promised may have been caught in a change; twice is an answer. */
const MAX_MISMATCHES = 2;
/** Our own store is away or slows us down: no fault of the file, and it passes. Minutes of patience instead of seconds. */
const STORE_PATIENCE = 3;

/** The tasks of one batch, as their batch hands them out. */
export interface TaskSource {
  readonly jobId: string;
  /** At most this many tasks of the job at once in this process. */
  readonly maxConcurrency: number | undefined;
  readonly signal: AbortSignal;
  /** The next task that has not been handed out, or `undefined`. */
  next(): { position: number; task: Omit<TransferTask, 'attempt'> } | undefined;
  /** The task is over: done, or failed for good. Never called for a task that was aborted. */
  onResult(position: number, result: TaskOutcome, attempts: number, durationMs: number): void;
  onProgress(): void;
  /** A task waits because its host asked for it with Retry-After. */
  onPause(until: MonotonicMs): void;
}

interface Dispatched {
  source: TaskSource;
  position: number;
  task: Omit<TransferTask, 'attempt'>;
  attempts: number;
  mismatches: number;
  startedAt: MonotonicMs;
}

/** What one job has in hand here. */
interface Lane {
  sources: TaskSource[];
  retries: Dispatched[];
  running: number;
}

/**
 * Feeds the pool fairly: whenever a place is free, the next job in turn gives one task. A task that waits out its backoff
 * holds no place. Tasks are pulled, never queued in front of the pool, so an abort has nothing to hunt for.
 */
@Injectable()
export class TaskDispatcherService {
  private readonly lanes = new Map<string, Lane>();
  private running = 0;
  private waitingOut = 0;
  private paused = false;
  private idleWaiters: (() => void)[] = [];

  constructor(
    private readonly pool: TransferPool,
    private readonly settings: { taskMaxAttempts: number },
    private readonly clock: Clock,
    private readonly metrics: Metrics,
    private readonly signs: WorkSigns,
  ) {}

  /** Tasks that run in the pool. */
  get runningTasks(): number {
    return this.running;
  }

  /** Whether tasks in hand wait out a backoff or a Retry-After, for a place that exists. */
  get waitsForSources(): boolean {
    return this.waitingOut > 0 && this.pool.capacity > 0;
  }

  add(source: TaskSource): void {
    const lane = this.lanes.get(source.jobId) ?? { sources: [], retries: [], running: 0 };
    lane.sources.push(source);
    this.lanes.set(source.jobId, lane);
    source.signal.addEventListener('abort', () => this.remove(source), { once: true });
    this.fill();
  }

  /** No new tasks; those running may finish. There is no way back: it is the first step of a drain. */
  pause(): void {
    this.paused = true;
  }

  /** Resolves when no task runs in the pool. */
  async idle(): Promise<void> {
    if (this.running > 0) await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
  }

  private remove(source: TaskSource): void {
    const lane = this.lanes.get(source.jobId);
    if (lane === undefined) return;
    lane.sources = lane.sources.filter((other) => other !== source);
    lane.retries = lane.retries.filter((retry) => retry.source !== source);
    this.dropIfEmpty(source.jobId, lane);
  }

  private dropIfEmpty(jobId: string, lane: Lane): void {
    if (lane.sources.length === 0 && lane.retries.length === 0 && lane.running === 0) this.lanes.delete(jobId);
  }

  private fill(): void {
    while (!this.paused && this.running < this.pool.capacity) {
      const next = this.pull();
      if (next === undefined) return;
      void this.run(next);
    }
  }

  /** The next job in turn that has a task and may run one more; it then goes to the end of the line. */
  private pull(): Dispatched | undefined {
    for (const [jobId, lane] of this.lanes) {
      const next = this.pullFrom(lane);
      if (next === undefined) {
        this.dropIfEmpty(jobId, lane);
        continue;
      }
      lane.running++;
      this.lanes.delete(jobId);
      this.lanes.set(jobId, lane);
      return next;
    }
    return undefined;
  }

  private pullFrom(lane: Lane): Dispatched | undefined {
    const limit = lane.sources[0]?.maxConcurrency ?? lane.retries[0]?.source.maxConcurrency ?? Infinity;
    if (lane.running >= limit) return undefined;
    const retry = lane.retries.shift();
    if (retry !== undefined) return retry;
    for (let source = lane.sources[0]; source !== undefined; source = lane.sources[0]) {
      const next = source.next();
      if (next !== undefined) return { source, ...next, attempts: 0, mismatches: 0, startedAt: this.clock.monotonicMs() };
      lane.sources.shift();
    }
    return undefined;
  }

  private async run(dispatched: Dispatched): Promise<void> {
    const { source, task } = dispatched;
    dispatched.attempts++;
    this.running++;
    let outcome: TaskOutcome;
    try {
      outcome = await this.pool.run(
        { ...task, attempt: dispatched.attempts },
        {
          signal: source.signal,
          onProgress: () => {
            this.signs.note();
            source.onProgress();
          },
        },
      );
    } finally {
      this.running--;
    }
    const lane = this.lanes.get(task.jobId);
    if (lane !== undefined) lane.running--;
    this.settle(dispatched, outcome, lane);
    if (lane !== undefined) this.dropIfEmpty(task.jobId, lane);
    this.fill();
    if (this.running === 0) for (const wake of this.idleWaiters.splice(0)) wake();
  }

  private settle(dispatched: Dispatched, outcome: TaskOutcome, lane: Lane | undefined): void {
    const { source, position, attempts } = dispatched;
    if (!outcome.success && outcome.error.code === 'ABORTED') return;
    this.signs.note();
    if (!outcome.success && this.mayRetry(dispatched, outcome.error)) {
      if (lane !== undefined) void this.retryLater(dispatched, outcome.error, lane);
      return;
    }
    const durationMs = Math.round(this.clock.monotonicMs() - dispatched.startedAt);
    this.metrics.increment(
      'tasks_total',
      outcome.success ? { outcome: 'succeeded', code: '' } : { outcome: 'failed', code: outcome.error.code },
    );
    this.metrics.increment('bytes_total', {}, outcome.bytesProcessed);
    this.metrics.observe('task_duration_seconds', durationMs / 1_000);
    source.onResult(position, outcome, attempts, durationMs);
  }

  private mayRetry(dispatched: Dispatched, error: TaskFailure): boolean {
    if (error.code === 'CHECKSUM_MISMATCH' && ++dispatched.mismatches === MAX_MISMATCHES) return false;
    const { taskMaxAttempts } = this.settings;
    return error.retryable && dispatched.attempts < (error.code === 'UPLOAD_FAILED' ? taskMaxAttempts * STORE_PATIENCE : taskMaxAttempts);
  }

  /** The lane may be gone by the time the wait is over: then it comes back. */
  private async retryLater(dispatched: Dispatched, error: TaskFailure, lane: Lane): Promise<void> {
    const { signal, jobId } = dispatched.source;
    if (error.retryAfterMs !== undefined) dispatched.source.onPause(this.clock.monotonicMs() + error.retryAfterMs);
    this.waitingOut++;
    await this.clock.sleep(Math.max(fullJitterMs(BACKOFF, dispatched.attempts), error.retryAfterMs ?? 0), signal);
    this.waitingOut--;
    if (signal.aborted) return;
    const current = this.lanes.get(jobId) ?? lane;
    current.retries.push(dispatched);
    this.lanes.set(jobId, current);
    this.fill();
  }
}
