/** This process's own sign of life to the fleet, which implements it from memory. */
export abstract class OwnHeartbeatPort {
  /** Whether the last one did not get through: this process may be the one that is cut off. The next one that does clears it. */
  abstract readonly lastWriteFailed: boolean;
}
