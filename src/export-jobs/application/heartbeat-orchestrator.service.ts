import { Injectable } from '@nestjs/common';
import { AppLogger, Clock, hash32, Metrics, toLoggable, type MonotonicMs } from '../../shared/index.js';
import { decideHeartbeat, type RepairLimits } from '../domain/decide-heartbeat.js';
import { ACTIVE_STATUSES, type ExportJobEntity } from '../domain/export-job.entity.js';
import { JobStateVO } from '../domain/job-state.vo.js';
import { ownerOf } from '../domain/rendezvous.js';
import { JobStateRepositoryPort } from './job-state-repository.port.js';
import { JobCareService } from './job-care.service.js';
import { JobWindowService } from './job-window.service.js';
import { LiveCoordinatorsPort } from './live-coordinators.port.js';
import { SeenJobs } from './seen-jobs.js';
import { TaskHeartbeatService } from './task-heartbeat.service.js';

export interface HeartbeatSettings extends RepairLimits {
  heartbeatEnabled: boolean;
  heartbeatIntervalMs: number;
}

/** What one turn did. */
export interface HeartbeatTurn {
  active: number;
  mine: number;
  beats: number;
  finishes: number;
  repairs: number;
}

interface Look {
  active: number;
  /** Of all active jobs, whoever beats them. */
  activeIds: Set<string>;
  /** Of the active ones: those whose batches are run. A job whose list is read, or which is being answered, takes no batches. */
  downloading: number;
  mine: ExportJobEntity[];
}

/** When in a turn a job is beaten, on this process's monotonic clock. */
type BeatTimes = (job: ExportJobEntity) => MonotonicMs[];
const AT_ONCE: MonotonicMs = 0;

/** The index finds the jobs of the whole turn first, 5,000 of them in about 2 s on busy cores; no slot lies before this. */
const LOOK_MS = 3_000;
/** Share of a turn that the look may take before the beats go on without it. */
const LOOK_SHARE = 1 / 3;
/** A turn of many tables and jobs may take this long beyond its interval before health speaks of it. */
const TURN_GRACE_MS = 30_000;

/*
 * One loop, one turn at a time: look → decide each job → beat each at its slot → wait for the next turn.
 *
 * A job's slot is a fixed place in every turn, so its beats are one interval apart and the fleet's load is even. A job
 * that this process did not beat in the last turn is beaten at once, too: its former owner may have died.
 * A turn never starts before the last one ended and never makes up for a missed one.
 * An error ends a turn, not the loop; a beat's error ends nothing. While the tables cannot be read the jobs of the last look, and those accepted
 * since, are beaten from memory, each until it counts as stalled: Step Functions may well be there, and a healthy job must not time out for an
 * outage of minutes.
 * Finishes, repairs and messages for windows that are not full run beside the beats, never in front of them.
 *
 * Not guaranteed: that a job is beaten by one process only. While coordinators disagree on who is alive two may beat it,
 * which costs a call and harms nothing.
 */
@Injectable()
export class HeartbeatOrchestratorService {
  private readonly seen: SeenJobs;
  private beatenLastTurn = new Set<string>();
  private lastLook: Look | undefined;
  private looking: Promise<'done' | { error: unknown }> | undefined;
  private stopping = new AbortController();
  private loop: Promise<void> | undefined;
  private turn: Promise<HeartbeatTurn> | undefined;
  /** When the loop last went round, whether its turn succeeded or not; at first, when it started. */
  private lastTurnAt: MonotonicMs | undefined;

  constructor(
    private readonly settings: HeartbeatSettings,
    private readonly jobs: JobStateRepositoryPort,
    private readonly coordinators: LiveCoordinatorsPort,
    private readonly heartbeats: TaskHeartbeatService,
    private readonly care: JobCareService,
    private readonly window: JobWindowService,
    private readonly clock: Clock,
    private readonly logger: AppLogger,
    private readonly metrics: Metrics,
  ) {
    this.seen = new SeenJobs(settings.heartbeatIntervalMs);
  }

  start(): void {
    if (this.loop !== undefined) return;
    this.stopping = new AbortController();
    const { heartbeatEnabled, heartbeatIntervalMs } = this.settings;
    if (!heartbeatEnabled) this.logger.info('Heartbeat orchestrator disabled via configuration: finishes jobs, sends no task heartbeats');
    else this.logger.info(`Heartbeat orchestrator started (interval: ${heartbeatIntervalMs}ms)`);
    this.lastTurnAt = this.clock.monotonicMs();
    this.loop = this.run(this.stopping.signal);
  }

  /** For the health answer: what keeps the loop from turning, or `undefined`. */
  get problem(): string | undefined {
    if (this.loop === undefined) return 'not running';
    const silentMs = this.lastTurnAt === undefined ? 0 : this.clock.monotonicMs() - this.lastTurnAt;
    return silentMs > this.settings.heartbeatIntervalMs * 3 + TURN_GRACE_MS ? `no turn for ${Math.round(silentMs / 1_000)} s` : undefined;
  }

  /** No new turn; waits for the beats in flight, each bounded by its own call's timeout, and for what is cared for. */
  async stop(): Promise<void> {
    if (this.loop === undefined) return;
    this.stopping.abort();
    await this.loop;
    this.loop = undefined;
    await this.heartbeats.idle();
    await this.care.idle();
    this.logger.info('Heartbeat orchestrator stopped');
  }

  /** Runs one turn now, with every beat at once, and waits for its beats; joins a turn that is running. For tests and operators. */
  async triggerHeartbeat(): Promise<HeartbeatTurn> {
    const turn = await this.singleTurn(() => [AT_ONCE], new AbortController().signal);
    await this.heartbeats.idle();
    return turn;
  }

  private async run(signal: AbortSignal): Promise<void> {
    const intervalMs = this.settings.heartbeatIntervalMs;
    let turnStart = this.clock.monotonicMs();
    while (!signal.aborted) {
      const start = turnStart;
      const timesOf = ({ jobId }: ExportJobEntity) => {
        const slot = start + slotOf(jobId, intervalMs);
        if (this.beatenLastTurn.has(jobId)) return [slot];
        // A slot that has gone by is what the beat at once makes up for.
        return slot > this.clock.monotonicMs() ? [AT_ONCE, slot] : [AT_ONCE];
      };
      try {
        await this.singleTurn(timesOf, signal);
      } catch (error) {
        this.logger.error('Heartbeat turn failed; the next one tries again', { error: toLoggable(error) });
      }
      const now = this.clock.monotonicMs();
      this.lastTurnAt = now;
      // The grid stands still, so slots stay one interval apart; turns that have gone by are not made up for.
      const goneBy = Math.floor((now - start) / intervalMs);
      turnStart = start + Math.max(1, goneBy) * intervalMs;
      await this.clock.sleepUntil(turnStart, signal);
    }
  }

  private singleTurn(timesOf: BeatTimes, signal: AbortSignal): Promise<HeartbeatTurn> {
    this.turn ??= this.runTurn(timesOf, signal).finally(() => {
      this.turn = undefined;
    });
    return this.turn;
  }

  private async runTurn(timesOf: BeatTimes, signal: AbortSignal): Promise<HeartbeatTurn> {
    const { active, mine } = await this.lookOrRemember();
    const toBeat: { job: ExportJobEntity; at: MonotonicMs }[] = [];
    const turn = { active, mine: mine.length, beats: 0, finishes: 0, repairs: 0 };
    const now = this.clock.monotonicMs();
    for (const job of mine) {
      const { beat, care } = decideHeartbeat(job, this.seen.of(job.jobId, now), now, this.settings);
      if (care === 'finish' && this.beginFinish(job)) turn.finishes++;
      if (care === 'repair' && this.beginRepair(job, now, signal)) turn.repairs++;
      this.care.topUp(job);
      if (beat && this.settings.heartbeatEnabled) toBeat.push(...timesOf(job).map((at) => ({ job, at })));
    }
    this.care.retain(mine);
    this.heartbeats.retain(mine);
    this.reportActive(mine);

    toBeat.sort((a, b) => a.at - b.at);
    const beaten = new Set<string>();
    for (const { job, at } of toBeat) {
      if (at > this.clock.monotonicMs()) await this.clock.sleepUntil(at, signal);
      if (signal.aborted) break;
      await this.heartbeats.beat(job, at === AT_ONCE ? undefined : at, signal);
      beaten.add(job.jobId);
    }
    this.heartbeats.endTurn();
    this.beatenLastTurn = beaten;
    return { ...turn, beats: beaten.size };
  }

  /** A look that is slow goes on, for the next turn; what it finds late must not make the beats late. */
  private async lookOrRemember(): Promise<Look> {
    this.looking ??= this.lookAndRemember().finally(() => {
      this.looking = undefined;
    });
    const inTime = new AbortController();
    const { fresh } = this.heartbeats;
    const knowsNone = this.lastLook === undefined && fresh.list().length === 0;
    const limitMs = knowsNone ? Infinity : this.settings.heartbeatIntervalMs * LOOK_SHARE;
    const late = limitMs === Infinity ? [] : [this.clock.sleep(limitMs, inTime.signal).then(() => 'late' as const)];
    const outcome = await Promise.race([this.looking, ...late]);
    inTime.abort();
    const known = this.lastLook ?? { active: 0, activeIds: new Set(), downloading: 0, mine: [] };
    if (outcome === 'done') return known;
    const mine = fresh.over(known.mine);
    this.seen.meet(mine, this.clock.monotonicMs());
    this.logger.error('Active jobs could not be read in time; those of the last look are beaten', {
      jobs: mine.length,
      ...(outcome === 'late' ? {} : outcome),
    });
    return { ...known, mine };
  }

  private async lookAndRemember(): Promise<'done' | { error: unknown }> {
    const lookAt = this.clock.monotonicMs();
    try {
      const look = await this.look();
      this.heartbeats.fresh.noteLook(look.mine, lookAt, this.settings.heartbeatIntervalMs);
      this.seen.look(this.heartbeats.fresh.over(look.mine), this.clock.monotonicMs());
      this.lastLook = look;
      for (const { jobId } of this.heartbeats.fresh.list()) look.activeIds.add(jobId);
      this.care.noteLook(look.activeIds, (jobId) => this.isMine(jobId));
      this.window.noteDownloadingJobs(look.downloading);
      return 'done';
    } catch (error) {
      return { error: toLoggable(error) };
    }
  }

  private async look(): Promise<Look> {
    const coordinators = this.coordinators.list();
    const mine: ExportJobEntity[] = [];
    const activeIds = new Set<string>();
    let active = 0;
    let downloading = 0;
    for await (const { status, jobIds } of this.jobs.listActive(ACTIVE_STATUSES)) {
      active += jobIds.length;
      for (const jobId of jobIds) activeIds.add(jobId);
      if (status === 'DOWNLOADING') downloading += jobIds.length;
      const owned = jobIds.filter((jobId) => this.isMine(jobId, coordinators));
      mine.push(...(await this.jobs.findMany(owned)));
    }
    return { active, activeIds, downloading, mine };
  }

  private isMine(jobId: string, coordinators = this.coordinators.list()): boolean {
    return ownerOf(jobId, coordinators) === this.coordinators.self;
  }

  private beginFinish(job: ExportJobEntity): boolean {
    return this.care.finish(job, (outcome) => {
      const cannotFinish = job.status === 'FINALIZING' && outcome === 'not-yet';
      this.seen.noteFinish(job.jobId, cannotFinish);
      if (cannotFinish)
        this.logger.error('A job is to be answered, but not all of its batches are final: see its batch rows', { jobId: job.jobId });
    });
  }

  private beginRepair(job: ExportJobEntity, now: MonotonicMs, signal: AbortSignal): boolean {
    const { aliveSince } = this.seen.of(job.jobId, now);
    return this.care.repair(job, now - aliveSince, () => this.seen.noteAlive(job.jobId, now), signal);
  }

  private reportActive(jobs: readonly ExportJobEntity[]): void {
    const withToken = jobs.filter((job) => job.taskToken !== undefined).length;
    this.metrics.gauge('jobs_active_with_token', withToken);
    this.metrics.gauge('jobs_active_without_token', jobs.length - withToken);
    for (const job of jobs)
      this.logger.debug('Job is active', { jobId: job.jobId, status: job.status, progress: JobStateVO.of(job).progress });
  }
}

/** A job's fixed place in every turn, in milliseconds from its start. */
export function slotOf(jobId: string, intervalMs: number): number {
  const lookMs = Math.min(LOOK_MS, intervalMs / 5);
  return lookMs + (hash32(jobId) / 2 ** 32) * (intervalMs - lookMs);
}
