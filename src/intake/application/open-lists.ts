import type { Clock } from '../../shared/index.js';
import { interrupted } from './interrupted.js';

/**
 * A list that waits so long to be opened is offered to another coordinator, again and again after
 * this.
 */
const PATIENCE_MS = 5_000;

/** Asked with the place that a waiting list has in the line, from 1. True: somebody else has its job now. */
export type MayLeave = (place: number) => Promise<boolean>;

interface Waiting {
  host: string;
  admitted: AbortController;
}

/**
 * How many lists may be open at a time: each costs a socket and a temporary file, for as long as
 * its source likes. One host's lists may have half of that, because its silence must not keep the
 * lists of all other hosts closed. Those who wait are let in by age, as far as their host has room.
 */
export class OpenLists {
  private readonly maxOfHost: number;
  private open = 0;
  private readonly openOfHost = new Map<string, number>();
  private readonly line: Waiting[] = [];

  constructor(
    private readonly max: number,
    private readonly clock: Clock,
  ) {
    this.maxOfHost = Math.ceil(max / 2);
  }

  /** How many wait to be opened. */
  get waiting(): number {
    return this.line.length;
  }

  /**
   * @param mayLeave asked every 5 s of waiting
   * @throws AppError `EXPANSION_INTERRUPTED` when the signal is aborted first
   */
  async enter(host: string, signal: AbortSignal, mayLeave: MayLeave): Promise<boolean> {
    if (signal.aborted) throw interrupted();
    if (this.hasRoom(host)) {
      this.count(host, 1);
      return true;
    }
    const me = { host, admitted: new AbortController() };
    this.line.push(me);
    const hasLeft = await this.waitInLine(AbortSignal.any([signal, me.admitted.signal]), () => mayLeave(this.line.indexOf(me) + 1));
    if (me.admitted.signal.aborted) {
      if (!hasLeft && !signal.aborted) return true;
      this.exit(host);
    } else this.line.splice(this.line.indexOf(me), 1);
    if (!hasLeft) throw interrupted();
    return false;
  }

  /** Whoever entered leaves once. */
  exit(host: string): void {
    this.count(host, -1);
    const next = this.line.find((waiting) => this.hasRoom(waiting.host));
    if (next === undefined) return;
    this.line.splice(this.line.indexOf(next), 1);
    this.count(next.host, 1);
    next.admitted.abort();
  }

  private async waitInLine(woken: AbortSignal, mayLeave: () => Promise<boolean>): Promise<boolean> {
    for (;;) {
      await this.clock.sleep(PATIENCE_MS, woken);
      if (woken.aborted) return false;
      if (await mayLeave()) return true;
    }
  }

  private hasRoom(host: string): boolean {
    return this.open < this.max && (this.openOfHost.get(host) ?? 0) < this.maxOfHost;
  }

  private count(host: string, delta: number): void {
    this.open += delta;
    const ofHost = (this.openOfHost.get(host) ?? 0) + delta;
    if (ofHost === 0) this.openOfHost.delete(host);
    else this.openOfHost.set(host, ofHost);
  }
}
