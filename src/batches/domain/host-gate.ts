import { hostOf, type MonotonicMs } from '../../shared/index.js';
import { SourceHost, type GivenUp, type Refusal } from './source-host.js';

/** More paused hosts are not told to a task, because its message must stay small. */
const MAX_PAUSED_TOLD = 100;
/** How often hosts are looked through for those that nobody came back to. */
const FORGET_EVERY_MS = 10_000;

/** The host whose patience a URL takes. None for `s3:`, which is one service for all buckets. */
export function sourceHostOf(address: string): string | undefined {
  const url = URL.parse(address);
  return url === null || url.protocol === 's3:' ? undefined : hostOf(url);
}

/**
 * The hosts of sources by name; each alone decides when its next task may start (SourceHost). A task without a host always passes. What a
 * redirect leads to is known here once its host has refused. A host that has nothing to be remembered for is forgotten.
 */
export class HostGate {
  private readonly hosts = new Map<string, SourceHost>();
  /** Names of those that paused lately. */
  private readonly pausedNames = new Set<string>();
  private forgotAt: MonotonicMs = -Infinity;

  constructor(
    private readonly maxPerHost: number,
    private readonly random: () => number = Math.random,
  ) {}

  /** Hosts that are remembered. */
  get size(): number {
    return this.hosts.size;
  }

  isOpen(name: string | undefined, now: MonotonicMs): boolean {
    return this.find(name)?.isOpen(now) ?? true;
  }

  /** When time alone opens the host; `undefined` when it is not closed by time. */
  opensAt(name: string | undefined, now: MonotonicMs): MonotonicMs | undefined {
    const at = this.find(name)?.opensAt;
    return at === undefined || at <= now ? undefined : at;
  }

  isSilent(name: string | undefined): boolean {
    return this.find(name)?.isSilent ?? false;
  }

  enter(name: string | undefined, now: MonotonicMs): void {
    this.forgetIdle(now);
    if (name !== undefined) this.hostOf(name).enter(now);
  }

  leave(name: string | undefined, wasFlowing: boolean): void {
    this.find(name)?.leave(wasFlowing);
  }

  flows(name: string | undefined): void {
    this.find(name)?.flows();
  }

  /** The host answered something, be it an error. */
  answered(name: string | undefined, now: MonotonicMs): void {
    this.find(name)?.answered(now);
  }

  /** Bytes of a file came. */
  serves(name: string | undefined, now: MonotonicMs): void {
    this.find(name)?.serves(now);
  }

  /** A task got all that it wants of the host; once for each task. */
  served(name: string | undefined, startedAt: MonotonicMs, now: MonotonicMs): void {
    this.find(name)?.served(startedAt, now);
  }

  /** As SourceHost. */
  refused(name: string, refusal: Refusal, startedAt: MonotonicMs, now: MonotonicMs, lastRefusedAt?: MonotonicMs): 'host' | 'file' {
    this.forgetIdle(now);
    this.pausedNames.add(name);
    return this.hostOf(name).refused(refusal, startedAt, now, lastRefusedAt);
  }

  /** As SourceHost. */
  keptSilent(name: string | undefined, startedAt: MonotonicMs, now: MonotonicMs, lastSilentAt?: MonotonicMs): 'host' | 'file' {
    this.forgetIdle(now);
    return name === undefined ? 'file' : this.hostOf(name).keptSilent(startedAt, now, lastSilentAt);
  }

  /** Whether, and why, the host was given up after a task for it came into hand. */
  givenUpSince(name: string | undefined, inHandSince: MonotonicMs): GivenUp | undefined {
    return this.find(name)?.givenUpSince(inHandSince);
  }

  /** How much is left of the pause that the host asked for; 0 without one. */
  pauseLeftMs(name: string | undefined, now: MonotonicMs): number {
    return this.find(name)?.pauseLeftMs(now) ?? 0;
  }

  /** Hosts whose pause is not over, and how much of it is left. */
  paused(now: MonotonicMs): { host: string; forMs: number }[] {
    const paused: { host: string; forMs: number }[] = [];
    for (const host of this.pausedNames) {
      const forMs = this.pauseLeftMs(host, now);
      if (forMs === 0) this.pausedNames.delete(host);
      else if (paused.length < MAX_PAUSED_TOLD) paused.push({ host, forMs });
    }
    return paused;
  }

  private forgetIdle(now: MonotonicMs): void {
    if (now - this.forgotAt < FORGET_EVERY_MS) return;
    this.forgotAt = now;
    for (const [name, host] of this.hosts) if (host.isForgettable(now)) this.hosts.delete(name);
  }

  private find(name: string | undefined): SourceHost | undefined {
    return name === undefined ? undefined : this.hosts.get(name);
  }

  private hostOf(name: string): SourceHost {
    const host = this.hosts.get(name) ?? new SourceHost(this.maxPerHost, this.random);
    this.hosts.set(name, host);
    return host;
  }
}
