import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ExportFixture } from './export-fixture.js';
import { startGatedJob } from './gated-job.js';
import { expectDeploysToCostNothing } from './repeated-deploys.js';

/** `test/long/repeated-deploys.spec.ts` has twenty, alone and with a second coordinator. */
const DEPLOYS = 3;
/** The last eight seconds of it are for handing back: two are too few on a busy machine. */
const BUDGET_MS = 20_000;

describe('deploys in a row over a held job message and a running job', () => {
  let fixture: ExportFixture;
  beforeEach(async () => {
    fixture = await ExportFixture.start();
  });
  afterEach(() => fixture.close());

  it('by SIGTERM cost the message one receive each, and nothing else', () =>
    expectDeploysToCostNothing(fixture, { signalled: 'process', signal: 'SIGTERM', coordinators: 1 }, DEPLOYS));

  it.each(['SIGTERM', 'SIGINT'] as const)('by %s to the process group of npm, which passes it on, do so, too', async (signal) => {
    const service = await fixture.startService({ SHUTDOWN_TIMEOUT_MS: String(BUDGET_MS) }, 'npm-group');
    const job = await startGatedJob(fixture, { total: 30, atOnce: 10, waiting: 4, maxConcurrency: 4 });
    expect(await service.stop(signal)).toMatchObject({ code: 0 });
    expect(service.said('Service stopped')).toBe(true);
    expect((await fixture.batchRows(job.jobId)).filter(({ status }) => status === 'running')).toEqual([]);
    job.open();
  });
});
