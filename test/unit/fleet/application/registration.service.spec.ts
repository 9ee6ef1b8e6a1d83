import { beforeEach, describe, expect, it } from '@jest/globals';
import { RegistrationService } from '../../../../src/fleet/application/registration.service.js';
import type { Registration } from '../../../../src/fleet/application/coordinator-registry.port.js';
import { aCoordinatorRow, coordinatorDetails } from '../../../support/builders.js';
import { Gate } from '../../../support/fakes/gate.js';
import { InMemoryCoordinatorRegistry } from '../../../support/fakes/in-memory-coordinator-registry.js';

const ROW = aCoordinatorRow();

let gate: Gate;
let registry: InMemoryCoordinatorRegistry;
let registrations: RegistrationService;

beforeEach(() => {
  gate = new Gate();
  registry = new InMemoryCoordinatorRegistry(gate);
  registrations = new RegistrationService(registry);
});

const register = (after?: number) => registrations.register('me', ROW, after);
const beat = (registration: Registration, sequence: number) => registrations.beat(registration, sequence, coordinatorDetails());

describe('a registration', () => {
  it('is of epoch 1 for a new id, and of the next epoch for one that was there', async () => {
    await expect(register()).resolves.toMatchObject({ coordinatorId: 'me', epoch: 1 });
    await expect(register()).resolves.toMatchObject({ epoch: 2 });
    expect(registry.get('me')).toMatchObject({ epoch: 2, sequence: 0 });
  });

  it('is of a higher epoch than our last, also when the row was removed', async () => {
    await expect(register(7)).resolves.toMatchObject({ epoch: 8 });
  });

  it('reads again when another process was faster, and takes the id over from it', async () => {
    await register();
    gate.next('register', async () => void (await register()));
    await expect(register()).resolves.toMatchObject({ epoch: 3 });
  });

  it.each(['retried', 'lost-reply'] as const)('recognises its own write when the reply is lost (%s)', async (fault) => {
    gate.next('register', fault);
    await expect(register()).resolves.toMatchObject({ epoch: 1 });
    expect(registry.get('me').epoch).toBe(1);
  });

  it.each(['findCoordinator', 'register'])('says what is wrong when the table cannot be used (%s)', async (call) => {
    gate.next(call, 'unavailable');
    await expect(register()).rejects.toThrow(`${call} is unavailable`);
    expect(registry.rows.size).toBe(0);
  });
});

describe('a heartbeat', () => {
  let mine: Registration;
  beforeEach(async () => {
    mine = await register();
  });

  it('is written', async () => {
    await expect(beat(mine, 1)).resolves.toEqual({ kind: 'written' });
    expect(registry.get('me').sequence).toBe(1);
  });

  it('that an SDK retry met is our own, also when a later one has come by then', async () => {
    gate.next('heartbeat', 'retried');
    await expect(beat(mine, 1)).resolves.toEqual({ kind: 'written' });
    await beat(mine, 5);
    await expect(beat(mine, 4)).resolves.toEqual({ kind: 'written' });
  });

  it.each(['unavailable', 'lost-reply'] as const)('that is %s is unknown, and not lost', async (fault) => {
    gate.next('heartbeat', fault);
    await expect(beat(mine, 1)).resolves.toMatchObject({ kind: 'unknown' });
    await expect(beat(mine, 2)).resolves.toEqual({ kind: 'written' });
  });

  it('that is refused is unknown when the reading fails', async () => {
    await register();
    gate.next('findCoordinator', 'unavailable');
    await expect(beat(mine, 1)).resolves.toMatchObject({ kind: 'unknown' });
  });

  it('finds the id taken by another process', async () => {
    await register();
    await expect(beat(mine, 1)).resolves.toEqual({ kind: 'taken' });
    expect(registry.get('me')).toMatchObject({ epoch: 2, sequence: 0 });
  });

  it('finds its row removed, and one of our own that is of another epoch by now', async () => {
    const row = registry.rows.get('me');
    registry.rows.delete('me');
    await expect(beat(mine, 1)).resolves.toEqual({ kind: 'removed' });
    if (row !== undefined) registry.rows.set('me', { ...row, coordinator: { ...row.coordinator, epoch: 2 } });
    await expect(beat(mine, 1)).resolves.toEqual({ kind: 'removed' });
  });
});
