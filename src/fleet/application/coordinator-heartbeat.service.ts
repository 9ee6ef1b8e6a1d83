import { BatchWorkService } from '../../batches/index.js';
import { toLoggable, type AppLogger, type Clock, type Metrics, type MonotonicMs } from '../../shared/index.js';
import type { CoordinatorDetails, CoordinatorFacts } from '../domain/coordinator.entity.js';
import type { CoordinatorRegistryPort, Registration } from './coordinator-registry.port.js';
import type { CoordinatorVitalsPort } from './coordinator-vitals.port.js';
import { registerFirst } from './first-registration.js';
import { FleetWatch } from './fleet-watch.js';
import type { FleetMemory } from './fleet-memory.js';
import type { RegistrationService } from './registration.service.js';

export interface CoordinatorSettings {
  coordinatorId: string;
  heartbeatIntervalMs: number;
  /** For people: whose registration failed. */
  table: string;
  version: string;
  host: string;
}

export interface CoordinatorTools {
  clock: Clock;
  logger: AppLogger;
  metrics: Metrics;
}

/** Failed writes in a row from which on a person should look. */
const FAILURES_TO_REPORT = 3;
/** Beats may take this long beyond their interval before health speaks of it: each call has its own limit and retries. */
const BEAT_GRACE_MS = 30_000;

/*
 * unregistered ──start──▶ registered ──beat──▶ registered        a failed write is logged and counted; the next beat tries again
 *                            │  ▲
 *                            │  └── at once, with the next epoch ──── removed: somebody declared us dead
 *                            └─────────────────────────────────────▶ displaced: another process took our id
 *                               ▲                                        │
 *                               └── once that one has been silent ───────┘
 *
 * A beat is the heartbeat write, then one look at the whole table, which feeds FleetMemory. Beats stand on a fixed grid whose first point is
 * random; they never overlap and are never made up for. A refused write ends the batch work in hand and nothing else: the process goes
 * on receiving, under leases as ever.
 *
 * A start tries for half a minute (first-registration.ts); whoever leaves meanwhile stays unregistered.
 *
 * A displaced process does not take its id back while the other one may live: two that take turns would end each other's work for ever.
 * Not guaranteed: that an id has one process. Nothing but this row, and which jobs are beaten by whom, hangs on it.
 */
export class CoordinatorHeartbeatService {
  private readonly stopping = new AbortController();
  private readonly leaving = new AbortController();
  private started: Promise<void> | undefined;
  private loop: Promise<void> | undefined;
  private turn: Promise<unknown> = Promise.resolve();
  private lastBeatAt: MonotonicMs | undefined;
  private facts: CoordinatorFacts | undefined;
  private registration: Registration | undefined;
  private lastEpoch = 0;
  private sequence = 0;
  private displaced = false;
  private failures = 0;
  private readonly watch: FleetWatch;

  constructor(
    private readonly settings: CoordinatorSettings,
    private readonly registry: CoordinatorRegistryPort,
    private readonly registrations: RegistrationService,
    private readonly memory: FleetMemory,
    private readonly vitals: CoordinatorVitalsPort,
    private readonly work: Pick<BatchWorkService, 'report' | 'abandon'>,
    private readonly tools: CoordinatorTools,
  ) {
    this.watch = new FleetWatch(settings.coordinatorId, tools.logger);
  }

  /**
   * Registers, looks at the fleet, and beats until stopped.
   * @throws AppError `COORDINATOR_NOT_REGISTERED` (fatal)
   */
  start(): Promise<void> {
    this.started ??= this.begin();
    return this.started;
  }

  /** Says at once that this process leaves; it goes on beating. Does not wait: a slow table must not hold up a shutdown. */
  quiesce(): void {
    if (this.isLeaving) return;
    this.leaving.abort();
    void this.inTurn(async () => (this.registration === undefined ? undefined : this.beat()));
  }

  /** No new beat; waits for the one under way. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
    await this.turn;
    if (this.loop !== undefined) this.tools.logger.info('Coordinator heartbeat stopped');
    this.loop = undefined;
  }

  /** For the health answer: what keeps the loop from turning, or `undefined`. */
  get problem(): string | undefined {
    if (this.loop === undefined) return 'not running';
    const silentMs = this.lastBeatAt === undefined ? 0 : this.tools.clock.monotonicMs() - this.lastBeatAt;
    return silentMs > this.settings.heartbeatIntervalMs * 3 + BEAT_GRACE_MS ? `no beat for ${Math.round(silentMs / 1_000)} s` : undefined;
  }

  private get isLeaving(): boolean {
    return this.leaving.signal.aborted;
  }

  private async begin(): Promise<void> {
    const leaves = AbortSignal.any([this.leaving.signal, this.stopping.signal]);
    // Each try is in turn, the waits between them are not: neither a quiesce nor a stop waits for the next one.
    await registerFirst(() => this.inTurn(() => this.register()), this.settings, this.tools, leaves);
    await this.inTurn(() => this.look());
    this.tools.logger.info(`Coordinator heartbeat started (interval: ${this.settings.heartbeatIntervalMs}ms)`, { epoch: this.lastEpoch });
    this.lastBeatAt = this.tools.clock.monotonicMs();
    this.loop = this.run(this.stopping.signal);
  }

  private async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.tools;
    const intervalMs = this.settings.heartbeatIntervalMs;
    // At random, so that coordinators that started together do not beat in step.
    let dueAt = clock.monotonicMs() + Math.random() * intervalMs;
    for (;;) {
      await clock.sleepUntil(dueAt, signal);
      if (signal.aborted) return;
      await this.inTurn(() => this.beat());
      const now = clock.monotonicMs();
      this.lastBeatAt = now;
      dueAt += Math.max(1, Math.ceil((now - dueAt) / intervalMs)) * intervalMs;
    }
  }

  private inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.turn.then(act);
    this.turn = result.catch(() => undefined);
    return result;
  }

  /** Never rejects. */
  private async beat(): Promise<void> {
    this.memory.ownWorkAt = this.work.report().lastSign?.at;
    if (this.registration !== undefined) await this.sign(this.registration);
    const hasLooked = await this.look();
    if (this.registration !== undefined || this.isLeaving) return;
    if (this.displaced && (!hasLooked || this.memory.isInUse(this.settings.coordinatorId))) return;
    await this.registerAnew();
  }

  private async sign(registration: Registration): Promise<void> {
    const outcome = await this.registrations.beat(registration, ++this.sequence, this.details());
    switch (outcome.kind) {
      case 'written':
        return this.noteSuccess();
      case 'unknown':
        return this.noteFailure('A coordinator heartbeat failed', outcome.cause);
      case 'removed':
      case 'taken':
        return this.giveUp(outcome.kind);
      default:
        outcome satisfies never;
    }
  }

  private giveUp(reason: 'removed' | 'taken'): void {
    const { logger, metrics } = this.tools;
    const why =
      reason === 'removed'
        ? 'This coordinator was declared dead'
        : 'Another process has registered as this coordinator: COORDINATOR_ID must be unique in the fleet';
    metrics.increment('coordinator_heartbeats_total', { outcome: 'refused' });
    logger.error(`${why}. Its batches in hand are let go`, { epoch: this.lastEpoch, activeBatches: this.work.report().activeBatches });
    this.registration = undefined;
    this.displaced = reason === 'taken';
    this.memory.lastWriteFailed = false;
    this.work.abandon();
  }

  private async registerAnew(): Promise<void> {
    try {
      await this.register();
      this.tools.logger.info('Coordinator registered anew', { epoch: this.lastEpoch });
    } catch (error) {
      this.noteFailure('The coordinator could not be registered anew', error);
    }
  }

  private async register(): Promise<void> {
    const { coordinatorId, version, host } = this.settings;
    this.facts ??= { version, host, startedAt: this.tools.clock.nowIso() };
    this.registration = await this.registrations.register(coordinatorId, { ...this.facts, ...this.details() }, this.lastEpoch);
    this.lastEpoch = this.registration.epoch;
    this.sequence = 0;
    this.displaced = false;
    this.noteSuccess();
  }

  private details(): CoordinatorDetails {
    const { activeTasks, activeBatches, lastSign } = this.work.report();
    const status = this.isLeaving ? 'LEAVING' : 'ACTIVE';
    return {
      ...this.vitals.read(),
      status,
      activeTasks,
      activeBatches,
      ...(lastSign === undefined ? {} : { workLoopAt: lastSign.atIso }),
    };
  }

  /** Answers whether the table could be read. */
  private async look(): Promise<boolean> {
    const at = this.tools.clock.monotonicMs();
    try {
      this.memory.look(await this.registry.list(), at);
      this.watch.tell(this.memory.count());
      return true;
    } catch (error) {
      this.tools.logger.warn('The fleet could not be read; in the end this coordinator looks after every job', {
        error: toLoggable(error),
      });
      return false;
    }
  }

  private noteSuccess(): void {
    this.failures = 0;
    this.memory.lastWriteFailed = false;
    this.tools.metrics.increment('coordinator_heartbeats_total', { outcome: 'written' });
  }

  private noteFailure(message: string, error: unknown): void {
    this.failures++;
    this.memory.lastWriteFailed = true;
    this.tools.metrics.increment('coordinator_heartbeats_total', { outcome: 'failed' });
    const fields = { failures: this.failures, error: toLoggable(error) };
    if (this.failures < FAILURES_TO_REPORT) this.tools.logger.warn(`${message}; the next beat tries again`, fields);
    else this.tools.logger.error(`${message} ${this.failures} times in a row; the next beat tries again`, fields);
  }
}
