import type { AppLogger, MonotonicMs } from '../../shared/index.js';
import type { LeaseService } from './lease.service.js';
import type { OwnHeartbeatPort } from './own-heartbeat.port.js';

/** Turns in a row that a failed heartbeat to the fleet may cost. */
const MAX_UNHEARD_TURNS = 6;

/**
 * A reclaimer doubts itself, not others: a process whose own turn came late, or whose own last lease or coordinator write failed, may be
 * the one that is cut off, and takes none this turn.
 */
export class SelfDoubt {
  private lastTurnAt: MonotonicMs | undefined;
  /** Turns in a row in which this process's own heartbeat to the fleet had failed. */
  private unheardTurns = 0;

  /** @param lateMs a turn that begins longer after the one before is late */
  constructor(
    private readonly lateMs: number,
    private readonly leases: LeaseService,
    private readonly ownHeartbeat: OwnHeartbeatPort,
    private readonly logger: AppLogger,
  ) {}

  /** Answers whether this turn may take none. */
  beginTurn(now: MonotonicMs): boolean {
    const isLate = this.lastTurnAt !== undefined && now - this.lastTurnAt > this.lateMs;
    this.lastTurnAt = now;
    const isUnheard = this.isUnheard();
    const hasFailed = this.leases.lastWriteFailed || isUnheard;
    // It costs one turn. A process that lost its batches to an outage writes under no lease any more: it must not doubt for ever.
    this.leases.lastWriteFailed = false;
    return isLate || hasFailed;
  }

  /** The fleet's table may be away by itself: who doubts himself for that reason for ever leaves the batches of the dead to nobody. */
  private isUnheard(): boolean {
    this.unheardTurns = this.ownHeartbeat.lastWriteFailed ? this.unheardTurns + 1 : 0;
    if (this.unheardTurns === 1)
      this.logger.warn(`Own heartbeat to the fleet failed: this coordinator reclaims nothing for up to ${MAX_UNHEARD_TURNS} turns`);
    return this.unheardTurns > 0 && this.unheardTurns <= MAX_UNHEARD_TURNS;
  }
}
