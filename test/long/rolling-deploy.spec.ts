import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from '../e2e/export-fixture.js';
import { holdersOf, startGatedJob, type GatedJob } from '../e2e/gated-job.js';
import { expectWholeJob } from '../e2e/whole-job.js';

/**
 * What is not taken up at once is taken up when the visibility of its message, 60 s, or its TTL, 90
 * s, has run out.
 */
const SOONER_THAN_ANY_TIMEOUT_MS = 40_000;
const CAPACITY = 8;
const ENVIRONMENT = { SHUTDOWN_TIMEOUT_MS: '8000', WORKER_POOL_SIZE: '2', TASKS_PER_WORKER: '4' };

describe('a deploy to a fleet', () => {
  let fixture: ExportFixture;
  beforeEach(async () => {
    fixture = await ExportFixture.start();
  });
  afterEach(() => fixture.close());

  const start = (name: string, environment: Record<string, string>) =>
    fixture.startService({ ...ENVIRONMENT, ...environment, COORDINATOR_ID: name });

  /** Holders of the job's batches, once these and nobody else hold some. */
  const heldBy = (job: GatedJob, names: string[]) =>
    eventually(async () => {
      const holders = await holdersOf(fixture, job);
      return holders.size === names.length && names.every((name) => holders.has(name));
    });

  /** A request that its coordinator ended is asked again, once; what was answered never is. */
  function expectNothingTwice(job: GatedJob): void {
    for (let index = 0; index < job.total; index++)
      expect([index, job.hitsOf(index)]).toEqual([index, 1 + job.cutOff.filter((cut) => cut.index === index).length]);
  }

  it('has what one coordinator hands back taken up by another at once, and downloads no finished file again', async () => {
    const leaving = await start('leaving', { BATCH_SIZE: '50' });
    const job = await startGatedJob(fixture, { total: 150, atOnce: 90, waiting: CAPACITY, maxConcurrency: CAPACITY });
    await start('staying', { BATCH_SIZE: '50' });
    await heldBy(job, ['leaving']);
    expect((await leaving.stop()).code).toBe(0);
    expect(job.cutOff).toHaveLength(CAPACITY);
    await heldBy(job, ['staying']);

    const rows = (await fixture.batchRows(job.jobId)).filter(({ status }) => status === 'running');
    const handedBack = leaving.events().filter(({ msg }) => msg === 'Batch handed back');
    expect(new Set(handedBack.map(({ batchNo }) => batchNo))).toEqual(new Set(rows.map(({ batchNo }) => batchNo)));
    for (const { batchNo, enqueuedAt, lockedAt } of rows) {
      const claimedAt = Date.parse(String(lockedAt));
      const loggedAt = Date.parse(String(handedBack.find((event) => event.batchNo === batchNo)?.time));
      expect(claimedAt - Date.parse(String(enqueuedAt))).toBeLessThan(SOONER_THAN_ANY_TIMEOUT_MS);
      expect(claimedAt - loggedAt).toBeLessThan(SOONER_THAN_ANY_TIMEOUT_MS);
    }
    job.open();
    await expectWholeJob(fixture, job);
    expectNothingTwice(job);
  });

  it('that replaces every coordinator loses and repeats nothing', async () => {
    // Small batches, few in a hand: there is always one for who comes next.
    const small = {
      BATCH_SIZE: '15',
      MAX_BATCHES_IN_HAND: '3',
      // So many batches are out as the fleet takes in: each soon knows who shares the work.
      COORDINATOR_HEARTBEAT_INTERVAL_MS: '300',
      STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
    };
    const old: [string, ExportService][] = [
      ['a', await start('a', small)],
      ['b', await start('b', small)],
    ];
    const job = await startGatedJob(fixture, { total: 150, atOnce: 60, waiting: 2 });
    await heldBy(job, ['a', 'b']);
    const running = old.map(([name]) => name);
    for (const [index, successor] of ['c', 'd'].entries()) {
      const [, service] = old[index] ?? [];
      expect((await service?.stop())?.code).toBe(0);
      await start(successor, small);
      running.splice(0, 1);
      running.push(successor);
      await heldBy(job, running);
    }
    job.open();
    await expectWholeJob(fixture, job);
    expect(job.cutOff.length).toBeGreaterThanOrEqual(2);
    expectNothingTwice(job);
    // Handing back is no attempt, and nobody had to take anything away.
    for (const { attempts, lastError } of await fixture.batchRows(job.jobId)) expect([attempts, lastError]).toEqual([0, undefined]);
  });
});
