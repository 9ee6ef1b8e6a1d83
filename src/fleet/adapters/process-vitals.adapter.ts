import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Lifecycle } from '../../platform/index.js';
import { CoordinatorVitalsPort } from '../application/coordinator-vitals.port.js';
import type { CoordinatorDetails } from '../domain/coordinator.entity.js';

/** Node measures from one sample to the next, so a loop without any lag shows this. */
const RESOLUTION_MS = 10;

export class ProcessVitalsAdapter extends CoordinatorVitalsPort {
  private readonly loopDelay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor(private readonly lifecycle: Pick<Lifecycle, 'phase'>) {
    super();
    this.loopDelay.enable();
  }

  read(): Pick<CoordinatorDetails, 'phase' | 'loopLagMs'> {
    const delayMs = this.loopDelay.percentile(99) / 1e6;
    this.loopDelay.reset();
    return { phase: this.lifecycle.phase, loopLagMs: Math.max(0, Math.round(delayMs - RESOLUTION_MS)) };
  }
}
