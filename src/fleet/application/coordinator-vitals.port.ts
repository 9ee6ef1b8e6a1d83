import type { CoordinatorDetails } from '../domain/coordinator.entity.js';

/** What this process measures of itself. */
export abstract class CoordinatorVitalsPort {
  /** As of now; the loop's lag since the last time this was asked. */
  abstract read(): Pick<CoordinatorDetails, 'phase' | 'loopLagMs'>;
}
