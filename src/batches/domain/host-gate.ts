import type { MonotonicMs } from '../../shared/index.js';

/** After a pause the tasks of a host start one by one for a while: all at once they would earn the next pause. */
const SPREAD_MS = 5_000;
const SPREAD_STEP_MS = 250;
/** Other processes were told the same second. */
const MAX_JITTER_MS = 1_000;
/** A host that only ever asked for patience for so long serves nothing: three pauses of the longest kind, or more of shorter ones. */
export const HOST_PATIENCE_MS = 15 * 60_000;
/** Until so long after a pause the next refusal goes on with it: its tasks come back after a backoff, and an answer may take a minute. */
const SAME_REFUSAL_MS = 120_000;
/** More are not told to a task: its message stays small. */
const MAX_PAUSED_TOLD = 100;

interface Host {
  running: number;
  /** As the host asked; `jitterMs` of this pause come on top. */
  pausedUntil: MonotonicMs;
  jitterMs: number;
  /** No task starts before. */
  opensAt: MonotonicMs;
  /** Starts are kept apart until then. */
  spreadUntil: MonotonicMs;
  /** When the last pause began; lengthening it is no beginning. */
  pausedSince: MonotonicMs;
  /** The first wish for patience since the host served anything. */
  refusedSince: MonotonicMs | undefined;
  /** The last wish for patience that came when ours was over. */
  givenUpAt: MonotonicMs;
}

/** The host whose patience a URL takes: lower case, whatever the port. None for `s3:`, which is one service for all buckets. */
export function sourceHostOf(address: string): string | undefined {
  const url = URL.parse(address);
  return url === null || url.protocol === 's3:' ? undefined : url.hostname.toLowerCase();
}

/**
 * How many tasks of a host run at once in this process, and until when none may start because the host asked for a pause.
 * A task without a host always passes. What a redirect leads to is known here once its host has asked for a pause.
 *
 * A host that serves nothing for HOST_PATIENCE_MS is given up: each refusal from then on is the answer to all that is in hand for it at
 * that moment. What comes later waits for the next refusal, so that a process which alone is refused does not fail whole jobs in seconds.
 */
export class HostGate {
  private readonly hosts = new Map<string, Host>();

  constructor(
    private readonly maxPerHost: number,
    private readonly random: () => number = Math.random,
  ) {}

  /** Hosts that are remembered: those with running tasks, a pause, or starts kept apart, and those that have not served since their pause. */
  get size(): number {
    return this.hosts.size;
  }

  isOpen(name: string | undefined, now: MonotonicMs): boolean {
    const host = this.find(name);
    return host === undefined || (host.running < this.maxPerHost && host.opensAt <= now);
  }

  enter(name: string | undefined, now: MonotonicMs): void {
    if (name === undefined) return;
    const host = this.hostOf(name);
    host.running++;
    if (now < host.spreadUntil) host.opensAt = now + SPREAD_STEP_MS;
  }

  leave(name: string | undefined, now: MonotonicMs): void {
    const host = this.find(name);
    if (name === undefined || host === undefined) return;
    host.running--;
    this.forgetIfIdle(name, host, now);
  }

  /**
   * The host answered a task that started at `startedAt` with a wish for patience. A pause only grows. `isNews`: it is the first answer of its
   * kind to a task that could have had a better one; the others were already under way when the pause began, and only tell the same again.
   */
  pause(name: string, forMs: number, startedAt: MonotonicMs, now: MonotonicMs): { isNews: boolean } {
    // Hosts that nobody came back to: a pause is rare enough to look through all.
    for (const [other, host] of this.hosts) this.forgetIfIdle(other, host, now);
    const host = this.hostOf(name);
    const isNews = startedAt > host.pausedSince;
    if (isNews) {
      host.pausedSince = now;
      host.jitterMs = Math.floor(this.random() * MAX_JITTER_MS);
    }
    host.pausedUntil = Math.max(host.pausedUntil, now + forMs);
    host.opensAt = Math.max(host.opensAt, host.pausedUntil + host.jitterMs);
    host.spreadUntil = host.opensAt + SPREAD_MS;
    host.refusedSince ??= now;
    if (now - host.refusedSince >= HOST_PATIENCE_MS) host.givenUpAt = now;
    return { isNews };
  }

  /** The host answered: with bytes of a file, or with why there is none. */
  serves(name: string | undefined, now: MonotonicMs): void {
    const host = this.find(name);
    if (name === undefined || host === undefined) return;
    host.refusedSince = undefined;
    host.givenUpAt = -Infinity;
    this.forgetIfIdle(name, host, now);
  }

  /** Whether the host was given up after a task for it came into hand. */
  hasGivenUp(name: string | undefined, inHandSince: MonotonicMs): boolean {
    return (this.find(name)?.givenUpAt ?? -Infinity) > inHandSince;
  }

  /** Hosts whose pause is not over, and how much of it is left. */
  paused(now: MonotonicMs): { host: string; forMs: number }[] {
    const paused: { host: string; forMs: number }[] = [];
    for (const [host, { pausedUntil }] of this.hosts) {
      if (pausedUntil > now) paused.push({ host, forMs: pausedUntil - now });
      if (paused.length === MAX_PAUSED_TOLD) break;
    }
    return paused;
  }

  /** When time alone opens the host; `undefined` when it is not closed by time. */
  opensAt(name: string | undefined, now: MonotonicMs): MonotonicMs | undefined {
    const host = this.find(name);
    return host === undefined || host.opensAt <= now ? undefined : host.opensAt;
  }

  private forgetIfIdle(name: string, host: Host, now: MonotonicMs): void {
    const isOver = host.opensAt <= now && host.spreadUntil <= now;
    const mayGoOn = host.refusedSince !== undefined && now < host.opensAt + SAME_REFUSAL_MS;
    if (host.running === 0 && isOver && !mayGoOn) this.hosts.delete(name);
  }

  private find(name: string | undefined): Host | undefined {
    return name === undefined ? undefined : this.hosts.get(name);
  }

  private hostOf(name: string): Host {
    const known = this.hosts.get(name);
    if (known !== undefined) return known;
    const never = -Infinity;
    const host: Host = {
      running: 0,
      pausedUntil: never,
      jitterMs: 0,
      opensAt: never,
      spreadUntil: never,
      pausedSince: never,
      refusedSince: undefined,
      givenUpAt: never,
    };
    this.hosts.set(name, host);
    return host;
  }
}
