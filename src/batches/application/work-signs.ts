import { Injectable } from '@nestjs/common';
import { Clock, type MonotonicMs } from '../../shared/index.js';

export interface WorkSign {
  at: MonotonicMs;
  atIso: string;
}

/**
 * Stamped by the loops that do the work, and while tasks wait for their sources: a process whose timers go on while its loops hang leaves none.
 * Not a sign: a task that merely runs, a batch heartbeat, a full loop that waits for room.
 */
@Injectable()
export class WorkSigns {
  private sign: WorkSign | undefined;

  constructor(private readonly clock: Clock) {}

  note(): void {
    this.sign = { at: this.clock.monotonicMs(), atIso: this.clock.nowIso() };
  }

  get last(): WorkSign | undefined {
    return this.sign;
  }
}
