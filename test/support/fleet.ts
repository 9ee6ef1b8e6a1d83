import { LiveCoordinatorsAdapter } from '../../src/fleet/adapters/live-coordinators.adapter.js';
import { CoordinatorHeartbeatService } from '../../src/fleet/application/coordinator-heartbeat.service.js';
import { FleetMemory } from '../../src/fleet/application/fleet-memory.js';
import { RegistrationService } from '../../src/fleet/application/registration.service.js';
import type { CoordinatorDetails } from '../../src/fleet/domain/coordinator.entity.js';
import type { BatchWork } from '../../src/batches/index.js';
import { Gate } from './fakes/gate.js';
import { InMemoryCoordinatorRegistry } from './fakes/in-memory-coordinator-registry.js';
import { RecordingLogger } from './fakes/recording-logger.js';
import { RecordingMetrics } from './fakes/recording-metrics.js';
import { FakeClock } from './fake-clock.js';

export const COORDINATOR_BEAT_MS = 10_000;

/** What a process measures of itself, as the test sets it. */
class FakeVitals {
  phase: CoordinatorDetails['phase'] = 'ready';
  loopLagMs = 3;

  read(): Pick<CoordinatorDetails, 'phase' | 'loopLagMs'> {
    return { phase: this.phase, loopLagMs: this.loopLagMs };
  }
}

class FakeBatchWork {
  now: BatchWork = { activeTasks: 0, activeBatches: 0, lastSign: undefined };
  abandoned = 0;

  report(): BatchWork {
    return this.now;
  }

  abandon(): void {
    this.abandoned++;
  }
}

/**
 * A registry on one clock; `coordinator()` is one process on them, of which several may have one
 * id.
 */
export function aFleet(clock = new FakeClock()) {
  const gate = new Gate();
  const registry = new InMemoryCoordinatorRegistry(gate, clock);

  const coordinator = (coordinatorId = 'me') => {
    const [logger, metrics, vitals, work] = [new RecordingLogger(), new RecordingMetrics(), new FakeVitals(), new FakeBatchWork()];
    const memory = new FleetMemory(COORDINATOR_BEAT_MS, clock);
    const live = new LiveCoordinatorsAdapter(coordinatorId, memory);
    const heartbeat = new CoordinatorHeartbeatService(
      { coordinatorId, heartbeatIntervalMs: COORDINATOR_BEAT_MS, table: 'Coordinators', version: '1.2.3', host: 'host-1' },
      registry,
      new RegistrationService(registry),
      memory,
      vitals,
      work,
      { clock, logger, metrics },
    );
    /** How many of its heartbeats had this outcome. */
    const counted = (outcome: string) => metrics.increments.filter(({ labels }) => labels.outcome === outcome).length;
    return { heartbeat, memory, live, logger, metrics, vitals, work, counted };
  };
  /** Lets everyone beat so many times. */
  const beats = (count: number) => clock.advance(count * COORDINATOR_BEAT_MS);
  return { gate, clock, registry, coordinator, beats };
}
