/** Where in its life the process is. */
export type CoordinatorPhase = 'starting' | 'ready' | 'draining';

/** LEAVING: it drains, and others take over what it looked after. */
export type CoordinatorStatus = 'ACTIVE' | 'LEAVING';

/** What stays as it is for the life of a process. */
export interface CoordinatorFacts {
  version: string;
  host: string;
  startedAt: string;
}

/** What a coordinator tells of itself with each heartbeat. */
export interface CoordinatorDetails {
  status: CoordinatorStatus;
  phase: CoordinatorPhase;
  activeTasks: number;
  activeBatches: number;
  /** Delay of the main loop since the former heartbeat, 99th percentile. */
  loopLagMs: number;
  /** When its loops that run batches last turned (ISO-8601, its own clock); absent until they have. */
  workLoopAt?: string;
}

/** One row of the registry: a service process as the rest of the fleet sees it. */
export interface CoordinatorEntity extends CoordinatorFacts, CoordinatorDetails {
  coordinatorId: string;
  /** Counts the registrations under this id. */
  epoch: number;
  /** Counts the heartbeats of this epoch: 0 at registration. */
  sequence: number;
  /** ISO-8601, on the clock of the host that wrote it. */
  heartbeatAt: string;
}
