import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SendTaskFailureCommand } from '@aws-sdk/client-sfn';
import { exportStateMachine } from '../../../infra/state-machine/index.js';
import { defined, QUEUE_URL, StepFunctionsFixture } from './step-functions.fixture.js';

const INPUT = { exportId: 'export-456', userId: 'user-789' };

describe('the shipped state machine on the embedded Step Functions', () => {
  let fixture: StepFunctionsFixture;

  beforeEach(async () => {
    fixture = await StepFunctionsFixture.start();
  });

  afterEach(() => fixture.close());

  const start = (input: object, limits: object = {}) =>
    fixture.run(exportStateMachine({ jobsQueueUrl: QUEUE_URL, ...limits }), input, "job-1_a.+!@='()");
  const messages = () => fixture.sent.map(({ body }) => JSON.parse(body) as object);
  const fail = (taskToken: string, error?: string, cause?: string) =>
    fixture.client.send(new SendTaskFailureCommand({ taskToken, error, cause }));

  it('puts the job on the jobs queue: its input, the execution name as job id, the token; absent keys stay absent', async () => {
    await start(INPUT);
    const taskToken = await fixture.token();
    expect(fixture.sent.map(({ queueUrl }) => queueUrl)).toEqual([QUEUE_URL]);
    expect(messages()).toEqual([{ ...INPUT, jobId: "job-1_a.+!@='()", taskToken }]);
  });

  it('passes everything optional on as it came, and lets nobody choose job id or token', async () => {
    const input = {
      ...INPUT,
      source: { files: [{ url: 'https://example.com/a?b="{}\\\'', key: 'ä/b.pdf', size: 0, checksum: null }] },
      destination: { bucket: 'b', prefix: 'p/' },
      options: { toleratedFailureCount: 1, headers: { 'x-a': 'b\nc' } },
      metadata: { any: ['thing', 1, true, {}] },
    };
    await start({ ...input, jobId: 'mine', taskToken: 'mine' });
    const taskToken = await fixture.token();
    expect(messages()).toEqual([{ ...input, jobId: "job-1_a.+!@='()", taskToken }]);
  });

  it('ends with the output of the job', async () => {
    const arn = await start(INPUT);
    await fixture.succeed(await fixture.token(), { jobId: 'job', totalTasks: 3 });
    expect(await fixture.ended(arn)).toMatchObject({ status: 'SUCCEEDED', output: '{"jobId":"job","totalTasks":3}' });
  });

  it.each(['ExportCancelled', 'InvalidExportRequest', 'JobIdConflict', 'JobStalled', 'JobCompletedWithFailures', 'ExportIntakeFailed'])(
    'fails with error and cause of a job that failed with %s, without a retry',
    async (error) => {
      const arn = await start(INPUT, { retryIntervalSeconds: 1 });
      await fail(await fixture.token(), error, '{"why":"because"}');
      expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED', error, cause: '{"why":"because"}' });
      expect(fixture.sent).toHaveLength(1);
    },
  );

  it('fails when the job was failed with neither error nor cause', async () => {
    const arn = await start(INPUT);
    await fail(await fixture.token());
    expect(await fixture.ended(arn)).toMatchObject({ status: 'FAILED' });
  });

  it('sends the job again with a fresh token after a missed heartbeat', async () => {
    const arn = await start(INPUT, { heartbeatSeconds: 1, retryIntervalSeconds: 1 });
    const first = await fixture.token(1);
    const second = await fixture.token(2);
    expect(messages()).toEqual([first, second].map((taskToken) => ({ ...INPUT, jobId: "job-1_a.+!@='()", taskToken })));
    expect(second).not.toBe(first);
    await fixture.succeed(second, { attempt: 2 });
    expect(await fixture.ended(arn)).toMatchObject({ status: 'SUCCEEDED', output: '{"attempt":2}' });
  });

  it('fails with ExportTimedOut and says why when its retries are used up', async () => {
    const arn = await start(INPUT, { heartbeatSeconds: 1, retryIntervalSeconds: 1, maxAttempts: 1 });
    const { status, error, cause } = await fixture.ended(arn);
    expect([status, error]).toEqual(['FAILED', 'ExportTimedOut']);
    expect(defined(cause)).toMatch(/heartbeat/);
    expect(fixture.endpoint.tokens().map(({ closed }) => closed)).toEqual(['timeout', 'timeout']);
  });

  it('keeps the token out of its history', async () => {
    const arn = await start(INPUT);
    const token = await fixture.token();
    await fixture.succeed(token);
    await fixture.ended(arn);
    expect(JSON.stringify(await fixture.history(arn))).not.toContain(token);
  });
});
