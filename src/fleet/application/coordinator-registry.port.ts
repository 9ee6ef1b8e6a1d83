import type { CoordinatorDetails, CoordinatorEntity, CoordinatorFacts } from '../domain/coordinator.entity.js';

/** One life of a process under its id; `registrationId` is random, so that a write whose reply was lost is recognised. */
export interface Registration {
  coordinatorId: string;
  registrationId: string;
  epoch: number;
}

/** Who has the id, as far as its next owner must know. */
export interface RegisteredRow {
  epoch: number;
  sequence: number;
  registrationId: string | undefined;
}

/** `refused`: the condition failed; read again, it may have been your own write that a retry met. */
export type RegistryWrite = 'written' | 'refused';

/**
 * Every write is one conditional write; a write whose answer was lost throws, and its caller reads again. Reads are consistent.
 * Each call throws AppErrors: disposition `retry` when the same may succeed later, else `fatal`; of these, code `TABLE_UNUSABLE` when
 * the table is not there, or this process may not use it.
 */
export abstract class CoordinatorRegistryPort {
  abstract find(coordinatorId: string): Promise<RegisteredRow | undefined>;
  /** A row anew with sequence 0, IF it is as observed: of that epoch, or not there (`undefined`). */
  abstract register(
    registration: Registration,
    observedEpoch: number | undefined,
    row: CoordinatorFacts & CoordinatorDetails,
  ): Promise<RegistryWrite>;
  /** IF the row is of this registration and `sequence` is newer. */
  abstract heartbeat(registration: Registration, sequence: number, details: CoordinatorDetails): Promise<RegistryWrite>;
  /** All rows that can be read; one of a newer version, or of something else, is left out with a warning. */
  abstract list(): Promise<CoordinatorEntity[]>;
}
