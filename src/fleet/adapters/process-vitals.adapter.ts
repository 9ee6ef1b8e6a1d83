import { LoopDelay, type Lifecycle } from '../../platform/index.js';
import { CoordinatorVitalsPort } from '../application/coordinator-vitals.port.js';
import type { CoordinatorDetails } from '../domain/coordinator.entity.js';

export class ProcessVitalsAdapter extends CoordinatorVitalsPort {
  constructor(
    private readonly lifecycle: Pick<Lifecycle, 'phase'>,
    private readonly loopDelay = new LoopDelay(),
  ) {
    super();
  }

  read(): Pick<CoordinatorDetails, 'phase' | 'loopLagMs'> {
    const [loopLagMs = 0] = this.loopDelay.read(99);
    return { phase: this.lifecycle.phase, loopLagMs: Math.round(loopLagMs) };
  }
}
