import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { send } from '../support/origin.js';
import { ExportFixture, SECRET } from '../e2e/export-fixture.js';
import { expectWholeJob } from '../e2e/whole-job.js';

const BATCHES = 200;
const BATCH_SIZE = 2;
const IN_HAND = 4;
/** How much longer a user may wait for the first file of a small job than on an idle service. */
const FIRST_FILE_MS = 5_000;
/** Nothing is timed here: this only ends a test that hangs. */
const FAR_MS = 300_000;
const ENVIRONMENT = {
  BATCH_SIZE: String(BATCH_SIZE),
  MAX_BATCHES_IN_HAND: String(IN_HAND),
  MAX_BATCHES_IN_HAND_TOTAL: '16',
  WORKER_POOL_SIZE: '2',
  TASKS_PER_WORKER: '4',
};

describe('a job of 200 batches', () => {
  let fixture: ExportFixture;
  afterEach(() => fixture.close());

  /** Its files are answered when the gate opens. */
  async function startHugeJob() {
    const gate = deferred();
    const total = BATCHES * BATCH_SIZE;
    const files = Array.from({ length: total }, (_, index) => ({
      url: fixture.origin.on(`/huge/${index}`, (_request, response) => {
        void gate.promise.then(() => send(response, Buffer.from(`file ${index} ${SECRET}`)));
      }),
      key: `${index}`,
    }));
    // Some places are left: what is tested here is who gets into a hand, not who gets a place.
    const execution = await fixture.startExecution({ source: { files }, options: { maxConcurrency: IN_HAND } });
    return { ...execution, total, open: () => gate.resolve() };
  }

  /** A job of one file, from its acceptance to the request for it. */
  async function firstFileMs(name: string): Promise<number> {
    let askedAt = NaN;
    const url = fixture.origin.on(`/${name}`, (_request, response) => {
      askedAt = Date.now();
      send(response, Buffer.from(name));
    });
    const { arn, jobId } = await fixture.startExecution({ source: { files: [{ url, key: name }] } });
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    const row = await fixture.jobRow(jobId);
    expect(row).toMatchObject({ completedTasks: 1, failedTasks: 0 });
    return askedAt - Date.parse(String(row?.['createdAt']));
  }

  const running = async (jobId: string) => (await fixture.batchRows(jobId)).filter(({ status }) => status === 'running');

  it('has no more messages out than one coordinator takes in, and a job of one file starts beside it within 5 s', async () => {
    fixture = await ExportFixture.start();
    await fixture.startService(ENVIRONMENT);
    const aloneMs = await firstFileMs('alone');
    const huge = await startHugeJob();
    await fixture.jobIn(huge.jobId, 'DOWNLOADING');
    await eventually(async () => (await running(huge.jobId)).length === IN_HAND && fixture.origin.openRequests === IN_HAND);
    expect(await fixture.jobRow(huge.jobId)).toMatchObject({ batchCount: BATCHES, sentBatches: IN_HAND });
    const { Attributes } = await fixture.clients.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: fixture.aws.resources.batchesQueueUrl, AttributeNames: ['All'] }),
    );
    expect(Attributes?.['ApproximateNumberOfMessages']).toBe('0');

    // The huge job does not move meanwhile.
    expect(await firstFileMs('beside')).toBeLessThan(aloneMs + FIRST_FILE_MS);
    huge.open();
    await expectWholeJob(fixture, huge, FAR_MS);
    expect(await fixture.jobRow(huge.jobId)).toMatchObject({ sentBatches: BATCHES });
  });

  it('is shared by a coordinator that comes later, and by another, each with its part of the window', async () => {
    fixture = await ExportFixture.start();
    const environment = { ...ENVIRONMENT, COORDINATOR_HEARTBEAT_INTERVAL_MS: '300', STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000' };
    await fixture.startService({ ...environment, COORDINATOR_ID: 'first' });
    const huge = await startHugeJob();
    await eventually(async () => (await running(huge.jobId)).length === IN_HAND);
    for (const name of ['second', 'third']) await fixture.startService({ ...environment, COORDINATOR_ID: name });
    await eventually(
      async () => {
        const rows = await running(huge.jobId);
        return rows.length === 3 * IN_HAND && new Set(rows.map(({ lockedBy }) => lockedBy)).size === 3;
      },
      { timeoutMs: 60_000 },
    );
    expect(await fixture.jobRow(huge.jobId)).toMatchObject({ sentBatches: 3 * IN_HAND });
    huge.open();
    await expectWholeJob(fixture, huge, FAR_MS);
  });
});
