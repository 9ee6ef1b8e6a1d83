import {
  CoordinatorRegistryPort,
  type RegisteredRow,
  type Registration,
  type RegistryWrite,
} from '../../../src/fleet/application/coordinator-registry.port.js';
import type { CoordinatorDetails, CoordinatorEntity, CoordinatorFacts } from '../../../src/fleet/domain/coordinator.entity.js';
import type { Clock } from '../../../src/shared/index.js';
import { FakeClock } from '../fake-clock.js';
import { Gate } from './gate.js';

interface Row {
  registrationId: string;
  coordinator: CoordinatorEntity;
}

/** Rows in a map, with the same conditions as the table's. The conformance suite keeps it honest. */
export class InMemoryCoordinatorRegistry extends CoordinatorRegistryPort {
  readonly rows = new Map<string, Row>();

  constructor(
    readonly gate: Gate = new Gate(),
    private readonly clock: Clock = new FakeClock(),
  ) {
    super();
  }

  /** @throws when there is no such row: for tests that put it there */
  get(coordinatorId: string): CoordinatorEntity {
    const row = this.rows.get(coordinatorId);
    if (row === undefined) throw new Error(`no coordinator ${coordinatorId}`);
    return row.coordinator;
  }

  find(coordinatorId: string): Promise<RegisteredRow | undefined> {
    return this.gate.pass('findCoordinator', () => {
      const row = this.rows.get(coordinatorId);
      if (row === undefined) return undefined;
      const { epoch, sequence } = row.coordinator;
      return { epoch, sequence, registrationId: row.registrationId };
    });
  }

  register(
    { coordinatorId, registrationId, epoch }: Registration,
    observedEpoch: number | undefined,
    row: CoordinatorFacts & CoordinatorDetails,
  ): Promise<RegistryWrite> {
    return this.gate.pass('register', () => {
      if (this.rows.get(coordinatorId)?.coordinator.epoch !== observedEpoch) return 'refused';
      const coordinator = { ...row, coordinatorId, epoch, sequence: 0, heartbeatAt: this.clock.nowIso() };
      this.rows.set(coordinatorId, { registrationId, coordinator });
      return 'written';
    });
  }

  heartbeat({ coordinatorId, registrationId, epoch }: Registration, sequence: number, details: CoordinatorDetails): Promise<RegistryWrite> {
    return this.gate.pass('heartbeat', () => {
      const row = this.rows.get(coordinatorId);
      if (row?.registrationId !== registrationId || row.coordinator.epoch !== epoch || row.coordinator.sequence >= sequence)
        return 'refused';
      row.coordinator = { ...row.coordinator, ...details, sequence, heartbeatAt: this.clock.nowIso() };
      return 'written';
    });
  }

  list(): Promise<CoordinatorEntity[]> {
    return this.gate.pass('listCoordinators', () => [...this.rows.values()].map(({ coordinator }) => coordinator));
  }
}
