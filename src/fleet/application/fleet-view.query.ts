import type { Clock } from '../../shared/index.js';
import type { CoordinatorRegistryPort } from './coordinator-registry.port.js';
import { FleetMemory, type FleetCount } from './fleet-memory.js';

/** Heartbeat intervals in which whoever lives beats at least twice. */
const WATCH_INTERVALS = 3;
const LOOK_AGAIN_MS = 1_000;

/** Who of the fleet lives, for a process that does not belong to it. */
export class FleetViewQuery {
  constructor(
    private readonly settings: { heartbeatIntervalMs: number },
    private readonly registry: CoordinatorRegistryPort,
    private readonly clock: Clock,
  ) {}

  /** One look. It goes by stored times, so a coordinator whose clock is off by more than three intervals counts as silent. */
  async look(): Promise<FleetCount> {
    const memory = this.newMemory();
    await this.lookInto(memory);
    return memory.count();
  }

  /** Looks until one is known to live, by stored times or because it beats on this process's own clock; at most three heartbeat intervals. */
  async watch(): Promise<FleetCount> {
    const memory = this.newMemory();
    const endsAt = this.clock.monotonicMs() + this.settings.heartbeatIntervalMs * WATCH_INTERVALS;
    for (;;) {
      await this.lookInto(memory);
      const count = memory.count();
      if (count.live.length > 0 || this.clock.monotonicMs() >= endsAt) return count;
      await this.clock.sleep(LOOK_AGAIN_MS);
    }
  }

  private newMemory(): FleetMemory {
    return new FleetMemory(this.settings.heartbeatIntervalMs, this.clock);
  }

  private async lookInto(memory: FleetMemory): Promise<void> {
    const at = this.clock.monotonicMs();
    memory.look(await this.registry.list(), at);
  }
}
