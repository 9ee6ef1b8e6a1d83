import { Injectable } from '@nestjs/common';
import { DESTINATION_REFUSED } from '../../export-jobs/index.js';
import { AppLogger, Clock, Metrics, type MonotonicMs } from '../../shared/index.js';
import { IN_HAND_PER_PLACE, TransferPool, type TaskOutcome } from '../../worker-pool/index.js';
import { DestinationTrust } from '../domain/destination-trust.js';
import { earliest } from '../domain/earliest.js';
import { HostGate } from '../domain/host-gate.js';
import { LatestRuns } from '../domain/latest-runs.js';
import { mayStart, runningOf, type PlaceUse } from '../domain/places.js';
import { DispatchWatchdog, type DispatchFault } from './dispatch-watchdog.js';
import { GIVEN_UP, type FailedOutcome } from './given-up.js';
import { HeldPlace } from './held-place.js';
import { JobLane } from './job-lane.js';
import { PauseLog } from './pause-log.js';
import { runsAlone, type Dispatched, type LoneThread, type TaskSource, type Try } from './task-source.js';
import { TryJudge } from './try-judge.js';
import { WorkSigns } from './work-signs.js';

/** A timer that is later than this has been lost. */
const LATE_TIMER_MS = 5_000;

export interface DispatcherTools {
  signs: WorkSigns;
  clock: Clock;
  logger: AppLogger;
  metrics: Metrics;
}

/*
 * Feeds the pool. Each change (a batch comes or goes, a task ends, its source has been read, falls silent or is heard again, time opens a
 * host) calls `fill`, which takes ONE look at the clock, starts all that may start at that moment, and arms one timer for the first host
 * that time opens after it. Whether a task may start and when it will are told by the same look, so no moment lies between the two.
 *
 *   batch ─next─▶ lane of its job ─take─▶ pool: reading ⇄ silent ─▶ sending ─▶ over ─┬─▶ recorded
 *                    ▲    ▲                                                          │
 *                    │    └── host refused: waits in the host's line ────────────────┤
 *                    └─────── backoff ────────────────────────────────────────────────┘
 *
 * Jobs take turns, and each may hold its share of the places (domain/places.ts). Tasks are pulled, never queued in front of the pool, so an abort has
 * nothing to hunt for. A watchdog says loudly, and mends, what should not be possible: tasks that wait although they may start.
 */
@Injectable()
export class TaskDispatcherService {
  private readonly lanes = new Map<string, JobLane>();
  private readonly gate: HostGate;
  private readonly judge: TryJudge;
  private readonly watchdog: DispatchWatchdog;
  private readonly pauses: PauseLog;
  private readonly trusts = new LatestRuns<DestinationTrust>();
  private readonly use: PlaceUse = { reading: 0, sending: 0, silent: 0 };
  private readonly lone: LoneThread = { isTaken: false };
  private loneTold = 0;
  private paused = false;
  private idleWaiters: (() => void)[] = [];
  /** The sleep until time opens the next host that tasks wait for. */
  private opening: { at: MonotonicMs; sleep: AbortController } | undefined;

  constructor(
    private readonly pool: TransferPool,
    settings: { taskMaxAttempts: number; maxConnectionsPerHost: number },
    private readonly tools: DispatcherTools,
  ) {
    this.gate = new HostGate(settings.maxConnectionsPerHost);
    this.judge = new TryJudge(settings.taskMaxAttempts, this.gate, tools.metrics, tools.logger);
    this.pauses = new PauseLog(tools.clock, tools.logger);
    this.watchdog = new DispatchWatchdog(tools, () => this.wakeUp());
  }

  /** Tasks that run in the pool. */
  get runningTasks(): number {
    return runningOf(this.use);
  }

  /** Whether tasks in hand wait out a backoff, a pause of their host or its silence, for a place that exists. */
  get waitsForSources(): boolean {
    return (this.backsOff || this.opening !== undefined || this.use.silent > 0) && this.pool.capacity > 0;
  }

  /** Whether the job has tasks in hand here and none of them runs: all wait for a host, or for the end of a backoff. */
  isWaiting(jobId: string): boolean {
    return this.lanes.get(jobId)?.running === 0;
  }

  add(source: TaskSource): void {
    this.laneOf(source).add(source, this.now());
    source.signal.addEventListener('abort', () => this.remove(source), { once: true });
    this.fill();
  }

  /** No new tasks; those running may finish. There is no way back: it is the first step of a drain. */
  pause(): void {
    this.paused = true;
    this.fill();
  }

  /** Resolves when no task runs in the pool. */
  async idle(): Promise<void> {
    if (this.runningTasks > 0) await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
  }

  /** Whether any task waits out a backoff. */
  private get backsOff(): boolean {
    return [...this.lanes.values()].some((lane) => lane.backingOff > 0);
  }

  private now(): MonotonicMs {
    return this.tools.clock.monotonicMs();
  }

  private laneOf(source: TaskSource): JobLane {
    const lane = this.lanes.get(source.jobId) ?? this.newLane(source);
    this.lanes.set(source.jobId, lane);
    return lane;
  }

  private newLane(source: TaskSource): JobLane {
    return new JobLane(
      this.gate,
      this.trusts.of(source, () => new DestinationTrust(source.hasStored)),
      this.lone,
    );
  }

  private remove(source: TaskSource): void {
    this.lanes.get(source.jobId)?.remove(source);
    this.fill();
  }

  /** Starts what may start now. @returns how many tasks were started, or failed unrun */
  private fill(): number {
    const now = this.now();
    let begun = 0;
    for (let next = this.pull(now); next !== undefined; next = this.pull(now)) {
      begun++;
      const givenUp = this.gate.givenUpSince(next.host, next.inHandSince);
      if (givenUp === undefined) void this.run(next, now);
      else this.giveUp(next, GIVEN_UP[givenUp], now);
    }
    for (const [jobId, lane] of this.lanes) if (lane.isEmpty) this.lanes.delete(jobId);
    this.tools.metrics.gauge('source_hosts_paused', this.pausedHosts(now));
    this.tellLone();
    this.arm(now);
    this.watchdog.watch(this.lanes.size > 0 && !this.paused);
    return begun;
  }

  /** The next task that may run, of the next job in turn; the job then goes to the end of the line. */
  private pull(now: MonotonicMs): Dispatched | undefined {
    if (this.paused) return undefined;
    const room = { places: this.pool.capacity, busyPerPlace: IN_HAND_PER_PLACE };
    const isBusy = ({ use }: JobLane) => use.reading + use.sending > 0;
    const lanes = [...this.lanes.values()];
    const busy = lanes.filter(isBusy).length;
    const running = lanes.filter((lane) => lane.running > 0).length;
    for (const [jobId, lane] of this.lanes) {
      const jobs = { busy: isBusy(lane) ? busy : busy + 1, running: lane.running > 0 ? running : running + 1 };
      if (!mayStart(lane.use, this.use, room, jobs)) continue;
      const next = lane.take(now);
      if (next === undefined) continue;
      this.lanes.delete(jobId);
      this.lanes.set(jobId, lane);
      return next;
    }
    return undefined;
  }

  /** Hosts that asked for patience and are waited for. */
  private pausedHosts(now: MonotonicMs): number {
    const awaited = new Set([...this.lanes.values()].flatMap(({ hosts }) => hosts));
    return [...awaited].filter((host) => this.gate.pauseLeftMs(host, now) > 0).length;
  }

  /** A host that is full opens with the end of a task; one that is closed, with time. `now` is the look that found it closed. */
  private arm(now: MonotonicMs): void {
    const at = this.paused ? undefined : earliest(Array.from(this.lanes.values(), (lane) => lane.opensAt(now)));
    if (at === this.opening?.at) return;
    this.disarm();
    if (at === undefined) return;
    const sleep = new AbortController();
    this.opening = { at, sleep };
    void this.fillAt(at, sleep.signal);
  }

  private disarm(): void {
    this.opening?.sleep.abort();
    this.opening = undefined;
  }

  private async fillAt(at: MonotonicMs, signal: AbortSignal): Promise<void> {
    await this.tools.clock.sleepUntil(at, signal);
    if (signal.aborted) return;
    this.opening = undefined;
    this.fill();
  }

  private async run(dispatched: Dispatched, startedAt: MonotonicMs): Promise<void> {
    const { source, task, host, position } = dispatched;
    const { gate, judge } = this;
    const attempt: Try = { dispatched, startedAt, isServed: false, bytes: 0 };
    dispatched.startedAt ??= startedAt;
    dispatched.attempts++;
    gate.enter(host, startedAt);
    const place = new HeldPlace(gate, host, [this.use, this.laneOf(source).use]);
    const pausedHosts = gate.paused(startedAt);
    const alone = runsAlone(dispatched);
    if (alone) this.lone.isTaken = true;
    const outcome = await this.pool.run(
      { ...task, ...(pausedHosts.length === 0 ? {} : { pausedHosts }), attempt: dispatched.attempts },
      {
        signal: source.signal,
        alone,
        onProgress: (bytes) => {
          const wasSilent = gate.isSilent(host);
          gate.serves(host, this.now());
          place.flows();
          this.tools.signs.note();
          this.arrived(attempt, bytes);
          source.onProgress(position, bytes);
          // It has all of its connections again.
          if (wasSilent) this.fill();
        },
        onRead: () => {
          judge.served(attempt, this.now());
          place.becomes('sending');
          this.fill();
        },
        onSilent: () => {
          place.becomes('silent');
          this.fill();
        },
        onHeard: () => {
          gate.answered(host, this.now());
          place.becomes('reading');
          this.fill();
        },
      },
    );
    place.becomes('over');
    if (alone) this.lone.isTaken = false;
    this.arrived(attempt, outcome.bytesProcessed);
    source.onTryEnd(position);
    this.settle(attempt, outcome);
    this.fill();
    if (this.runningTasks === 0) for (const wake of this.idleWaiters.splice(0)) wake();
  }

  /** Counted only while one runs alone, because they are rare and each count looks at all that wait. */
  private tellLone(): void {
    const waiting = this.lone.isTaken ? [...this.lanes.values()].reduce((sum, lane) => sum + lane.awaitingLoneThread, 0) : 0;
    if (waiting === this.loneTold) return;
    this.loneTold = waiting;
    this.tools.metrics.gauge('tasks_awaiting_lone_thread', waiting);
  }

  private arrived(attempt: Try, bytes: number): void {
    if (bytes <= attempt.bytes) return;
    this.tools.metrics.increment('bytes_total', {}, bytes - attempt.bytes);
    attempt.bytes = bytes;
  }

  private settle(attempt: Try, outcome: TaskOutcome): void {
    if (!outcome.success && outcome.error.code === 'ABORTED') return;
    const now = this.now();
    const { dispatched } = attempt;
    this.tools.signs.note();
    const verdict = this.judge.judge(attempt, outcome, now);
    if (!outcome.success) this.notePause(dispatched.host, now);
    const waitsForBucket = this.noteDestination(attempt, outcome, now);
    if (verdict.kind === 'over' && !waitsForBucket) this.record(dispatched, withReason(outcome, verdict.because), now);
    else if (verdict.kind === 'again' && verdict.inMs > 0) {
      if (!outcome.success && outcome.error.retryAfterMs !== undefined) dispatched.source.onPause(dispatched.host, now + verdict.inMs);
      void this.backOff(dispatched, verdict.inMs);
    } else if (!dispatched.source.signal.aborted) this.laneOf(dispatched.source).hold(dispatched, now);
  }

  /** Who waits for a host that is paused says so: it is not taken for one that hangs. */
  private notePause(host: string | undefined, now: MonotonicMs): void {
    if (host === undefined) return;
    this.pauses.tell(host, this.gate.pauseLeftMs(host, now), now);
    const until = this.gate.isSilent(host) ? undefined : this.gate.opensAt(host, now);
    if (until !== undefined) for (const lane of this.lanes.values()) lane.notePause(host, until);
  }

  /** @returns whether the file waits until it is known whether its bucket takes any */
  private noteDestination({ dispatched: { task, source }, startedAt }: Try, outcome: TaskOutcome, now: MonotonicMs): boolean {
    const lane = this.laneOf(source);
    const { destination } = lane;
    if (outcome.success && outcome.skipped !== true) destination.took();
    if (outcome.success || outcome.error.code !== DESTINATION_REFUSED) return false;
    const { message: reason } = outcome.error;
    if (destination.refused(startedAt, now))
      this.tools.logger.error('The destination of a job refuses what is stored', { jobId: task.jobId, bucket: task.s3Bucket, reason });
    if (destination.isRefusing) for (const batch of lane.batches().add(source)) batch.onDestinationRefused(reason);
    return destination.isUnproven;
  }

  /** The task is not run: its host was given up while it waited. */
  private giveUp(dispatched: Dispatched, outcome: FailedOutcome, now: MonotonicMs): void {
    this.judge.tellGivenUp(dispatched, outcome.error);
    this.record(dispatched, outcome, now);
  }

  private record(dispatched: Dispatched, outcome: TaskOutcome, now: MonotonicMs): void {
    const { source, position, attempts, startedAt } = dispatched;
    const durationMs = Math.round(now - (startedAt ?? now));
    const { metrics } = this.tools;
    metrics.increment(
      'tasks_total',
      outcome.success ? { outcome: 'succeeded', code: '' } : { outcome: 'failed', code: outcome.error.code },
    );
    metrics.observe('task_duration_seconds', durationMs / 1_000);
    source.onResult(position, outcome, attempts, durationMs);
  }

  private async backOff(dispatched: Dispatched, waitMs: number): Promise<void> {
    const { signal } = dispatched.source;
    const lane = this.laneOf(dispatched.source);
    lane.backingOff++;
    await this.tools.clock.sleep(waitMs, signal);
    lane.backingOff--;
    if (!signal.aborted) lane.hold(dispatched, this.now());
    this.fill();
  }

  /** For the watchdog: starts what a lost wake-up has left asleep. */
  private wakeUp(): DispatchFault | undefined {
    const now = this.now();
    // A timer that has just come due may be a little late: what it will start was not forgotten.
    if (this.opening !== undefined && this.opening.at <= now && now - this.opening.at < LATE_TIMER_MS) return undefined;
    if (this.opening !== undefined && this.opening.at <= now) this.disarm();
    const started = this.fill();
    if (started > 0) return { started };
    const waiting = [...this.lanes.values()].filter((lane) => lane.hasTasks);
    const isArmed = this.opening !== undefined || this.backsOff || this.runningTasks > 0;
    return waiting.length > 0 && !isArmed && this.pool.capacity > 0 ? { jobsThatWait: waiting.length } : undefined;
  }
}

function withReason(outcome: TaskOutcome, reason: string | undefined): TaskOutcome {
  if (outcome.success || reason === undefined) return outcome;
  return { ...outcome, error: { ...outcome.error, message: `${outcome.error.message}; ${reason}` } };
}
