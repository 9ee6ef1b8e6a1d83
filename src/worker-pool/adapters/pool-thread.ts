import { fullJitterMs, toLoggable, type AppLogger, type BackoffPolicy } from '../../shared/index.js';
import type { RunTaskOptions } from '../application/transfer-pool.port.js';
import type { TaskFailure, TaskOutcome, TransferTask } from '../domain/transfer-task.js';
import type { TaskUpload } from '../domain/task-upload.js';
import { fromThreadMessageSchema, type FromThreadMessage } from '../protocol/thread-messages.schema.js';
import type { S3Access } from './s3-access.js';
import type { OpenThreadChannel, ThreadChannel } from './thread-channel.js';

export interface PoolTimings {
  /** How long a thread may take to answer an abort before it is ended. */
  abortGraceMs: number;
  pingIntervalMs: number;
  /** So many pings without an answer, and the thread hangs. Counted, not timed: after a pause of this process the answers come late. */
  maxMissedPongs: number;
  bootTimeoutMs: number;
  /** So many deaths in a row before READY, and it is not tried again. */
  maxBootDeaths: number;
  restartBackoff: BackoffPolicy;
  /** How long a thread that is told to stop may take to end by itself. */
  stopGraceMs: number;
}

export const POOL_TIMINGS: PoolTimings = {
  abortGraceMs: 5_000,
  pingIntervalMs: 10_000,
  maxMissedPongs: 3,
  bootTimeoutMs: 30_000,
  maxBootDeaths: 5,
  restartBackoff: { baseMs: 100, capMs: 30_000 },
  stopGraceMs: 5_000,
};

/** A task that waits or runs; `settle` is called once, with the uploads that nobody will end any more. */
export interface TaskInHand extends Omit<RunTaskOptions, 'alone' | 'signal'> {
  readonly task: TransferTask;
  readonly settle: (outcome: TaskOutcome, leftOpen?: Iterable<TaskUpload>) => void;
}

interface RunningTask extends TaskInHand {
  bytes: number;
  source: SourceState;
  /** Open in S3, by their ids. */
  readonly uploads: Map<string, TaskUpload>;
  /** Set once the task is to be aborted. */
  abortTimer?: NodeJS.Timeout;
}

/** Of a task's source. `silent`: it is read, and sends nothing. `read`: to its end. */
type SourceState = 'reading' | 'silent' | 'read';

type State = 'idle' | 'starting' | 'ready' | 'ending' | 'down' | 'broken' | 'stopped';

/*
 * One thread of the pool through all its lives.
 *
 *   idle ─start─▶ starting ─READY─▶ ready ─hangs, or keeps an aborted task─▶ ending
 *                    ▲  └──────────── exit ──────┬─────┴───────── exit ────────┘
 *                    └────────── backoff ─────  down     (too many deaths before READY: broken, for good)
 *   starting ─too slow─▶ ending: a death before READY, too
 *   any ─stop─▶ stopped: SHUTDOWN, and terminated if it does not end in time
 *
 * Tasks are failed at `exit` and not before: until then the thread may still write. They fail as THREAD_LOST, which is retryable,
 * but for those that were being aborted. There is one life at a time, so a message never belongs to a former one.
 */
export class PoolThread {
  private state: State = 'idle';
  private channel: ThreadChannel | undefined;
  private readonly tasks = new Map<string, RunningTask>();
  private readonly count: Record<SourceState, number> = { reading: 0, silent: 0, read: 0 };
  private memoryAwaited = 0;
  private timer: NodeJS.Timeout | undefined;
  private missedPongs = 0;
  private bootDeaths = 0;
  private deathsWithoutResult = 0;
  private exited: (() => void) | undefined;

  constructor(
    private readonly open: OpenThreadChannel,
    private readonly s3Access: Pick<S3Access, 'of'>,
    private readonly timings: PoolTimings,
    private readonly logger: AppLogger,
    /** Ready, broken, stopped, a source that changed, memory that is awaited, or a task less, or lost a life (`restarted`). */
    private readonly onChange: (restarted?: 'restarted') => void,
  ) {}

  get isReady(): boolean {
    return this.state === 'ready';
  }

  /** True when it will never take a task again. */
  get isGone(): boolean {
    return this.state === 'broken' || this.state === 'stopped';
  }

  get inHand(): number {
    return this.tasks.size;
  }

  /** Of those in hand, the ones whose source is read and sends. */
  get reading(): number {
    return this.count.reading;
  }

  /** Of those in hand, the ones whose source sends nothing. */
  get silent(): number {
    return this.count.silent;
  }

  /** Of those in hand, the ones that wait for memory. */
  get awaitingMemory(): number {
    return this.memoryAwaited;
  }

  get isBooting(): boolean {
    return this.state === 'starting';
  }

  start(): void {
    if (this.state === 'idle') this.spawn();
  }

  /** Only when ready. */
  submit(inHand: TaskInHand): void {
    this.tasks.set(inHand.task.taskId, { ...inHand, bytes: 0, source: 'reading', uploads: new Map() });
    this.count.reading += 1;
    this.channel?.post({ type: 'PROCESS_TASK', payload: inHand.task });
  }

  /** The thread has `abortGraceMs` to answer, or all its tasks go with it. */
  abort(taskId: string, reason: string): void {
    const running = this.tasks.get(taskId);
    if (running === undefined || running.abortTimer !== undefined) return;
    running.abortTimer = setTimeout(() => this.end('an aborted task did not end in time'), this.timings.abortGraceMs);
    this.channel?.post({ type: 'ABORT_TASK', payload: { taskId, reason } });
  }

  /** Resolves when the thread has ended, after at most `graceMs` and a termination. */
  stop(graceMs: number): Promise<void> {
    clearTimeout(this.timer);
    this.state = 'stopped';
    const channel = this.channel;
    if (channel === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const terminate = setTimeout(() => channel.terminate(), graceMs);
      this.exited = () => {
        clearTimeout(terminate);
        resolve();
      };
      channel.post({ type: 'SHUTDOWN', payload: {} });
    });
  }

  private spawn(): void {
    this.state = 'starting';
    this.missedPongs = 0;
    this.timer = setTimeout(() => this.end('it did not boot in time'), this.timings.bootTimeoutMs);
    this.channel = this.open({ onMessage: (raw) => this.receive(raw), onExit: (cause) => this.onExit(cause) });
  }

  private receive(raw: unknown): void {
    const parsed = fromThreadMessageSchema.safeParse(raw);
    if (parsed.success) return this.handle(parsed.data);
    this.logger.error('A worker thread sent what is not a message', {
      issues: parsed.error.issues.map(({ path, code }) => ({ path, code })),
    });
    this.end('it sent what is not a message');
  }

  private handle(message: FromThreadMessage): void {
    switch (message.type) {
      case 'READY':
        if (this.state !== 'starting') return;
        this.state = 'ready';
        this.bootDeaths = 0;
        this.ping();
        return this.onChange();
      case 'PONG':
        this.missedPongs = 0;
        return;
      case 'BUCKET_WANTED':
        return void this.answerBucket(message.payload.bucket, message.payload.refusedKeyId);
      case 'TASK_PROGRESS': {
        const running = this.tasks.get(message.payload.taskId);
        if (running === undefined) return;
        running.bytes = message.payload.bytes;
        return running.onProgress?.(running.bytes);
      }
      case 'TASK_READ':
        return this.turnSource(message.payload.taskId, 'read');
      case 'TASK_SILENT':
        return this.turnSource(message.payload.taskId, 'silent');
      case 'TASK_HEARD':
        return this.turnSource(message.payload.taskId, 'reading');
      case 'MEMORY_AWAITED':
        this.memoryAwaited = message.payload.tasks;
        return this.onChange();
      case 'UPLOAD_OPENED':
        return void this.tasks.get(message.payload.taskId)?.uploads.set(message.payload.uploadId, message.payload);
      case 'UPLOAD_CLOSED':
        return void this.tasks.get(message.payload.taskId)?.uploads.delete(message.payload.uploadId);
      case 'TASK_COMPLETED': {
        const { taskId, jobId: _, ...outcome } = message.payload;
        this.deathsWithoutResult = 0;
        this.settle(taskId, outcome);
        return this.onChange();
      }
    }
  }

  /** What has been read stays so. */
  private turnSource(taskId: string, to: SourceState): void {
    const running = this.tasks.get(taskId);
    if (running === undefined || running.source === 'read' || running.source === to) return;
    this.count[running.source] -= 1;
    this.count[to] += 1;
    running.source = to;
    if (to === 'read') running.onRead?.();
    else if (to === 'silent') running.onSilent?.();
    else running.onHeard?.();
    this.onChange();
  }

  /** To the life that asked: the next one asks itself. */
  private async answerBucket(bucket: string, refusedKeyId?: string): Promise<void> {
    const { channel } = this;
    try {
      channel?.post({ type: 'BUCKET_ACCESS', payload: { bucket, access: await this.s3Access.of(bucket, refusedKeyId) } });
    } catch (error) {
      this.logger.error('A bucket cannot be reached: no credentials, or no such name', { bucket, error: toLoggable(error) });
      channel?.post({ type: 'BUCKET_ACCESS', payload: { bucket, code: error instanceof Error ? error.name : 'unknown' } });
    }
  }

  /** Asks, and comes back; `missedPongs` goes back to 0 with each answer. */
  private ping(): void {
    clearTimeout(this.timer);
    if (this.missedPongs >= this.timings.maxMissedPongs) return this.end('it does not answer');
    this.missedPongs += 1;
    this.channel?.post({ type: 'PING', payload: {} });
    this.timer = setTimeout(() => this.ping(), this.timings.pingIntervalMs);
    this.timer.unref();
  }

  private end(why: string): void {
    if (this.state !== 'starting' && this.state !== 'ready') return;
    this.logger.warn('A worker thread is terminated', { why, tasks: this.tasks.size });
    clearTimeout(this.timer);
    // A READY that is on its way comes too late.
    if (this.state === 'starting') this.bootDeaths += 1;
    this.state = 'ending';
    this.channel?.terminate();
  }

  private onExit(cause: unknown): void {
    clearTimeout(this.timer);
    this.channel = undefined;
    this.memoryAwaited = 0;
    for (const [taskId, running] of this.tasks)
      this.settle(taskId, failedOutcome(running.abortTimer === undefined ? threadLost(cause) : ABORTED, running.bytes));
    this.exited?.();
    if (this.state !== 'stopped') this.recover(cause);
    this.onChange(this.state === 'down' ? 'restarted' : undefined);
  }

  private recover(cause: unknown): void {
    const fields = cause === undefined ? {} : { error: toLoggable(cause) };
    if (this.state === 'starting') this.bootDeaths += 1;
    if (this.bootDeaths >= this.timings.maxBootDeaths) {
      this.state = 'broken';
      this.logger.error('A worker thread dies whenever it boots and is given up', { deaths: this.bootDeaths, ...fields });
      return;
    }
    this.state = 'down';
    this.deathsWithoutResult += 1;
    const { restartBackoff } = this.timings;
    const delayMs = fullJitterMs(restartBackoff, this.deathsWithoutResult) + restartBackoff.baseMs / 2;
    this.logger.warn('A worker thread ended and is replaced', { delayMs, ...fields });
    this.timer = setTimeout(() => this.spawn(), delayMs);
  }

  private settle(taskId: string, outcome: TaskOutcome): void {
    const running = this.tasks.get(taskId);
    if (running === undefined) return;
    clearTimeout(running.abortTimer);
    this.tasks.delete(taskId);
    this.count[running.source] -= 1;
    running.settle(outcome, running.uploads.values());
  }
}

export const ABORTED: TaskFailure = { code: 'ABORTED', message: 'the task was aborted', retryable: true };

export function threadLost(cause?: unknown): TaskFailure {
  const isMemory = typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return { code: 'THREAD_LOST', message: isMemory ? 'the worker thread ran out of memory' : 'the worker thread ended', retryable: true };
}

export function failedOutcome(error: TaskFailure, bytesProcessed = 0): TaskOutcome {
  return { success: false, bytesProcessed, error };
}
