import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListPartsCommand } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from './export-fixture.js';
import { startGatedJob, type GatedJob } from './gated-job.js';
import { expectWholeJob } from './whole-job.js';

/** A busy machine needs some of it to hand back what it holds. */
const BUDGET_MS = 10_000;
const QUICK = 90;
const CAPACITY = 8;
/** Two parts and some. */
const LARGE = Buffer.alloc(20 * 1024 ** 2, 'large file ');
const HALF = 18 * 1024 ** 2;
/** A hung thread is ended 5 s after its tasks were told to stop, and only then its upload can be aborted: the default leaves time for both. */
const HANGING_BUDGET_MS = 25_000;
const ENVIRONMENT = { SHUTDOWN_TIMEOUT_MS: String(BUDGET_MS), WORKER_POOL_SIZE: '2', TASKS_PER_WORKER: '4' };

/** The threads hang once the file is there. */
function hangsAt(trigger: string): Record<string, string> {
  const preload = new URL('../support/hang-thread.mjs', import.meta.url).href;
  return { NODE_OPTIONS: `--import ${preload}`, HANG_THREAD_TRIGGER: trigger };
}

/** How many parts of the one open upload have arrived; 0 before it is open. */
async function partsUnderWay({ aws, clients }: ExportFixture): Promise<number> {
  const { bucket } = aws.resources;
  const [upload] = aws.s3.openUploads(bucket);
  if (upload === undefined) return 0;
  const { Parts = [] } = await clients.s3.send(new ListPartsCommand({ Bucket: bucket, Key: upload.key, UploadId: upload.uploadId }));
  return Parts.length;
}

describe('a deploy in the middle of a job', () => {
  let fixture: ExportFixture;
  let folder: string;
  let trigger: string;
  beforeEach(async () => {
    fixture = await ExportFixture.start();
    folder = mkdtempSync(join(tmpdir(), 'export-worker-test-'));
    trigger = join(folder, 'hang');
  });
  afterEach(async () => {
    await fixture.close();
    rmSync(folder, { recursive: true });
  });

  const startHalfGatedJob = () => startGatedJob(fixture, { total: 150, atOnce: QUICK, waiting: CAPACITY, maxConcurrency: CAPACITY });
  const expectWhole = async (job: GatedJob) => {
    await expectWholeJob(fixture, job);
    expect(fixture.aws.s3.openUploads(fixture.aws.resources.bucket)).toEqual([]);
  };

  it('ends with exit code 0, loses nothing, and another service finishes the job from the checkpoint', async () => {
    const first = await fixture.startService(ENVIRONMENT);
    const job = await startHalfGatedJob();
    const stopped = await first.stop();
    expect(stopped.code).toBe(0);
    const released = await fixture.batchRows(job.jobId);
    // One batch may have ended already; nothing is held any more, and handing back is no attempt.
    expect(released.map((row) => row.status)).toContain('queued');
    expect(released.every((row) => row.status === 'queued' || row.status === 'succeeded')).toBe(true);
    expect(released.every((row) => row.attempts === 0)).toBe(true);
    job.open();
    await fixture.startService(ENVIRONMENT);
    await expectWhole(job);
    // The eight that were aborted were asked for again, and nothing else.
    expect(fixture.origin.totalHits).toBe(150 + CAPACITY);
  });

  it('lets running downloads finish when they can', async () => {
    const first = await fixture.startService(ENVIRONMENT);
    const job = await startHalfGatedJob();
    first.signal('SIGTERM');
    await eventually(() => first.said('Shutting down'));
    job.open();
    const { code } = await first.exited;
    expect(code).toBe(0);
    expect((await fixture.jobRow(job.jobId))?.completedTasks).toBe(QUICK + CAPACITY);
    await fixture.startService(ENVIRONMENT);
    await expectWhole(job);
  });

  it.each(['obeys', 'hangs'])(
    'aborts the upload of a large file that is half-way in a thread that %s, and another service uploads it whole',
    async (thread) => {
      const { bucket } = fixture.aws.resources;
      const gate = deferred();
      const url = fixture.origin.on('/large', (_request, response) => {
        response.writeHead(200, { 'content-length': LARGE.length });
        response.write(LARGE.subarray(0, HALF));
        void gate.promise.then(() => response.end(LARGE.subarray(HALF)));
      });
      const budget = thread === 'hangs' ? { SHUTDOWN_TIMEOUT_MS: String(HANGING_BUDGET_MS) } : {};
      const first = await fixture.startService({ ...ENVIRONMENT, ...budget, ...hangsAt(trigger) });
      const { jobId } = await fixture.startExecution({ source: { files: [{ url, key: 'large' }] } });
      // A part is there: the thread has told of its upload by then, so that others can abort it.
      await eventually(async () => (await partsUnderWay(fixture)) > 0);
      if (thread === 'hangs') writeFileSync(trigger, '');
      const stopped = await first.stop();
      expect(stopped.code).toBe(0);
      expect(fixture.aws.s3.openUploads(bucket)).toEqual([]);
      gate.resolve();
      await fixture.startService(ENVIRONMENT);
      await eventually(async () => (await fixture.jobRow(jobId))?.completedTasks === 1);
      expect(await fixture.objectText(`exports/${jobId}/large`)).toBe(LARGE.toString());
      expect(fixture.aws.s3.openUploads(bucket)).toEqual([]);
    },
  );

  it('ends with exit code 0 also when a thread hangs', async () => {
    const first = await fixture.startService({ ...ENVIRONMENT, ...hangsAt(trigger) });
    const job = await startHalfGatedJob();
    writeFileSync(trigger, '');
    const stopped = await first.stop();
    expect(stopped.code).toBe(0);
    job.open();
    await fixture.startService(ENVIRONMENT);
    await expectWhole(job);
  });

  it('that is a kill -9 counts nothing twice and leaves no half-written object', async () => {
    const first = await fixture.startService({ ...ENVIRONMENT, BATCH_HEARTBEAT_INTERVAL_MS: '500' });
    const job = await startHalfGatedJob();
    await eventually(async () => Number((await fixture.jobRow(job.jobId))?.completedTasks) === QUICK);
    await first.kill();
    job.open();
    const second = await fixture.startService(ENVIRONMENT);
    await eventually(() => second.said('Heartbeat orchestrator started'));
    const row = await fixture.jobRow(job.jobId);
    const batches = await fixture.batchRows(job.jobId);
    expect(row?.completedTasks).toBe(batches.reduce((sum, batch) => sum + Number(batch.completed), 0));
    expect(Number(row?.completedTasks)).toBeLessThanOrEqual(150);
    for (const key of await fixture.fileKeys(job.jobId))
      expect(await fixture.objectText(`exports/${job.jobId}/${key}`)).toMatch(/^file \d+ \S+$/);
  });

  it('at a second signal ends at once', async () => {
    const first = await fixture.startService({ ...ENVIRONMENT, SHUTDOWN_TIMEOUT_MS: '60000' });
    await startHalfGatedJob();
    first.signal('SIGTERM');
    await eventually(() => first.said('Shutting down'));
    // A repeat within half a second would be the same signal.
    await sleep(2_000);
    first.signal('SIGTERM');
    expect(await first.exited).toMatchObject({ code: 1 });
  });
});
