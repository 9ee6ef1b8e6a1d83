import { afterEach, describe, expect, it } from '@jest/globals';
import type { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { CommandProcess } from '../e2e/command-process.js';
import { ExportFixture } from '../e2e/export-fixture.js';
import { holdersOf, startGatedJob, type GatedJob } from '../e2e/gated-job.js';
import { expectWholeJob } from '../e2e/whole-job.js';

const TTL_MS = 6_000;
/** Far more than the TTL, as the hosts' 200 s are more than the 90 s that are the default. */
const SKEW_MS = { behind: -100_000, right: 0, ahead: 100_000 };
type Name = keyof typeof SKEW_MS;
const NAMES = Object.keys(SKEW_MS) as Name[];
const ENVIRONMENT = {
  BATCH_HEARTBEAT_INTERVAL_MS: '1000',
  RECLAIM_TTLS: JSON.stringify({ download: TTL_MS }),
  RECLAIM_INTERVAL_MS: '500',
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
  SQS_HEARTBEAT_INTERVAL_MS: '1000',
  // Each knows soon that the others live: it shows by what moves, not by their clocks.
  COORDINATOR_HEARTBEAT_INTERVAL_MS: '500',
  // Small batches, few in a hand: each of the three has some, and all nine are out.
  BATCH_SIZE: '10',
  MAX_BATCHES_IN_HAND: '3',
  NODE_OPTIONS: `--import=${new URL('../support/skewed-clock.mjs', import.meta.url).href}`,
};
const FILES = 90;

describe('hosts whose clocks are 200 s apart', () => {
  let fixture: ExportFixture;
  afterEach(() => fixture.close());

  /** A job of which each of the three holds batches that do not end before the gate opens. */
  async function startJob(): Promise<{ services: Map<Name, ExportService>; job: GatedJob }> {
    fixture = await ExportFixture.start();
    const services = new Map<Name, ExportService>();
    for (const name of NAMES)
      services.set(name, await fixture.startService({ ...ENVIRONMENT, COORDINATOR_ID: name, CLOCK_SKEW_MS: String(SKEW_MS[name]) }));
    const job = await startGatedJob(fixture, { total: FILES, atOnce: 0, waiting: FILES / 30 });
    await eventually(async () => {
      const holders = [...(await holdersOf(fixture, job)).values()];
      return holders.length === NAMES.length && holders.flat().length === FILES / 10;
    });
    return { services, job };
  }

  const rowsOf = async (job: GatedJob) =>
    (await fixture.batchRows(job.jobId)).map((row) => ({
      lockedBy: row.lockedBy as Name,
      heartbeatAtMs: Date.parse(String(row.heartbeatAt)),
      lockToken: row.lockToken,
      lastError: row.lastError,
    }));

  it('take no batch from a living holder in a job of several TTLs', async () => {
    const { services, job } = await startJob();
    const before = await rowsOf(job);
    const beats = () => fixture.aws.stepFunctions.tokens()[0]?.heartbeats.length ?? 0;
    const beatsBefore = beats();
    const after = await eventually(async () => {
      const rows = await rowsOf(job);
      return rows.every(({ heartbeatAtMs }, batchNo) => heartbeatAtMs - (before[batchNo]?.heartbeatAtMs ?? NaN) > TTL_MS * 3) && rows;
    });
    // The clocks are as wrong as they are said to be.
    for (const { lockedBy, heartbeatAtMs } of after) expect(Math.abs(heartbeatAtMs - Date.now() - SKEW_MS[lockedBy])).toBeLessThan(TTL_MS);
    const holds = (rows: typeof before) => rows.map(({ lockedBy, lockToken }) => [lockedBy, lockToken]);
    expect(holds(after)).toEqual(holds(before));
    expect(beats() - beatsBefore).toBeGreaterThanOrEqual(3);
    const { NODE_OPTIONS: _itsClockIsRight, ...environment } = ENVIRONMENT;
    const validated = await CommandProcess.start('src/cli/main.js', ['validate'], { ...fixture.aws.environment(), ...environment }).ended;
    expect(validated).toMatchObject({ code: 0, stdout: '' });
    job.open();
    await expectWholeJob(fixture, job);
    for (const { lastError } of await rowsOf(job)) expect(lastError).toBeUndefined();
    for (const service of services.values()) {
      expect(await service.counted('batches_reclaimed_total')).toBe(0);
      expect(await service.counted('batches_overdue')).toBe(0);
      expect(service.said('Stale batches found')).toBe(false);
    }
    for (let index = 0; index < FILES; index++) expect([index, job.hitsOf(index)]).toEqual([index, 1]);
  });

  it('still have the batches of those that die taken over', async () => {
    const { services, job } = await startJob();
    const holders = await holdersOf(fixture, job);
    const victims = ['behind', 'ahead'] as const;
    for (const victim of victims) await services.get(victim)?.kill();
    await eventually(async () => (await holdersOf(fixture, job)).size === 1);
    job.open();
    await expectWholeJob(fixture, job);
    const rows = await rowsOf(job);
    for (const victim of victims)
      for (const batchNo of holders.get(victim) ?? [])
        expect(rows[batchNo]?.lastError).toMatch(
          new RegExp(`^RECLAIMED_TTL: Exceeded TTL \\(6 s\\); held by ${victim}, silent for \\d+ s$`),
        );
    for (const batchNo of holders.get('right') ?? []) expect(rows[batchNo]?.lastError).toBeUndefined();
  });
});
