import type { HostGate } from '../domain/host-gate.js';
import type { PlaceUse } from '../domain/places.js';

/** What a running task takes up: one of the three, or nothing any more. */
type Phase = keyof PlaceUse | 'over';

/** What one running task holds: a place, counted for its job and for all jobs, and a connection of its host until the source has been read. */
export class HeldPlace {
  private phase: Phase = 'reading';
  private isFlowing = false;

  constructor(
    private readonly gate: HostGate,
    private readonly host: string | undefined,
    private readonly counts: readonly PlaceUse[],
  ) {
    this.count(1);
  }

  /** Bytes came, and more are to come. */
  flows(): void {
    if (this.isFlowing || !this.hasConnection) return;
    this.isFlowing = true;
    this.gate.flows(this.host);
  }

  becomes(next: Phase): void {
    // A message may be late: what has been read falls silent no more, and what is over is over.
    if (this.phase === 'over' || (this.phase === 'sending' && next !== 'over')) return;
    const hadConnection = this.hasConnection;
    this.count(-1);
    this.phase = next;
    this.count(1);
    if (hadConnection && !this.hasConnection) this.gate.leave(this.host, this.isFlowing);
  }

  private get hasConnection(): boolean {
    return this.phase === 'reading' || this.phase === 'silent';
  }

  private count(by: 1 | -1): void {
    if (this.phase === 'over') return;
    for (const use of this.counts) use[this.phase] += by;
  }
}
