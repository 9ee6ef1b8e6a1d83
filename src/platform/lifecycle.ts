import { AppLogger, Clock, RepeatedSignal, toLoggable, type LogFields, type MonotonicMs } from '../shared/index.js';

/** The order in which parts start; they stop in the reverse order, once the work in hand has been drained. */
const START_ORDER = [
  'http',
  'aws',
  'coordinator',
  'worker-pool',
  'upload-rules',
  'reclaim',
  'batch-consumer',
  'job-consumer',
  'heartbeat-orchestrator',
] as const;
export type LifecycleStep = (typeof START_ORDER)[number];

/** Monotonic milliseconds. */
export interface DrainDeadlines {
  /** Until here running work may finish; then it is aborted. */
  finishBy: MonotonicMs;
  /** By here everything must be handed back. */
  handBackBy: MonotonicMs;
}

/** A part that starts and stops. Each call is idempotent; stop before start is legal. */
export interface LifecyclePart {
  start?(): void | Promise<void>;
  /** Take nothing new in; returns soon. */
  quiesce?(): void | Promise<void>;
  /** Finish or hand back what is in hand. */
  drain?(deadlines: DrainDeadlines): Promise<void>;
  /** `by`: when it should have stopped, so that those that stop after it have time. */
  stop?(by: MonotonicMs): void | Promise<void>;
}

/** Share of the budget in which running tasks may still finish, in which everything must be handed back, and in which each part should have stopped. */
const FINISH_SHARE = 0.6;
const HAND_BACK_SHARE = 0.85;
const STOP_SHARE = 0.95;

/*
 * new ─start─▶ starting ─all parts started─▶ ready ─SIGTERM─▶ draining ─▶ stopped
 *                └─a part fails─────────────────────────────────▲
 *
 * One budget for the whole shutdown. Not ready → all parts take nothing new in → the last polls end, running tasks may finish
 * (60 %), heartbeats of every kind going on → the rest is aborted and handed back (85 %) → parts stop in reverse order → the closing calls.
 * A part that fails or hangs is logged and left behind: the process still ends in time, with exit code 0, because what it
 * held is safe in the tables. Nest swallows errors of its own shutdown hooks, so this class owns order and exit code.
 */
export class Lifecycle {
  private readonly parts = new Map<LifecycleStep, LifecyclePart>();
  private readonly closers: (() => void | Promise<void>)[] = [];
  private state: 'new' | 'starting' | 'ready' | 'draining' | 'stopped' = 'new';
  private shutdownDone: Promise<void> | undefined;

  constructor(
    private readonly settings: { shutdownTimeoutMs: number },
    private readonly clock: Clock,
    private readonly logger: AppLogger,
  ) {}

  register(step: LifecycleStep, part: LifecyclePart): void {
    this.parts.set(step, part);
  }

  /** Runs last, after every part has stopped. */
  onClose(close: () => void | Promise<void>): void {
    this.closers.push(close);
  }

  get ready(): boolean {
    return this.state === 'ready';
  }

  /** As the rest of the fleet sees it. */
  get phase(): 'starting' | 'ready' | 'draining' {
    if (this.state === 'new' || this.state === 'starting') return 'starting';
    return this.state === 'ready' ? 'ready' : 'draining';
  }

  /**
   * @param facts of the service, for its line in the log
   * @throws what the failing part threw, after the parts that had started were stopped again
   */
  async start(facts: LogFields = {}): Promise<void> {
    if (this.state !== 'new') return;
    this.state = 'starting';
    try {
      for (const step of START_ORDER) {
        if (this.stoppedWhileStarting) return;
        await this.parts.get(step)?.start?.();
      }
    } catch (error) {
      if (this.stoppedWhileStarting) return;
      await this.shutdown();
      throw error;
    }
    if (this.stoppedWhileStarting) return;
    this.state = 'ready';
    this.logger.info('Service started', { ...facts, startMs: Math.round(performance.now()) });
  }

  /** A signal came: its shutdown is under way, and what fails to start now is its doing. */
  private get stoppedWhileStarting(): boolean {
    return this.state !== 'starting';
  }

  /** Calls `exit` with 0 after the first signal's shutdown, with 1 at once on a second signal; the first one that comes again is none. */
  handleSignals(source: NodeJS.EventEmitter, exit: (code: number) => void): void {
    const repeated = new RepeatedSignal(this.clock);
    for (const signal of ['SIGTERM', 'SIGINT'])
      source.on(signal, () => {
        const is = repeated.take();
        if (is === 'same') return;
        if (is === 'second' || this.state === 'draining' || this.state === 'stopped') return exit(1);
        this.logger.info('Shutting down', { signal, budgetMs: this.settings.shutdownTimeoutMs });
        void this.shutdown().then(() => exit(0));
      });
  }

  /** Never rejects, and ends within the budget. */
  shutdown(): Promise<void> {
    this.shutdownDone ??= this.runShutdown();
    return this.shutdownDone;
  }

  private async runShutdown(): Promise<void> {
    this.state = 'draining';
    const budgetMs = this.settings.shutdownTimeoutMs;
    const startedAt = this.clock.monotonicMs();
    const end = startedAt + budgetMs;
    const deadlines = { finishBy: startedAt + budgetMs * FINISH_SHARE, handBackBy: startedAt + budgetMs * HAND_BACK_SHARE };
    const parts = START_ORDER.toReversed().map((step) => [step, this.parts.get(step)] as const);

    await Promise.all(parts.map(([step, part]) => this.bounded(step, 'quiesce', part?.quiesce?.bind(part), deadlines.handBackBy)));
    await Promise.all(
      parts.map(([step, part]) => this.bounded(step, 'drain', part?.drain?.bind(part, deadlines), deadlines.handBackBy + budgetMs * 0.05)),
    );
    for (const [step, part] of parts)
      await this.bounded(step, 'stop', part?.stop?.bind(part, startedAt + budgetMs * STOP_SHARE), end - 200);
    for (const close of this.closers) await this.bounded('clients', 'close', close, end - 100);
    this.state = 'stopped';
    this.logger.info('Service stopped', { tookMs: Math.round(this.clock.monotonicMs() - startedAt) });
  }

  private async bounded(part: string, phase: string, act: (() => void | Promise<void>) | undefined, deadline: MonotonicMs): Promise<void> {
    if (act === undefined) return;
    const late = new AbortController();
    const work = (async () => act())().then(
      () => 'done' as const,
      (error: unknown) => {
        this.logger.error('A part failed while shutting down', { part, phase, error: toLoggable(error) });
        return 'done' as const;
      },
    );
    const timeout = this.clock.sleepUntil(deadline, late.signal).then(() => 'late' as const);
    if ((await Promise.race([work, timeout])) === 'late')
      this.logger.error('A part did not stop in time and is left behind', { part, phase });
    late.abort();
  }
}
