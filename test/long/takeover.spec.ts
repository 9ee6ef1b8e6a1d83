import { afterEach, describe, expect, it } from '@jest/globals';
import type { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from '../e2e/export-fixture.js';
import { holdersOf, startGatedJob } from '../e2e/gated-job.js';
import { expectWholeJob } from '../e2e/whole-job.js';

const FILES = 130;
const QUICK = 60;
const CAPACITY = 8;

/**
 * Short times, so that a death is noticed within seconds, but a living holder keeps its batches on a
 * busy machine. The relations between them are those of the defaults.
 */
const ENVIRONMENT = {
  BATCH_HEARTBEAT_INTERVAL_MS: '1000',
  RECLAIM_TTLS: '{"download": 6000}',
  RECLAIM_INTERVAL_MS: '500',
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
  WORKER_POOL_SIZE: '2',
  TASKS_PER_WORKER: '4',
  SQS_HEARTBEAT_INTERVAL_MS: '1000',
  COORDINATOR_HEARTBEAT_INTERVAL_MS: '1000',
};

describe('a coordinator that dies', () => {
  let fixture: ExportFixture;
  afterEach(() => fixture.close());

  const startJob = () => startGatedJob(fixture, { total: FILES, atOnce: QUICK, waiting: 1, maxConcurrency: CAPACITY });

  /** Started one after another, each under its name. */
  async function startFleet(names: string[], environment: Record<string, string> = {}): Promise<Map<string, ExportService>> {
    const services = new Map<string, ExportService>();
    for (const name of names) services.set(name, await fixture.startService({ ...ENVIRONMENT, ...environment, COORDINATOR_ID: name }));
    return services;
  }

  /** From whom batches of the job were taken. */
  async function reclaimedFrom(jobId: string): Promise<string[]> {
    const errors = (await fixture.batchRows(jobId)).map(({ lastError }) => String(lastError));
    return errors.flatMap((error) => /^RECLAIMED_TTL: Exceeded TTL \(\d s\); held by (\S+),/.exec(error)?.[1] ?? []);
  }

  it('alone, by kill -9, and is started again finishes its job from the checkpoint', async () => {
    fixture = await ExportFixture.start();
    const first = await fixture.startService(ENVIRONMENT);
    const job = await startJob();
    await eventually(async () => Number((await fixture.jobRow(job.jobId))?.completedTasks) === QUICK);
    await first.kill();
    job.open();
    await fixture.startService(ENVIRONMENT);
    await expectWholeJob(fixture, job);
    expect(fixture.origin.totalHits).toBeLessThanOrEqual(FILES + CAPACITY);
  });

  it('one of two leaves its batches to the other, which takes them within TTL and a turn', async () => {
    fixture = await ExportFixture.start();
    const services = await startFleet(['a', 'b']);
    const job = await startJob();
    const [held = ''] = await eventually(async () => {
      const holders = await holdersOf(fixture, job);
      return holders.size > 0 ? [...holders.keys()] : undefined;
    });
    await services.get(held)?.kill();
    job.open();
    await expectWholeJob(fixture, job);
    expect(await reclaimedFrom(job.jobId)).toContain(held);
  });

  it('as a second of three leaves the whole job to the third', async () => {
    fixture = await ExportFixture.start();
    const services = await startFleet(['a', 'b', 'c'], {
      // Small batches, few in a hand: each of the three has some.
      BATCH_SIZE: '10',
      MAX_BATCHES_IN_HAND: '3',
    });
    const job = await startJob();
    // From here on no batch ends before the gate opens.
    await eventually(async () => Number((await fixture.jobRow(job.jobId))?.completedTasks) === QUICK);
    await eventually(async () => (await holdersOf(fixture, job)).size === 3);
    for (const victim of ['a', 'b']) await services.get(victim)?.kill();
    job.open();
    await expectWholeJob(fixture, job);
    expect(await reclaimedFrom(job.jobId)).toEqual(expect.arrayContaining(['a', 'b']));
  });

  it('frozen for twice the TTL changes no row and no listed result when it wakes', async () => {
    // A receive of the frozen process may swallow a message for one visibility timeout.
    fixture = await ExportFixture.start({ queueVisibilityS: 3 });
    const frozen = await fixture.startService(ENVIRONMENT);
    const job = await startJob();
    frozen.signal('SIGSTOP');
    await fixture.startService(ENVIRONMENT);
    job.open();
    await expectWholeJob(fixture, job);
    const [row, batches] = [await fixture.jobRow(job.jobId), await fixture.batchRows(job.jobId)];
    frozen.signal('SIGCONT');
    await eventually(() => frozen.said('Batch left'));
    expect(await fixture.jobRow(job.jobId)).toEqual(row);
    expect(await fixture.batchRows(job.jobId)).toEqual(batches);
  });
});
