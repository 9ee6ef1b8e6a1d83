import type { MonotonicMs } from '../../shared/index.js';
import { HostPace } from './host-pace.js';

/** Other processes were told the same second: a pause ends later by up to this share of it, and by a second at most. */
const JITTER_SHARE = 0.1;
const MAX_JITTER_MS = 1_000;
/** How long a host is left alone that refused without saying for how long; doubled while it serves nothing. */
const PAUSE_BASE_MS = 500;
const PAUSE_CAP_MS = 30_000;
/** A host that only ever asked for patience for so long serves nothing: three pauses of the longest kind, or more of shorter ones. */
export const HOST_PATIENCE_MS = 15 * 60_000;
/** A host that has answered nothing for so long is given up: about as long as the four tries of one file take. */
export const SILENCE_PATIENCE_MS = 5 * 60_000;
/** So many tries in a row without any answer, and the host is asked with few connections, one after another. */
const SILENT_TRIES = 4;
const PROBES = 4;
const PROBE_EVERY_MS = 15_000;
/** A refusal that comes later than this after the last pause begins a new series: tasks come back after a backoff, an answer may take a minute. */
const SAME_SERIES_MS = 120_000;
/** A 503 without a time may be one file's fault. It is the host's when this share of its last answers (about ten) were such. */
const BUSY_SHARE = 0.25;
const BUSY_WEIGHT = 0.1;

/** What a host served in the last seconds tells what it bears, should it refuse the next task. */
const REMEMBERED_MS = 10_000;

export interface Refusal {
  /** What the host asked for, in milliseconds; absent when it gave no time. */
  forMs?: number | undefined;
  /** It said so in so many words: a 429, or a time to wait. A bare 503 is not explicit. */
  isExplicit: boolean;
}

/** Why everything in hand for a host fails: it has only asked for patience, or has not answered at all. */
export type GivenUp = 'refuses' | 'silent';

const NEVER: MonotonicMs = -Infinity;

/**
 * One host of sources, as this process meets it: how many tasks it gets at once, how many per second, and when none.
 *
 *   refused (429, 503, Retry-After) ─▶ paused, then paced (HostPace); over long transfers: as many at once as it went on serving
 *                                      and one, and one more after each round that it serves
 *   no answer to SILENT_TRIES tries ─▶ a few probes, one every 15 s, until it answers anything
 *   only refusals for 15 minutes, or silence for 5 ─▶ given up: each further refusal or silent try fails what is in hand at that moment
 *
 * What comes into hand later waits for the next such try, because a process that alone is refused, or cut off, must not fail whole jobs in
 * seconds that others could serve.
 */
export class SourceHost {
  running = 0;
  private readonly pace = new HostPace();
  /** Running tasks that have brought bytes and go on. */
  private flowing = 0;
  /** How many at once the host went on serving when it refused more. */
  private bearsAtOnce = Infinity;
  private pausedUntil: MonotonicMs = NEVER;
  private reopensAt: MonotonicMs = NEVER;
  /** When the last pause began; lengthening it is no beginning. */
  private pausedSince: MonotonicMs = NEVER;
  private lastStartAt: MonotonicMs = NEVER;
  /** The latest start of a task that was served. */
  private lastServedStartAt: MonotonicMs = NEVER;
  private lastAnswerAt: MonotonicMs = NEVER;
  private lastSilenceAt: MonotonicMs = NEVER;
  /** Pauses in a row with nothing served between them, and when the first of them began. */
  private refusals = 0;
  private refusedSince: MonotonicMs | undefined;
  private busyShare = 0;
  /** Tries in a row without any answer, and when the first of them began. */
  private silentTries = 0;
  private silentSince: MonotonicMs | undefined;
  private givenUp: { at: MonotonicMs; why: GivenUp } | undefined;

  constructor(
    private readonly maxAtOnce: number,
    private readonly random: () => number,
  ) {}

  /** When time opens the host; it may be full all the same. */
  get opensAt(): MonotonicMs {
    return Math.max(this.reopensAt, this.pace.opensAt, this.isSilent ? this.lastStartAt + PROBE_EVERY_MS : NEVER);
  }

  get isSilent(): boolean {
    return this.silentTries >= SILENT_TRIES;
  }

  isOpen(now: MonotonicMs): boolean {
    return this.running < this.limit && this.opensAt <= now;
  }

  pauseLeftMs(now: MonotonicMs): number {
    return Math.max(0, this.pausedUntil - now);
  }

  enter(now: MonotonicMs): void {
    this.running++;
    this.lastStartAt = now;
    this.pace.started(now);
  }

  leave(wasFlowing: boolean): void {
    this.running--;
    if (wasFlowing) this.flowing--;
  }

  /** A running task has brought its first bytes, and more are to come. */
  flows(): void {
    this.flowing++;
  }

  /** The host answered something, be it an error: it is not silent. */
  answered(now: MonotonicMs): void {
    this.lastAnswerAt = now;
    this.silentTries = 0;
    this.silentSince = undefined;
    if (this.givenUp?.why === 'silent') this.givenUp = undefined;
  }

  /** Bytes of a file came. */
  serves(now: MonotonicMs): void {
    this.answered(now);
    this.refusedSince = undefined;
    this.givenUp = undefined;
  }

  /** A task that started at `startedAt` got all that it wants of the host: the file, or why there is none. Once for each task. */
  served(startedAt: MonotonicMs, now: MonotonicMs): void {
    this.serves(now);
    this.refusals = 0;
    this.lastServedStartAt = Math.max(this.lastServedStartAt, startedAt);
    this.busyShare *= 1 - BUSY_WEIGHT;
    this.pace.served(startedAt, now);
    if (this.running >= Math.floor(this.bearsAtOnce)) this.bearsAtOnce += 1 / this.bearsAtOnce;
  }

  /**
   * The host refused a task that started at `startedAt`. @param lastRefusedAt when it refused the same file before
   * @returns `host`: everybody waits, and the file is not to blame · `file`: it is, as far as can be told
   */
  refused({ forMs, isExplicit }: Refusal, startedAt: MonotonicMs, now: MonotonicMs, lastRefusedAt: MonotonicMs = NEVER): 'host' | 'file' {
    this.answered(now);
    if (!isExplicit && !this.isBusy(now, lastRefusedAt)) return 'file';
    // Under way since before the pause began: it only tells the same again, perhaps for longer.
    const isNews = startedAt > this.pausedSince;
    if (isNews) this.beginPause(now);
    const waitMs = Math.max(forMs ?? 0, forMs === undefined || this.refusals > 1 ? this.ownPauseMs : 0);
    this.pausedUntil = Math.max(this.pausedUntil, now + waitMs);
    const jitterMs = isNews ? this.random() * Math.min(MAX_JITTER_MS, waitMs * JITTER_SHARE) : 0;
    this.reopensAt = Math.max(this.reopensAt, this.pausedUntil + jitterMs);
    this.pace.refused(startedAt, now, this.reopensAt);
    this.refusedSince ??= now;
    if (now - this.refusedSince >= HOST_PATIENCE_MS) this.givenUp = { at: now, why: 'refuses' };
    return 'host';
  }

  /**
   * A try that started at `startedAt` ended without any answer. @param lastSilentAt when the same file met none before
   * @returns `host`: it has answered nobody meanwhile, and the file is not to blame · `file`: it has answered others
   */
  keptSilent(startedAt: MonotonicMs, now: MonotonicMs, lastSilentAt = startedAt): 'host' | 'file' {
    if (this.lastAnswerAt > startedAt) return 'file';
    this.silentTries++;
    this.lastSilenceAt = now;
    this.silentSince ??= startedAt;
    if (this.isSilent && now - this.silentSince >= SILENCE_PATIENCE_MS) this.givenUp = { at: now, why: 'silent' };
    return this.lastAnswerAt > lastSilentAt ? 'file' : 'host';
  }

  /** Whether, and why, the host was given up after a task for it came into hand. */
  givenUpSince(inHandSince: MonotonicMs): GivenUp | undefined {
    return this.givenUp !== undefined && this.givenUp.at > inHandSince ? this.givenUp.why : undefined;
  }

  /** Nothing needs to be remembered of it. */
  isForgettable(now: MonotonicMs): boolean {
    if (this.running > 0 || this.opensAt > now || this.pace.isLimited(now)) return false;
    if (this.refusedSince !== undefined && now - this.reopensAt < SAME_SERIES_MS) return false;
    return now - this.lastAnswerAt >= REMEMBERED_MS && now - this.lastSilenceAt >= SAME_SERIES_MS;
  }

  private get limit(): number {
    return Math.min(this.maxAtOnce, Math.floor(this.bearsAtOnce), this.isSilent ? PROBES : Infinity);
  }

  private get ownPauseMs(): number {
    return Math.min(PAUSE_CAP_MS, PAUSE_BASE_MS * 2 ** (this.refusals - 1));
  }

  private beginPause(now: MonotonicMs): void {
    if (this.refusedSince !== undefined && now - this.reopensAt >= SAME_SERIES_MS) this.refusedSince = undefined;
    this.pausedSince = now;
    this.refusals++;
    // One more than that, or a single long transfer would keep every other file away for as long as it takes.
    if (this.flowing > 0) this.bearsAtOnce = this.flowing + 1;
  }

  /** A file that is refused again although requests that began later were served is at fault itself; so is one of few. */
  private isBusy(now: MonotonicMs, lastRefusedAt: MonotonicMs): boolean {
    this.busyShare += BUSY_WEIGHT * (1 - this.busyShare);
    if (lastRefusedAt !== NEVER && this.lastServedStartAt > lastRefusedAt) return false;
    return this.pace.isLimited(now) || this.busyShare > BUSY_SHARE;
  }
}
