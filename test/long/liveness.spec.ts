import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteMessageCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { send } from '../support/origin.js';
import { ExportFixture } from '../e2e/export-fixture.js';

const REPAIR_AFTER_MS = 2_000;
const STALL_TIMEOUT_MS = 6_000;
/** Short times, in the relations of the defaults. */
const ENVIRONMENT = {
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
  BATCH_HEARTBEAT_INTERVAL_MS: '500',
  RECLAIM_TTLS: '{"download": 3000}',
  RECLAIM_INTERVAL_MS: '500',
  COORDINATOR_HEARTBEAT_INTERVAL_MS: '500',
  SQS_HEARTBEAT_INTERVAL_MS: '600',
  JOB_REPAIR_AFTER_MS: String(REPAIR_AFTER_MS),
  JOB_STALL_TIMEOUT_MS: String(STALL_TIMEOUT_MS),
};
/** A healthy job waits for longer than this in these suites: a multiple of what would make it a stalled one. */
const LONG_MS = STALL_TIMEOUT_MS * 2.5;
/** A token lives this long without a beat: ten intervals, as a busy machine may hold some back. */
const HEARTBEAT_S = 10;

describe('a token is kept alive', () => {
  let fixture: ExportFixture;
  afterEach(() => fixture.close());

  const start = async () => {
    fixture = await ExportFixture.start({ queueVisibilityS: 2, stateMachine: { heartbeatSeconds: HEARTBEAT_S, maxAttempts: 0 } });
  };
  const beatsOf = (arn: string) => fixture.aws.stepFunctions.tokens().find(({ executionArn }) => executionArn === arn)?.heartbeats ?? [];

  /** Ended by us, not by a timeout. */
  async function expectStalled(arn: string, jobId: string): Promise<void> {
    const execution = await fixture.ended(arn);
    expect([execution.status, execution.error]).toEqual(['FAILED', 'JobStalled']);
    const row = await fixture.jobIn(jobId, 'FAILED');
    expect(row).toMatchObject({ error: { code: 'JobStalled' }, callback: 'failure' });
    await eventually(async () => (await fixture.batchRows(jobId)).every(({ status }) => status === 'cancelled'));
  }

  it('no longer than the stall timeout by a source that stalls for ever', async () => {
    await start();
    await fixture.startService(ENVIRONMENT);
    const never = deferred();
    const url = fixture.origin.on('/stalls', (_request, response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write('a beginning');
      void never.promise.then(() => response.destroy());
    });
    const { arn, jobId } = await fixture.startExecution({ source: { files: [{ url, key: 'stalls' }] } });
    await expectStalled(arn, jobId);
    await eventually(() => fixture.origin.openRequests === 0);
    never.resolve();
  });

  it('no longer than the stall timeout by a worker thread that hangs', async () => {
    await start();
    const folder = await mkdtemp(join(tmpdir(), 'hang-'));
    try {
      const trigger = join(folder, 'now');
      const preload = new URL('../support/hang-thread.mjs', import.meta.url).href;
      await fixture.startService({
        ...ENVIRONMENT,
        WORKER_POOL_SIZE: '1',
        NODE_OPTIONS: `--import=${preload}`,
        HANG_THREAD_TRIGGER: trigger,
      });
      const gate = deferred();
      const url = fixture.origin.gated('/hangs', 'x', gate.promise);
      const { arn, jobId } = await fixture.startExecution({ source: { files: [{ url, key: 'hangs' }] } });
      await eventually(() => fixture.origin.openRequests === 1);
      await writeFile(trigger, '');
      await expectStalled(arn, jobId);
      gate.resolve();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('while a host asks for patience with Retry-After', async () => {
    await start();
    await fixture.startService(ENVIRONMENT);
    const url = fixture.origin.on('/busy', (_request, response, hit) => {
      if (hit > 1) return send(response, Buffer.from('at last'));
      response.writeHead(503, { 'retry-after': String(LONG_MS / 1_000) }).end();
    });
    const { arn } = await fixture.startExecution({ source: { files: [{ url, key: 'busy' }] } });
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    // Once more when a busy machine has cost the holder its lease.
    expect(fixture.origin.hitsOf('/busy')).toBeGreaterThanOrEqual(2);
  });

  it('while a job waits behind another that has all connections of its host', async () => {
    await start();
    await fixture.startService({ ...ENVIRONMENT, MAX_CONNECTIONS_PER_HOST: '1' });
    const until = performance.now() + LONG_MS;
    const url = fixture.origin.on('/drips', (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => {
        response.write('drop');
        if (performance.now() < until) return;
        clearInterval(drip);
        response.end();
      }, 200);
      response.once('close', () => clearInterval(drip));
    });
    const slow = await fixture.startExecution({ source: { files: [{ url, key: 'drips' }] } });
    await eventually(() => fixture.origin.openRequests === 1);
    const waiting = await fixture.startExecution({ source: { files: fixture.smallFiles(1) } });
    for (const { arn } of [slow, waiting]) expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect((beatsOf(waiting.arn).at(-1) ?? 0) - (beatsOf(waiting.arn)[0] ?? 0)).toBeGreaterThan(STALL_TIMEOUT_MS);
  });

  it('while the messages of its batches are lost, which are sent again', async () => {
    await start();
    const { sqs } = fixture.clients;
    const QueueUrl = fixture.aws.resources.batchesQueueUrl;
    // The service receives no batch until its messages are stolen; the thief polls shorter.
    const unblock = fixture.aws.faults.add({
      service: 'sqs',
      operation: 'ReceiveMessage',
      when: (body) => {
        const receive = body as { QueueUrl?: string; WaitTimeSeconds?: number };
        return receive.QueueUrl === QueueUrl && receive.WaitTimeSeconds !== 1;
      },
      action: { kind: 'cut' },
    });
    const service = await fixture.startService(ENVIRONMENT);
    const { arn, jobId } = await fixture.startExecution({ source: { files: fixture.smallFiles(3) } });
    await fixture.jobIn(jobId, 'DOWNLOADING');
    await eventually(async () => {
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1, MaxNumberOfMessages: 10 }));
      for (const { ReceiptHandle } of Messages) await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      return Messages.length > 0;
    });
    unblock();
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect(service.said('messages of queued batches sent again')).toBe(true);
  });

  it('not at all, and nothing is cancelled, when it is of another region', async () => {
    await start();
    await fixture.startService(ENVIRONMENT);
    const jobs = Array.from({ length: 5 }, (_, index) => `foreign-${index}`);
    for (const jobId of jobs)
      await fixture.sendJobMessage(
        JSON.stringify({
          jobId,
          exportId: 'e',
          userId: 'u',
          taskToken: `AAAAforeign${jobId}`.padEnd(60, 'x'),
          source: { files: fixture.smallFiles(2, jobId) },
        }),
      );
    for (const jobId of jobs) expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ completedTasks: 2, callback: 'gone' });
  });
});
