import { OwnHeartbeatPort } from '../../batches/index.js';
import type { Clock, MonotonicMs } from '../../shared/index.js';
import type { CoordinatorEntity } from '../domain/coordinator.entity.js';
import { isInUse, isLive, isSilent, isWorking, seeCoordinator, type Sighting } from '../domain/liveness.js';

/** Ids, as far as the table tells. Who leaves, or does not work yet, is neither. */
export interface FleetCount {
  live: string[];
  silent: string[];
}

/**
 * What this process knows of the fleet and of its own place in it. Filled by the coordinator heartbeat, read by everyone else; where that
 * does not run (the CLI) it is empty. When the table cannot be read it ages, and in the end this process is alone: it then beats jobs
 * that another one beats too, which harms nothing.
 */
export class FleetMemory extends OwnHeartbeatPort {
  lastWriteFailed = false;
  /** When this process's own loops that run batches last turned. */
  ownWorkAt: MonotonicMs | undefined;
  private sightings = new Map<string, Sighting>();
  private lastLookAt: MonotonicMs | undefined;

  constructor(
    private readonly intervalMs: number,
    private readonly clock: Clock,
  ) {
    super();
  }

  /** @param at start of the reading that brought all these rows; a coordinator that is not among them is forgotten */
  look(rows: readonly CoordinatorEntity[], at: MonotonicMs): void {
    const look = { at, formerAt: this.lastLookAt, nowMs: Date.parse(this.clock.nowIso()) };
    this.sightings = new Map(
      rows.map((row) => [row.coordinatorId, seeCoordinator(this.sightings.get(row.coordinatorId), row, look, this.intervalMs)]),
    );
    this.lastLookAt = at;
  }

  /** Whether a process has this id, as far as the table tells. */
  isInUse(coordinatorId: string): boolean {
    const sighting = this.sightings.get(coordinatorId);
    return sighting !== undefined && isInUse(sighting, this.clock.monotonicMs(), this.intervalMs);
  }

  /** Ids of those that share the work, as far as the table tells. */
  live(): string[] {
    return this.idsOf(isLive);
  }

  count(): FleetCount {
    return { live: this.live(), silent: this.idsOf(isSilent) };
  }

  someoneWorks(): boolean {
    const now = this.clock.monotonicMs();
    if (isWorking(this.ownWorkAt, now, this.intervalMs)) return true;
    return [...this.sightings.values()].some(
      (sighting) => isLive(sighting, now, this.intervalMs) && isWorking(sighting.workedAt, now, this.intervalMs),
    );
  }

  private idsOf(is: typeof isLive): string[] {
    const now = this.clock.monotonicMs();
    return [...this.sightings].filter(([, sighting]) => is(sighting, now, this.intervalMs)).map(([coordinatorId]) => coordinatorId);
  }
}
