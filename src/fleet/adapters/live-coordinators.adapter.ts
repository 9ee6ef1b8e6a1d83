import { LiveCoordinatorsPort } from '../../export-jobs/index.js';
import type { FleetMemory } from '../application/fleet-memory.js';

/** Answers from what the last looks at the registry taught; this process itself always counts. */
export class LiveCoordinatorsAdapter extends LiveCoordinatorsPort {
  constructor(
    readonly self: string,
    private readonly memory: FleetMemory,
  ) {
    super();
  }

  list(): readonly string[] {
    return [...new Set([this.self, ...this.memory.live()])];
  }

  someoneWorks(): boolean {
    return this.memory.someoneWorks();
  }
}
