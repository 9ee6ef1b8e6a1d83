/** Who shares the heartbeats of the fleet's jobs. */
export abstract class LiveCoordinatorsPort {
  /** Ids of the coordinators that are alive; always includes this process. */
  abstract list(): Promise<readonly string[]>;
  abstract readonly self: string;
}
