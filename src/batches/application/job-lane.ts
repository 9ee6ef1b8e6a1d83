import type { MonotonicMs } from '../../shared/index.js';
import type { DestinationTrust } from '../domain/destination-trust.js';
import { earliest } from '../domain/earliest.js';
import { sourceHostOf, type HostGate } from '../domain/host-gate.js';
import { runningOf, type PlaceUse } from '../domain/places.js';
import { runsAlone, type Dispatched, type LoneThread, type TaskSource } from './task-source.js';

/** How many tasks of closed hosts a job is looked through for one of another host. Past that it waits, and its batches stay unread. */
const MAX_HELD = 256;

/**
 * What one job has in hand here: its batches, and its tasks that have left them and do not run. Those are retries whose backoff is over,
 * and tasks that were passed over because their host is full or closed. They wait in one line per host and go before new ones; in a line
 * retries go first, so that a file is not tried for the second time behind thousands that wait for their first.
 */
export class JobLane {
  /** What the job's running tasks take up. */
  readonly use: PlaceUse = { reading: 0, sending: 0, silent: 0 };
  /** Tasks that wait out a backoff; they come back by `hold`. */
  backingOff = 0;
  private sources: { source: TaskSource; inHandSince: MonotonicMs }[] = [];
  private readonly lines = new Map<string | undefined, Dispatched[]>();
  private held = 0;

  /**
   * @param destination what is thought of the bucket of the job
   * @param lone shared by all jobs
   */
  constructor(
    private readonly gate: HostGate,
    readonly destination: DestinationTrust,
    private readonly lone: LoneThread,
  ) {}

  get isEmpty(): boolean {
    return this.running === 0 && this.backingOff === 0 && !this.hasTasks;
  }

  get running(): number {
    return runningOf(this.use);
  }

  /** Tasks that wait to run alone. */
  get awaitingLoneThread(): number {
    return [...this.lines.values()].flat().filter(runsAlone).length;
  }

  /** Tasks are here that do not run. */
  get hasTasks(): boolean {
    return this.held > 0 || this.sources.length > 0;
  }

  add(source: TaskSource, now: MonotonicMs): void {
    this.sources.push({ source, inHandSince: now });
  }

  remove(source: TaskSource): void {
    this.sources = this.sources.filter((other) => other.source !== source);
    for (const [host, line] of this.lines) {
      const kept = line.filter((task) => task.source !== source);
      this.held -= line.length - kept.length;
      this.setLine(host, kept);
    }
  }

  /** Takes in a task that must wait for its host, or has waited out its backoff. */
  hold(task: Dispatched, now: MonotonicMs): void {
    const line = this.lines.get(task.host) ?? [];
    const firstNew = task.attempts === 0 ? -1 : line.findIndex(({ attempts }) => attempts === 0);
    line.splice(firstNew === -1 ? line.length : firstNew, 0, task);
    this.lines.set(task.host, line);
    this.held++;
    const opensAt = this.gate.isSilent(task.host) ? undefined : this.gate.opensAt(task.host, now);
    if (opensAt !== undefined) task.source.onPause(task.host, opensAt);
  }

  /** The host paused, or for longer than it had: whoever waits for it waits on. */
  notePause(host: string, until: MonotonicMs): void {
    for (const source of new Set(this.lines.get(host)?.map((task) => task.source))) source.onPause(host, until);
  }

  /** The next task that may run now, or whose host was given up. */
  take(now: MonotonicMs): Dispatched | undefined {
    if (this.running >= this.limit || this.destination.opensAt > now) return undefined;
    const task = this.takeHeld(now) ?? this.takeOpen(now);
    if (task !== undefined) this.destination.tries(now);
    return task;
  }

  /** When time opens what tasks here wait for: their bucket, or the first of their hosts. */
  opensAt(now: MonotonicMs): MonotonicMs | undefined {
    const { opensAt } = this.destination;
    if (opensAt > now) return this.hasTasks ? opensAt : undefined;
    return earliest(Array.from(this.lines.keys(), (host) => this.gate.opensAt(host, now)));
  }

  /** Whom tasks here wait for. */
  get hosts(): (string | undefined)[] {
    return [...this.lines.keys()];
  }

  /** Every batch of the job that has tasks here. */
  batches(): Set<TaskSource> {
    return new Set([...this.sources.map(({ source }) => source), ...[...this.lines.values()].flat().map(({ source }) => source)]);
  }

  private get limit(): number {
    const [line] = this.lines.values();
    return (this.sources[0] ?? line?.[0])?.source.maxConcurrency ?? Infinity;
  }

  /** The host then goes to the end of the line of hosts. */
  private takeHeld(now: MonotonicMs): Dispatched | undefined {
    for (const [host, line] of this.lines) {
      const isOpen = this.gate.isOpen(host, now);
      const at = line.findIndex((task) => (isOpen ? !this.lone.isTaken || !runsAlone(task) : this.isGivenUp(task)));
      if (at === -1) continue;
      const [task] = line.splice(at, 1);
      this.held--;
      this.lines.delete(host);
      this.setLine(host, line);
      return task;
    }
    return undefined;
  }

  private takeOpen(now: MonotonicMs): Dispatched | undefined {
    while (this.held < MAX_HELD) {
      const fresh = this.takeFresh();
      if (fresh === undefined || this.gate.isOpen(fresh.host, now) || this.isGivenUp(fresh)) return fresh;
      this.hold(fresh, now);
    }
    return undefined;
  }

  private takeFresh(): Dispatched | undefined {
    for (let first = this.sources[0]; first !== undefined; first = this.sources[0]) {
      const next = first.source.next();
      if (next !== undefined) return fresh(first.source, first.inHandSince, next);
      this.sources.shift();
    }
    return undefined;
  }

  private isGivenUp({ host, inHandSince }: Dispatched): boolean {
    return this.gate.givenUpSince(host, inHandSince) !== undefined;
  }

  private setLine(host: string | undefined, line: Dispatched[]): void {
    if (line.length === 0) this.lines.delete(host);
    else this.lines.set(host, line);
  }
}

function fresh(source: TaskSource, inHandSince: MonotonicMs, next: Pick<Dispatched, 'position' | 'task'>): Dispatched {
  return {
    ...next,
    source,
    inHandSince,
    host: sourceHostOf(next.task.url),
    attempts: 0,
    pardoned: 0,
    mismatches: 0,
    lostThreads: 0,
    startedAt: undefined,
    refusedSince: undefined,
    refusedAt: undefined,
    unreachableAt: undefined,
  };
}
