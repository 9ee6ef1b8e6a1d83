import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { send } from '../support/origin.js';
import { ExportFixture } from './export-fixture.js';

jest.setTimeout(90_000);

const BUDGET_MS = 6_000;
const QUICK = 90;
const CAPACITY = 8;
const ENVIRONMENT = { SHUTDOWN_TIMEOUT_MS: String(BUDGET_MS), WORKER_POOL_SIZE: '2', TASKS_PER_WORKER: '4' };

describe('a deploy in the middle of a job', () => {
  let fixture: ExportFixture;
  let folder: string;
  beforeEach(async () => {
    fixture = await ExportFixture.start();
    folder = mkdtempSync(join(tmpdir(), 'export-worker-test-'));
  });
  afterEach(async () => {
    await fixture.close();
    rmSync(folder, { recursive: true });
  });

  /** 150 files in two batches. Whichever come first, 90 are answered at once and the others wait for the gate. */
  async function startHalfGatedJob() {
    const gate = deferred();
    let asked = 0;
    const files = Array.from({ length: 150 }, (_, index) => ({
      url: fixture.origin.on(`/file/${index}`, (_request, response) => {
        const open = ++asked <= QUICK ? Promise.resolve() : gate.promise;
        void open.then(() => send(response, Buffer.from(`file ${index}`)));
      }),
      key: `file/${index}`,
    }));
    const execution = await fixture.startExecution({ source: { files } });
    await eventually(() => fixture.origin.openRequests === CAPACITY && asked === QUICK + CAPACITY, { timeoutMs: 15_000 });
    return { gate, ...execution };
  }

  /** Every file came once into the counters, the bucket and the result lines. */
  async function expectWholeJob(jobId: string): Promise<void> {
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ totalTasks: 150, completedTasks: 150, failedTasks: 0 });
    expect(await fixture.fileKeys(jobId)).toHaveLength(150);
    const manifest = JSON.parse(await fixture.objectText(`exports/${jobId}/_export/${jobId}/run-1/manifest.json`)) as {
      ResultFiles: { SUCCEEDED: { Key: string }[] };
    };
    const lines = (await Promise.all(manifest.ResultFiles.SUCCEEDED.map(({ Key }) => fixture.objectLines(Key)))).flat();
    expect(lines.map((line) => line.index)).toEqual(Array.from({ length: 150 }, (_, index) => index));
    expect(lines.every((line) => typeof line.sha256 === 'string' && typeof line.size === 'number')).toBe(true);
    expect(fixture.aws.s3.openUploads(fixture.aws.resources.bucket)).toEqual([]);
    expect(fixture.aws.stepFunctions.tokens()).toMatchObject([{ answers: [{ kind: 'success', accepted: true }] }]);
  }

  it('ends with exit code 0 within the budget, loses nothing, and another service finishes the job from the checkpoint', async () => {
    const first = await fixture.startService(ENVIRONMENT);
    const { gate, arn, jobId } = await startHalfGatedJob();
    const stopped = await first.stop();
    expect(stopped.code).toBe(0);
    expect(stopped.tookMs).toBeLessThan(BUDGET_MS);
    const released = await fixture.batchRows(jobId);
    // One batch may have ended already; nothing is held any more, and handing back is no attempt.
    expect(released.map((row) => row.status)).toContain('queued');
    expect(released.every((row) => row.status === 'queued' || row.status === 'succeeded')).toBe(true);
    expect(released.every((row) => row.attempts === 0)).toBe(true);
    gate.resolve();
    await fixture.startService(ENVIRONMENT);
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    await expectWholeJob(jobId);
    // The eight that were aborted were asked for again, and nothing else.
    expect(fixture.origin.totalHits).toBe(150 + CAPACITY);
  });

  it('lets running downloads finish when they can', async () => {
    const first = await fixture.startService(ENVIRONMENT);
    const { gate, arn, jobId } = await startHalfGatedJob();
    first.signal('SIGTERM');
    await eventually(() => first.said('Shutting down'));
    gate.resolve();
    const { code } = await first.exited;
    expect(code).toBe(0);
    expect((await fixture.jobRow(jobId))?.completedTasks).toBe(QUICK + CAPACITY);
    await fixture.startService(ENVIRONMENT);
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    await expectWholeJob(jobId);
  });

  it('ends within the budget also when a thread hangs', async () => {
    const trigger = join(folder, 'hang');
    const preload = new URL('../support/hang-thread.mjs', import.meta.url).href;
    const first = await fixture.startService({ ...ENVIRONMENT, NODE_OPTIONS: `--import ${preload}`, HANG_THREAD_TRIGGER: trigger });
    const { gate, arn, jobId } = await startHalfGatedJob();
    writeFileSync(trigger, '');
    const stopped = await first.stop();
    expect(stopped.code).toBe(0);
    expect(stopped.tookMs).toBeLessThan(BUDGET_MS);
    gate.resolve();
    await fixture.startService(ENVIRONMENT);
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    await expectWholeJob(jobId);
  });

  it('that is a kill -9 counts nothing twice and leaves no half-written object', async () => {
    const first = await fixture.startService({ ...ENVIRONMENT, BATCH_HEARTBEAT_INTERVAL_MS: '500' });
    const { gate, jobId } = await startHalfGatedJob();
    await eventually(async () => Number((await fixture.jobRow(jobId))?.completedTasks) === QUICK, { timeoutMs: 15_000 });
    await first.kill();
    gate.resolve();
    const second = await fixture.startService(ENVIRONMENT);
    await eventually(() => second.said('Heartbeat orchestrator started'));
    const row = await fixture.jobRow(jobId);
    const batches = await fixture.batchRows(jobId);
    expect(row?.completedTasks).toBe(batches.reduce((sum, batch) => sum + Number(batch.completed), 0));
    expect(Number(row?.completedTasks)).toBeLessThanOrEqual(150);
    for (const key of await fixture.fileKeys(jobId)) expect(await fixture.objectText(`exports/${jobId}/${key}`)).toMatch(/^file \d+$/);
  });

  it('at a second signal ends at once', async () => {
    const first = await fixture.startService({ ...ENVIRONMENT, SHUTDOWN_TIMEOUT_MS: '60000' });
    await startHalfGatedJob();
    first.signal('SIGTERM');
    await eventually(() => first.said('Shutting down'));
    first.signal('SIGTERM');
    expect(await first.exited).toMatchObject({ code: 1 });
  });
});
