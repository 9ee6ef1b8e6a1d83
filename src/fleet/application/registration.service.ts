import { Injectable } from '@nestjs/common';
import { newId } from '../../shared/index.js';
import type { CoordinatorDetails, CoordinatorFacts } from '../domain/coordinator.entity.js';
import { CoordinatorRegistryPort, type Registration } from './coordinator-registry.port.js';

/**
 * What a heartbeat taught us. `removed`: somebody declared this process dead, its row is gone or not as we wrote it. `taken`: another process
 * registered under our id. `unknown`: it may or may not have got through.
 */
export type HeartbeatOutcome = { kind: 'written' } | { kind: 'removed' } | { kind: 'taken' } | { kind: 'unknown'; cause: unknown };

/**
 * Writes of this process's row. A refused write is a verdict only once a reading shows that the row is not ours: the SDK may have retried
 * a write whose reply was lost and met its own work.
 */
@Injectable()
export class RegistrationService {
  constructor(private readonly registry: CoordinatorRegistryPort) {}

  /**
   * Takes the id over from whoever has it, with the next epoch; of several that try at once, each gets one of its own.
   * @param after a former epoch of ours: the next one is higher, also when the row is gone
   * @throws the registry's error when it cannot be written
   */
  async register(coordinatorId: string, row: CoordinatorFacts & CoordinatorDetails, after = 0): Promise<Registration> {
    const registrationId = newId();
    let failure: unknown;
    for (;;) {
      const observed = await this.registry.find(coordinatorId);
      if (observed?.registrationId === registrationId) return { coordinatorId, registrationId, epoch: observed.epoch };
      if (failure !== undefined) throw failure;
      const registration = { coordinatorId, registrationId, epoch: Math.max(observed?.epoch ?? 0, after) + 1 };
      try {
        if ((await this.registry.register(registration, observed?.epoch, row)) === 'written') return registration;
      } catch (error) {
        failure = error;
      }
    }
  }

  async beat(registration: Registration, sequence: number, details: CoordinatorDetails): Promise<HeartbeatOutcome> {
    try {
      if ((await this.registry.heartbeat(registration, sequence, details)) === 'written') return { kind: 'written' };
      const row = await this.registry.find(registration.coordinatorId);
      if (row === undefined) return { kind: 'removed' };
      if (row.registrationId !== registration.registrationId) return { kind: 'taken' };
      return row.epoch === registration.epoch && row.sequence >= sequence ? { kind: 'written' } : { kind: 'removed' };
    } catch (cause) {
      return { kind: 'unknown', cause };
    }
  }
}
