import type { MonotonicMs } from '../../shared/index.js';

/** After a pause the tasks of a host start one by one for a while: all at once they would earn the next pause. */
const SPREAD_MS = 5_000;
const SPREAD_STEP_MS = 250;
/** Other processes were told the same second. */
const MAX_JITTER_MS = 1_000;

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
}

/** The host whose patience a URL takes: lower case, whatever the port. None for `s3:`, which is one service for all buckets. */
export function sourceHostOf(address: string): string | undefined {
  const url = URL.parse(address);
  return url === null || url.protocol === 's3:' ? undefined : url.hostname.toLowerCase();
}

/**
 * How many tasks of a host run at once in this process, and until when none may start because the host asked for a pause.
 * A task without a host always passes. What a redirect leads to is not known here.
 */
export class HostGate {
  private readonly hosts = new Map<string, Host>();

  constructor(
    private readonly maxPerHost: number,
    private readonly random: () => number = Math.random,
  ) {}

  /** Hosts that are remembered: those with running tasks, a pause, or starts kept apart. */
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
    return { isNews };
  }

  /** When time alone opens the host; `undefined` when it is not closed by time. */
  opensAt(name: string | undefined, now: MonotonicMs): MonotonicMs | undefined {
    const host = this.find(name);
    return host === undefined || host.opensAt <= now ? undefined : host.opensAt;
  }

  private forgetIfIdle(name: string, host: Host, now: MonotonicMs): void {
    if (host.running === 0 && host.opensAt <= now && host.spreadUntil <= now) this.hosts.delete(name);
  }

  private find(name: string | undefined): Host | undefined {
    return name === undefined ? undefined : this.hosts.get(name);
  }

  private hostOf(name: string): Host {
    const known = this.hosts.get(name);
    if (known !== undefined) return known;
    const host = { running: 0, pausedUntil: -Infinity, jitterMs: 0, opensAt: -Infinity, spreadUntil: -Infinity, pausedSince: -Infinity };
    this.hosts.set(name, host);
    return host;
  }
}
