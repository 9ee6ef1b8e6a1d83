import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import type { ExportService } from '../support/export-service.js';
import { ExportFixture } from '../e2e/export-fixture.js';
import { startGatedJob } from '../e2e/gated-job.js';
import { expectWholeJob } from '../e2e/whole-job.js';

/** Tells the polls of the victim from those of others. */
const VICTIMS_VISIBILITY_S = 3;
const OTHERS_VISIBILITY_S = 4;
/** Small batches, few in a hand: one coordinator cannot take them all. */
const ENVIRONMENT = { SQS_HEARTBEAT_INTERVAL_MS: '1000', BATCH_SIZE: '10', MAX_BATCHES_IN_HAND: '3' };
const FILES = 100;

describe('a message that a dying coordinator had just received', () => {
  let fixture: ExportFixture;
  beforeEach(async () => {
    fixture = await ExportFixture.start();
  });
  afterEach(() => fixture.close());

  const start = (visibilityS: number) => fixture.startService({ ...ENVIRONMENT, SQS_VISIBILITY_TIMEOUT_S: String(visibilityS) });

  /** A service that is killed when the queue has handed it messages, before it hears of them; `swallowed` tells how many. */
  async function startVictim(queueUrl: string): Promise<{ swallowed: Promise<number> }> {
    const swallowed = deferred<number>();
    let victim: ExportService | undefined;
    // Before it starts: a poll that is under way is beyond the reach of a rule.
    const disarm = fixture.aws.faults.add({
      service: 'sqs',
      operation: 'ReceiveMessage',
      when: (body) => {
        const receive = body as { QueueUrl?: string; VisibilityTimeout?: number };
        return receive.QueueUrl === queueUrl && receive.VisibilityTimeout === VICTIMS_VISIBILITY_S;
      },
      action: {
        kind: 'call',
        fn: async ({ detail }) => {
          if (detail?.entries === 0) return;
          disarm();
          await victim?.kill();
          swallowed.resolve(Number(detail?.entries));
        },
      },
    });
    victim = await start(VICTIMS_VISIBILITY_S);
    return { swallowed: swallowed.promise };
  }

  const received = (queue: string) =>
    fixture.aws.log
      .of('sqs', 'ReceiveMessage')
      .filter(({ resource }) => resource === queue)
      .reduce((sum, { detail }) => sum + Number(detail?.entries), 0);

  it('from the jobs queue comes back, and another accepts the job', async () => {
    const { swallowed } = await startVictim(fixture.aws.resources.jobsQueueUrl);
    const execution = await fixture.startExecution({ source: { files: fixture.smallFiles(FILES) } });
    expect(await swallowed).toBe(1);
    expect(await fixture.jobRow(execution.jobId)).toBeUndefined();
    await start(OTHERS_VISIBILITY_S);
    await expectWholeJob(fixture, { ...execution, total: FILES });
    expect(received('local-jobs')).toBe(2);
  });

  it.each([
    ['its successor runs the batch', false],
    ['a coordinator that was there all the time runs the batch', true],
  ])('from the batches queue comes back, and %s', async (_who, together) => {
    if (together) await start(OTHERS_VISIBILITY_S);
    const { swallowed } = await startVictim(fixture.aws.resources.batchesQueueUrl);
    const job = await startGatedJob(fixture, { total: FILES, atOnce: 0, waiting: together ? 1 : 0 });
    expect(await swallowed).toBeGreaterThan(0);
    if (!together) await start(OTHERS_VISIBILITY_S);
    job.open();
    await expectWholeJob(fixture, job);
    expect(received('local-batches')).toBeGreaterThanOrEqual(FILES / 10 + (await swallowed));
    // Nobody had claimed what was swallowed, so nobody had to take it away: the message itself brought it.
    for (const row of await fixture.batchRows(job.jobId)) expect(row).toMatchObject({ lockToken: 1, attempts: 0 });
    for (let index = 0; index < FILES; index++) expect([index, job.hitsOf(index)]).toEqual([index, 1]);
  });
});
