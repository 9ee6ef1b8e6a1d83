import { beforeEach, describe, expect, it } from '@jest/globals';
import { PreviewReclaimQuery } from '../../../../src/batches/application/preview-reclaim.query.js';
import { StaleMonitorQuery } from '../../../../src/batches/application/stale-monitor.query.js';
import { ValidateLeasesQuery } from '../../../../src/batches/application/validate-leases.query.js';
import type { BatchEntity } from '../../../../src/batches/domain/batch.entity.js';
import { aBatch } from '../../../support/builders.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { Gate } from '../../../support/fakes/gate.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';

const SETTINGS = { heartbeatIntervalMs: 10_000, ttlMs: { download: 90_000 }, maxAttempts: 10 };

let clock: FakeClock;
let batches: InMemoryBatchRepository;
beforeEach(() => {
  clock = new FakeClock();
  batches = new InMemoryBatchRepository(new Gate(), clock);
  batches.pageSize = 2;
});

const ago = (seconds: number) => new Date(Date.parse(clock.nowIso()) - seconds * 1_000).toISOString();
/** A running batch whose last heartbeat is so old. */
const silent = (batchNo: number, seconds: number, over: Partial<BatchEntity> = {}): BatchEntity =>
  aBatch({
    batchNo,
    status: 'running',
    lockToken: 1,
    lockedBy: `holder-${batchNo}`,
    lockedAt: ago(900),
    heartbeatAt: ago(seconds),
    ...over,
  });

const numbersOf = (rows: readonly { batchNo: number }[]) => rows.map(({ batchNo }) => batchNo);

describe('StaleMonitorQuery', () => {
  const list = (limit = 100, ttlMs: Record<string, number> = SETTINGS.ttlMs) =>
    new StaleMonitorQuery({ ttlMs }, batches, clock).list(limit);

  it('lists the running batches of all pages, nearest to their TTL or furthest beyond it first, and counts their states', async () => {
    batches.put(silent(0, 5), silent(1, 100), silent(2, 50), silent(3, 500), silent(4, 44), aBatch({ batchNo: 5 }));
    const monitor = await list();
    expect(numbersOf(monitor.batches)).toEqual([3, 1, 2, 4, 0]);
    expect(monitor.batches.map(({ state }) => state)).toEqual(['stale', 'stale', 'late', 'healthy', 'healthy']);
    expect(monitor.counts).toEqual({ healthy: 2, late: 1, stale: 2 });
  });

  it('counts all of them, whatever the limit', async () => {
    batches.put(silent(0, 5), silent(1, 100), silent(2, 50));
    const { counts, batches: shown } = await list(1);
    expect([numbersOf(shown), counts]).toEqual([[1], { healthy: 1, late: 1, stale: 1 }]);
  });

  it('goes by the TTL of the type', async () => {
    batches.put(silent(0, 100));
    expect((await list(1, {})).batches).toMatchObject([{ ttlS: 300, share: 0.333, state: 'healthy' }]);
  });

  it('believes the rows, not the index', async () => {
    batches.put(silent(0, 100));
    batches.gate.next('findBatches', () => void batches.put(aBatch()));
    await expect(list()).resolves.toEqual({ counts: { healthy: 0, late: 0, stale: 0 }, batches: [] });
  });
});

describe('ValidateLeasesQuery', () => {
  const list = async (meanwhile = () => undefined as unknown) => {
    const listed = new ValidateLeasesQuery(SETTINGS, batches, clock).list();
    await clock.advance(39_000);
    meanwhile();
    await clock.advance(1_000);
    return listed;
  };

  it('is empty while every running batch has beaten within its TTL and a minute, and then waits for nothing', async () => {
    batches.put(silent(0, 5), silent(1, 150), aBatch({ batchNo: 2, heartbeatAt: ago(999) }));
    await expect(new ValidateLeasesQuery(SETTINGS, batches, clock).list()).resolves.toEqual([]);
  });

  it('lists those that have not, longest silent first; without a heartbeat the claim speaks for it', async () => {
    const { heartbeatAt: _none, ...unbeaten } = silent(3, 0);
    batches.put(silent(0, 151), silent(1, 500), silent(2, 20), unbeaten);
    expect(numbersOf(await list())).toEqual([3, 1, 0]);
  });

  it('leaves out those whose holder beats while they are watched: its clock is ten minutes slow', async () => {
    batches.put(silent(0, 600), silent(1, 600));
    expect(numbersOf(await list(() => batches.put(silent(0, 599))))).toEqual([1]);
  });

  it('leaves out those that end while they are watched', async () => {
    batches.put(silent(0, 600), silent(1, 600));
    expect(numbersOf(await list(() => batches.put(aBatch({ batchNo: 0, status: 'succeeded' }))))).toEqual([1]);
  });
});

describe('PreviewReclaimQuery', () => {
  const list = () => new PreviewReclaimQuery(SETTINGS, batches, clock).list();

  it('lists what will be older than its TTL once it was watched for four heartbeat intervals, longest silent first', async () => {
    batches.put(silent(0, 50), silent(1, 51), silent(2, 600), silent(3, 5));
    const preview = await list();
    expect([preview.watchMs, numbersOf(preview.batches)]).toEqual([40_000, [2, 1]]);
  });

  it('says what would become of each', async () => {
    batches.put(
      silent(0, 100, { attempts: 3, trialSize: 1 }),
      silent(1, 99, { attempts: 10, totalTasks: 1 }),
      silent(2, 98, { attempts: 10, completed: 1 }),
    );
    expect((await list()).batches.map(({ would }) => would)).toEqual([
      { kind: 'requeue', attempts: 4 },
      { kind: 'give-up' },
      { kind: 'requeue', attempts: 1 },
    ]);
  });
});
