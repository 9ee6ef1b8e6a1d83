import { beforeEach, expect, it } from '@jest/globals';
import { FleetViewQuery } from '../../../../src/fleet/application/fleet-view.query.js';
import type { CoordinatorEntity } from '../../../../src/fleet/domain/coordinator.entity.js';
import { aCoordinator } from '../../../support/builders.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import type { FakeClock } from '../../../support/fake-clock.js';
import { InMemoryCoordinatorRegistry } from '../../../support/fakes/in-memory-coordinator-registry.js';

const INTERVAL_MS = 10_000;

let clock: FakeClock;
let registry: InMemoryCoordinatorRegistry;
let view: FleetViewQuery;
beforeEach(() => {
  clock = newClock();
  registry = new InMemoryCoordinatorRegistry(undefined, clock);
  view = new FleetViewQuery({ heartbeatIntervalMs: INTERVAL_MS }, registry, clock);
});

const put = (coordinatorId: string, over: Partial<CoordinatorEntity>) =>
  registry.rows.set(coordinatorId, { registrationId: coordinatorId, coordinator: aCoordinator({ coordinatorId, ...over }) });
const ago = (seconds: number) => new Date(Date.parse(clock.nowIso()) - seconds * 1_000).toISOString();

onEachClock('a look at the fleet', () => {
  it('tells by stored times who lives and who is silent; who leaves or starts is neither', async () => {
    put('fresh', { heartbeatAt: ago(5) });
    put('old', { heartbeatAt: ago(60) });
    put('leaving', { heartbeatAt: ago(60), status: 'LEAVING' });
    put('starting', { heartbeatAt: ago(5), phase: 'starting' });
    await expect(view.look()).resolves.toEqual({ live: ['fresh'], silent: ['old'] });
  });
});

onEachClock('a watch over the fleet', () => {
  it('ends at once when somebody lives', async () => {
    put('fresh', { heartbeatAt: ago(5) });
    await expect(view.watch()).resolves.toEqual({ live: ['fresh'], silent: [] });
    expect(clock.sleepers).toBe(0);
  });

  it('finds one alive that beats, though its clock is ten minutes slow', async () => {
    put('slow', { heartbeatAt: ago(600), sequence: 7 });
    const watched = view.watch();
    await clock.advance(9_000);
    put('slow', { heartbeatAt: ago(600), sequence: 8 });
    await clock.advance(2_000);
    await expect(watched).resolves.toEqual({ live: ['slow'], silent: [] });
  });

  it('tells after three heartbeat intervals that all are silent', async () => {
    put('dead', { heartbeatAt: ago(600) });
    let isOver = false;
    const watched = view.watch().finally(() => (isOver = true));
    await clock.advance(2.9 * INTERVAL_MS);
    expect(isOver).toBe(false);
    await clock.advance(0.2 * INTERVAL_MS);
    await expect(watched).resolves.toEqual({ live: [], silent: ['dead'] });
  });
});
