import type { SharedCredentials } from '../../platform/aws/index.js';
import { AppError, SystemClock, type AppLogger, type Metrics, type MonotonicMs } from '../../shared/index.js';
import { TransferPool, type RunTaskOptions } from '../application/transfer-pool.port.js';
import type { TaskOutcome, TransferTask } from '../domain/transfer-task.js';
import { transferTaskSchema } from '../protocol/thread-messages.schema.js';
import { threadSettings, type PoolSettings } from './pool-settings.js';
import { S3Access } from './s3-access.js';
import { ABORTED, failedOutcome, POOL_TIMINGS, PoolThread, threadLost, type PoolTimings, type TaskInHand } from './pool-thread.js';
import { inlineChannel, workerChannel } from './thread-channel.js';
import { UploadReaper } from './upload-reaper.js';

/** The next task that is run alone comes when the one before it has ended. */
const LONE_IDLE_MS = 10_000;

export interface PoolOptions {
  metrics?: Metrics | undefined;
  /** Default: the pool's own, from the same sources. */
  credentials?: SharedCredentials;
  /** Built entry of a thread. */
  threadUrl?: URL;
  timings?: Partial<PoolTimings>;
}

/**
 * The threads, and who gets a task: the one that reads least, at once. Tasks wait here only while no thread can take them: how many there
 * are is the dispatcher's business, who has one account of places for all threads. With `pool.size` 0 the tasks run on this thread.
 */
export class PoolManagerService extends TransferPool {
  private readonly threads: readonly PoolThread[];
  private readonly tasksPerWorker: number;
  private readonly metrics: Metrics | undefined;
  private readonly timings: PoolTimings;
  private readonly s3Access: S3Access;
  private readonly reaper: UploadReaper;
  private readonly clock = new SystemClock();
  private readonly queue: TaskInHand[] = [];
  /** Those that are run alone, and the thread for them while there are any: it takes nothing of the others' places. */
  private readonly aloneQueue: TaskInHand[] = [];
  private lone: PoolThread | undefined;
  private loneIdle: NodeJS.Timeout | undefined;
  private readonly newThread: (name: number | 'alone') => PoolThread;
  private readonly inHand = new Map<string, Promise<TaskOutcome>>();
  private readonly starts: { resolve: () => void; reject: (error: AppError) => void }[] = [];
  private stopped: Promise<void> | undefined;

  constructor(
    settings: PoolSettings,
    private readonly logger: AppLogger,
    options: PoolOptions = {},
  ) {
    super();
    this.tasksPerWorker = settings.pool.tasksPerWorker;
    this.metrics = options.metrics;
    const { size } = settings.pool;
    const entry = options.threadUrl ?? new URL('../threads/worker-thread.js', import.meta.url);
    const open = size === 0 ? inlineChannel(threadSettings(settings)) : workerChannel(entry, threadSettings(settings));
    this.s3Access = new S3Access(settings.aws, options.credentials);
    this.reaper = new UploadReaper(this.s3Access, this.clock, logger);
    this.timings = { ...POOL_TIMINGS, ...options.timings };
    this.newThread = (thread) =>
      new PoolThread(open, this.s3Access, this.timings, logger.child({ thread }), (restarted) => {
        if (restarted !== undefined) this.metrics?.increment('worker_pool_restarts_total');
        this.turn();
      });
    this.threads = Array.from({ length: Math.max(1, size) }, (_, thread) => this.newThread(thread));
  }

  /** Threads that were given up no longer count. */
  get capacity(): number {
    return this.threads.filter((thread) => !thread.isGone).length * this.tasksPerWorker;
  }

  /**
   * Resolves when one thread is ready; the others follow. Booting all at once would have them wait for each other's
   * modules, and the first task for all of them.
   * @throws AppError `POOL_BROKEN` (fatal) when it cannot boot, `POOL_STOPPED` (yield)
   */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.starts.push({ resolve, reject });
      this.threads[0]?.start();
      this.turn();
    });
  }

  /**
   * Ends every task and thread, terminating what does not end in half of the time there is, and aborts the uploads that they leave. Tasks
   * that are still in hand end as `ABORTED` or `THREAD_LOST`.
   */
  stop(by = this.clock.monotonicMs() + 2 * this.timings.stopGraceMs): Promise<void> {
    this.stopped ??= this.stopThreads(by);
    return this.stopped;
  }

  async run(task: TransferTask, options: RunTaskOptions): Promise<TaskOutcome> {
    const sendable = transferTaskSchema.safeParse(task);
    if (!sendable.success) {
      const fields = sendable.error.issues.map(({ path }) => path.join('.')).join(', ');
      return failedOutcome({ code: 'TASK_INVALID', message: `the task cannot be sent to a worker: ${fields}`, retryable: false });
    }
    // A batch that was lost and claimed again brings tasks whose former run is still being aborted here.
    for (let former = this.inHand.get(task.taskId); former !== undefined; former = this.inHand.get(task.taskId)) await former;
    if (options.signal.aborted) return failedOutcome(ABORTED);
    const outcome = this.enqueue(sendable.data, options);
    this.inHand.set(task.taskId, outcome);
    this.turn();
    return outcome;
  }

  private enqueue(task: TransferTask, { signal, alone = false, ...signs }: RunTaskOptions): Promise<TaskOutcome> {
    return new Promise((resolve) => {
      const abort = () => this.abort(inHand);
      const inHand: TaskInHand = {
        task,
        ...signs,
        settle: (outcome, leftOpen = []) => {
          signal.removeEventListener('abort', abort);
          this.inHand.delete(task.taskId);
          for (const upload of leftOpen) this.reaper.reap(upload);
          resolve(outcome);
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      (alone ? this.aloneQueue : this.queue).push(inHand);
    });
  }

  private abort(inHand: TaskInHand): void {
    const queue = [this.queue, this.aloneQueue].find((waiting) => waiting.includes(inHand));
    if (queue === undefined) {
      for (const thread of this.allThreads) thread.abort(inHand.task.taskId, 'aborted by its caller');
      return;
    }
    queue.splice(queue.indexOf(inHand), 1);
    inHand.settle(failedOutcome(ABORTED));
  }

  /** After each change: starts are answered, waiting tasks go to threads, gauges are set. */
  private turn(): void {
    this.answerStarts();
    if (this.stopped === undefined && this.threads.some((thread) => thread.isReady)) for (const thread of this.threads) thread.start();
    for (let thread = this.next(); thread !== undefined && this.queue.length > 0; thread = this.next()) {
      const next = this.queue.shift();
      if (next !== undefined) thread.submit(next);
    }
    if (this.threads.every((thread) => thread.isGone))
      for (const lost of [...this.queue.splice(0), ...this.aloneQueue.splice(0)]) lost.settle(failedOutcome(threadLost()));
    this.turnAlone();
    this.metrics?.gauge('worker_pool_threads', this.threads.filter((thread) => thread.isReady).length);
    this.metrics?.gauge('worker_pool_busy', sum(this.allThreads, 'inHand'));
    this.metrics?.gauge('worker_pool_reading', sum(this.allThreads, 'reading'));
    this.metrics?.gauge('worker_pool_silent', sum(this.allThreads, 'silent'));
    this.metrics?.gauge('worker_pool_awaiting_memory', sum(this.allThreads, 'awaitingMemory'));
    this.metrics?.gauge('worker_pool_queued', this.queue.length + this.aloneQueue.length);
  }

  private get allThreads(): readonly PoolThread[] {
    return this.lone === undefined ? this.threads : [...this.threads, this.lone];
  }

  /** The thread for tasks that are run alone begins with the first of them, and ends soon after the last. */
  private turnAlone(): void {
    clearTimeout(this.loneIdle);
    if (this.stopped !== undefined) return;
    if (this.aloneQueue.length > 0 && this.lone === undefined) {
      this.lone = this.newThread('alone');
      this.lone.start();
    }
    const { lone } = this;
    if (lone === undefined || lone.inHand > 0) return;
    if (lone.isGone) return this.endLone();
    const next = lone.isReady ? this.aloneQueue.shift() : undefined;
    if (next !== undefined) lone.submit(next);
    else if (this.aloneQueue.length === 0) this.loneIdle = setTimeout(() => this.endLone(), LONE_IDLE_MS).unref();
  }

  private endLone(): void {
    const { lone } = this;
    this.lone = undefined;
    void lone?.stop(this.timings.stopGraceMs);
    for (const lost of this.aloneQueue.splice(0)) lost.settle(failedOutcome(threadLost()));
  }

  /**
   * The thread that reads least; of several, the one with the fewest tasks in hand. One that has its share waits for the threads that boot,
   * because at a start the first of them would otherwise get all that there is, for as long as that takes.
   */
  private next(): PoolThread | undefined {
    const [least] = this.threads.filter((thread) => thread.isReady).toSorted((a, b) => a.reading - b.reading || a.inHand - b.inHand);
    const hasItsShare = least !== undefined && least.inHand >= this.tasksPerWorker;
    return hasItsShare && this.threads.some((thread) => thread.isBooting) ? undefined : least;
  }

  private answerStarts(): void {
    if (this.stopped !== undefined)
      for (const { reject } of this.starts.splice(0))
        reject(new AppError('POOL_STOPPED', 'the worker pool was stopped', { disposition: 'yield' }));
    else if (this.threads.some((thread) => thread.isReady)) for (const { resolve } of this.starts.splice(0)) resolve();
    else if (this.threads.some((thread) => thread.isGone))
      for (const { reject } of this.starts.splice(0))
        reject(new AppError('POOL_BROKEN', 'a worker thread cannot boot', { disposition: 'fatal' }));
  }

  private async stopThreads(by: MonotonicMs): Promise<void> {
    const graceMs = Math.min(this.timings.stopGraceMs, Math.max(0, by - this.clock.monotonicMs()) / 2);
    await Promise.all(this.allThreads.map((thread) => thread.stop(graceMs)));
    this.turn();
    await this.reaper.close(by);
    this.s3Access.close();
    this.logger.info('Worker pool stopped');
  }
}

function sum(threads: readonly PoolThread[], of: 'inHand' | 'reading' | 'silent' | 'awaitingMemory'): number {
  return threads.reduce((total, thread) => total + thread[of], 0);
}
