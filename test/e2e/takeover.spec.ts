import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { send } from '../support/origin.js';
import { ExportFixture, SECRET } from './export-fixture.js';

jest.setTimeout(120_000);

const FILES = 130;
const QUICK = 60;

/** Short times, so that a death is noticed within seconds; the relations between them are those of the defaults. */
const ENVIRONMENT = {
  BATCH_HEARTBEAT_INTERVAL_MS: '300',
  RECLAIM_TTLS: '{"download": 2000}',
  RECLAIM_INTERVAL_MS: '500',
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
  WORKER_POOL_SIZE: '2',
  TASKS_PER_WORKER: '4',
  SQS_HEARTBEAT_INTERVAL_MS: '1000',
};

describe('a coordinator that dies', () => {
  let fixture: ExportFixture;
  afterEach(() => fixture.close());

  /** 60 files are answered at once, whichever come first; the others wait for the gate. */
  async function startJob(): Promise<{ arn: string; jobId: string; gate: ReturnType<typeof deferred<void>> }> {
    const gate = deferred();
    let asked = 0;
    const files = Array.from({ length: FILES }, (_, index) => ({
      url: fixture.origin.on(`/file/${index}`, (_request, response) => {
        const open = ++asked <= QUICK ? Promise.resolve() : gate.promise;
        void open.then(() => send(response, Buffer.from(`${SECRET} ${index}`)));
      }),
      key: `file/${index}`,
    }));
    const execution = await fixture.startExecution({ source: { files } });
    await eventually(() => asked > QUICK, { timeoutMs: 15_000 });
    return { ...execution, gate };
  }

  async function expectWholeJob(arn: string, jobId: string): Promise<void> {
    expect((await fixture.ended(arn, 60_000)).status).toBe('SUCCEEDED');
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ totalTasks: FILES, completedTasks: FILES, failedTasks: 0 });
    const manifest = JSON.parse(await fixture.objectText(`exports/${jobId}/_export/${jobId}/run-1/manifest.json`)) as {
      ResultFiles: { SUCCEEDED: { Key: string }[] };
    };
    const lines = (await Promise.all(manifest.ResultFiles.SUCCEEDED.map(({ Key }) => fixture.objectLines(Key)))).flat();
    expect(lines.map((line) => line.index)).toEqual(Array.from({ length: FILES }, (_, index) => index));
    expect(fixture.aws.stepFunctions.tokens()).toMatchObject([{ answers: [{ kind: 'success', accepted: true }] }]);
    expect((await fixture.batchRows(jobId)).every((row) => row.status === 'succeeded')).toBe(true);
  }

  it('alone, by kill -9, and is started again finishes its job from the checkpoint', async () => {
    fixture = await ExportFixture.start();
    const first = await fixture.startService(ENVIRONMENT);
    const { arn, jobId, gate } = await startJob();
    await eventually(async () => Number((await fixture.jobRow(jobId))?.completedTasks) === QUICK, { timeoutMs: 15_000 });
    await first.kill();
    gate.resolve();
    await fixture.startService(ENVIRONMENT);
    await expectWholeJob(arn, jobId);
    const asked = [...fixture.origin.hits.values()].reduce((sum, hits) => sum + hits, 0);
    expect(asked).toBeLessThanOrEqual(FILES + 8);
  });

  it('one of two leaves its batches to the other, which takes them within TTL and a turn', async () => {
    fixture = await ExportFixture.start();
    const services = [await fixture.startService(ENVIRONMENT), await fixture.startService(ENVIRONMENT)];
    const { arn, jobId, gate } = await startJob();
    const [held] = await eventually(async () => {
      const rows = await fixture.batchRows(jobId);
      return rows.some((row) => row.status === 'running') ? rows.filter((row) => row.status === 'running') : undefined;
    });
    const victim = services.find((service) => service.events().some((event) => event.coordinatorId === held?.lockedBy));
    await victim?.kill();
    gate.resolve();
    await expectWholeJob(arn, jobId);
    expect(
      (await fixture.batchRows(jobId)).some((row) => String(row.lastError).startsWith('RECLAIMED_TTL: Exceeded TTL (2 s); held by ')),
    ).toBe(true);
  });

  it('frozen for twice the TTL changes no row and no listed result when it wakes', async () => {
    // A receive of the frozen process may swallow a message for one visibility timeout.
    fixture = await ExportFixture.start({ queueVisibilityS: 3 });
    const frozen = await fixture.startService(ENVIRONMENT);
    const { arn, jobId, gate } = await startJob();
    frozen.signal('SIGSTOP');
    await fixture.startService(ENVIRONMENT);
    gate.resolve();
    await expectWholeJob(arn, jobId);
    const [row, batches] = [await fixture.jobRow(jobId), await fixture.batchRows(jobId)];
    frozen.signal('SIGCONT');
    await eventually(() => frozen.said('Batch left'));
    expect(await fixture.jobRow(jobId)).toEqual(row);
    expect(await fixture.batchRows(jobId)).toEqual(batches);
  });
});
