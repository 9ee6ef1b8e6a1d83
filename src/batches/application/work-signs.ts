import { Injectable } from '@nestjs/common';
import { Clock, type MonotonicMs } from '../../shared/index.js';

export interface WorkSign {
  at: MonotonicMs;
  atIso: string;
}

/**
 * Stamped by the loops that do the work, and by nothing else: a process whose timers go on while its loops hang leaves none.
 * Not a sign: a task that merely runs or waits, a batch heartbeat, a full loop that waits for room.
 */
@Injectable()
export class WorkSigns {
  private sign: WorkSign | undefined;

  constructor(private readonly clock: Clock) {}

  note(): void {
    this.sign = this.now();
  }

  /** As a sign of this moment would look; it is not kept. */
  now(): WorkSign {
    return { at: this.clock.monotonicMs(), atIso: this.clock.nowIso() };
  }

  get last(): WorkSign | undefined {
    return this.sign;
  }
}
