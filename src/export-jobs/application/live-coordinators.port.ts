/** Who shares the work; the fleet implements it. Both answers come from memory: asking costs nothing and never fails. */
export abstract class LiveCoordinatorsPort {
  abstract readonly self: string;
  /** Ids of the coordinators that are alive and not leaving, always with `self`. */
  abstract list(): readonly string[];
  /** Whether some live coordinator's loops that run batches turn: work that waits in the queue waits for capacity that exists. */
  abstract someoneWorks(): boolean;
}
