import { beforeEach, describe, expect, it } from '@jest/globals';
import { LeaseService, type RenewOutcome } from '../../../../src/batches/application/lease.service.js';
import type { Lease } from '../../../../src/batches/domain/batch.entity.js';
import { aBatch, aState, leaseOf, RESULT_KEYS, NOTHING_IN_HAND } from '../../../support/builders.js';
import { Gate } from '../../../support/fakes/gate.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';
import { newClock, onEachClock } from '../../../support/each-clock.js';
import { type FakeClock } from '../../../support/fake-clock.js';

const HELD = aBatch({ status: 'running', lockToken: 3, lockedBy: 'me', claimId: 'claim-1' });
const LEASE = leaseOf(HELD);

let clock: FakeClock;
let rows: InMemoryBatchRepository;
let leases: LeaseService;

beforeEach(() => {
  clock = newClock();
  rows = new InMemoryBatchRepository(new Gate(), clock).put(HELD);
  leases = new LeaseService(rows, clock);
});

const WRITES: [string, string, (service: LeaseService, lease: Lease) => Promise<RenewOutcome>][] = [
  ['a checkpoint', 'checkpoint', (service, lease) => service.checkpoint(lease, 1, aState([0]), true, NOTHING_IN_HAND)],
  ['an end', 'endBatch', (service, lease) => service.end(lease, 1, aState([0, 1, 2, 3, 4]), RESULT_KEYS)],
  ['a release', 'release', (service, lease) => service.release(lease)],
];

describe.each(WRITES)('%s under a lease', (_name, write, attempt) => {
  onEachClock('that takes a while', () => {
    it('Unknown is not lost; the local fence ends it at 2/3 TTL of the time before the call', async () => {
      rows.gate.next(write, () => clock.sleep(4_000));
      const outcome = attempt(leases, LEASE);
      await clock.advance(4_000);
      await expect(outcome).resolves.toMatchObject({ kind: 'renewed', since: clock.about(0), batch: { lockToken: 3 } });
    });
  });

  it('A failed renewal is lost only after a re-read: recognises its own write that the SDK’s retry met', async () => {
    rows.gate.next(write, 'retried');
    await expect(attempt(leases, LEASE)).resolves.toMatchObject({ kind: 'renewed' });
  });

  it('recognises its own write when it is repeated after a lost reply', async () => {
    rows.gate.next(write, 'lost-reply');
    await expect(attempt(leases, LEASE)).resolves.toMatchObject({ kind: 'unknown' });
    await expect(attempt(leases, LEASE)).resolves.toMatchObject({ kind: 'renewed' });
  });

  it('is unknown, not lost, when the table cannot be asked', async () => {
    rows.gate.next(write, 'unavailable');
    await expect(attempt(leases, LEASE)).resolves.toMatchObject({ kind: 'unknown' });
  });

  it('A failed renewal is lost only after a re-read: unknown while the row cannot be read', async () => {
    rows.put({ ...HELD, lockToken: 4, lockedBy: 'someone else' });
    rows.gate.next('findBatch', 'unavailable');
    await expect(attempt(leases, LEASE)).resolves.toMatchObject({ kind: 'unknown' });
    await expect(attempt(leases, LEASE)).resolves.toEqual({ kind: 'lost', by: 'someone else' });
  });

  it.each([
    ['someone else holds the batch', { lockToken: 4 }],
    ['the batch was cancelled', { status: 'cancelled' as const }],
    ['the batch was moved to another run', { run: 2 }],
  ])('is lost when %s', async (_case, change) => {
    rows.put({ ...HELD, ...change });
    await expect(attempt(leases, LEASE)).resolves.toMatchObject({ kind: 'lost' });
    expect(rows.get(0)).toEqual({ ...HELD, ...change });
  });

  it('is lost when the row is not there', async () => {
    rows.rows.clear();
    await expect(attempt(leases, LEASE)).resolves.toEqual({ kind: 'lost', by: undefined });
  });
});
