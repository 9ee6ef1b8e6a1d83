import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { CreateStateMachineCommand, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { exportStateMachine } from '../../infra/state-machine/index.js';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { CommandProcess } from './command-process.js';
import { ExportFixture } from './export-fixture.js';

const DENIED = { kind: 'fail', status: 403, code: 'AccessDenied' } as const;

interface Cause {
  message: string;
  [field: string]: unknown;
}

describe('a destination that does not take what is written there', () => {
  let fixture: ExportFixture;
  let environment: Record<string, string>;
  const allowing: (() => void)[] = [];

  beforeAll(async () => {
    fixture = await ExportFixture.start();
    environment = {
      ...fixture.aws.environment(),
      ALLOWED_DESTINATION_BUCKETS: `${fixture.aws.resources.bucket},missing-bucket`,
      BATCH_HEARTBEAT_INTERVAL_MS: '200',
      BATCH_SIZE: '2',
    };
    await fixture.startService(environment);
  });
  afterEach(() => {
    for (const allow of allowing.splice(0)) allow();
  });
  afterAll(() => fixture.close());

  const deny = (key: RegExp) => void allowing.push(fixture.aws.s3.faults.add({ operation: 'PutObject', key, action: DENIED }));
  const run = (...args: string[]) => CommandProcess.start('src/cli/main.js', args, environment).ended;
  const fileOf = (name: string) => ({ url: fixture.origin.file(`/${name}`, name), key: name });
  const causeOf = ({ cause }: { cause?: string | undefined }) => JSON.parse(cause ?? '{}') as Cause;

  /** A job of one file that is done and one that waits for the gate. */
  const startGated = async (name: string, options: object = {}) => {
    const gate = deferred();
    const waiting = { url: fixture.origin.gated(`/${name}/waits`, 'at last', gate.promise), key: 'waits' };
    const missing = {
      url: fixture.origin.on(`/${name}/missing`, (_request, response) => void response.writeHead(404).end()),
      key: 'missing',
    };
    const execution = await fixture.startExecution({ source: { files: [missing, waiting] }, options });
    await eventually(() => fixture.origin.openRequests > 0);
    return { ...execution, open: () => gate.resolve() };
  };

  /** The same job with a new token, as a redrive brings it; a name is taken once for each machine. */
  const startAgain = async (name: string, input: object) => {
    const definition = exportStateMachine({ jobsQueueUrl: fixture.aws.resources.jobsQueueUrl });
    const roleArn = 'arn:aws:iam::000000000000:role/again';
    const { stateMachineArn } = await fixture.clients.states.send(new CreateStateMachineCommand({ name: 'again', definition, roleArn }));
    const message = JSON.stringify({ exportId: 'export-1', userId: 'user-1', ...input });
    await fixture.clients.states.send(new StartExecutionCommand({ stateMachineArn, name, input: message }));
  };

  it('a bucket that does not exist: the token is answered in seconds, with the mend, and the same job runs once it is there', async () => {
    const input = { source: { files: [fileOf('a')] }, destination: { bucket: 'missing-bucket' } };
    const { arn, jobId } = await fixture.startExecution(input);
    const execution = await fixture.ended(arn, 15_000);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'InvalidExportRequest' });
    expect(causeOf(execution)).toMatchObject({
      message: expect.stringContaining('destination.bucket missing-bucket does not exist (NoSuchBucket): create it') as unknown,
      resultsNotWritten: { bucket: 'missing-bucket', code: 'NoSuchBucket' },
    });
    expect(await fixture.jobIn(jobId, 'FAILED')).toMatchObject({ callback: 'failure', resultsNotWritten: { code: 'NoSuchBucket' } });
    const retried = await run('retry', jobId);
    expect([retried.code, retried.stderr]).toEqual([1, expect.stringContaining('start its execution again') as unknown]);

    await fixture.clients.s3.send(new CreateBucketCommand({ Bucket: 'missing-bucket' }));
    await startAgain(jobId, input);
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ run: 2, attempt: 2, completedTasks: 1, callback: 'success' });
  });

  it('a manifest that is refused: the answer goes out without it and says so, and a retry has nothing to do', async () => {
    deny(/run-1\//);
    const { arn, jobId } = await fixture.startExecution({ source: { files: [fileOf('b')] } });
    const { status, output } = await fixture.ended(arn);
    expect(status).toBe('SUCCEEDED');
    expect(JSON.parse(output ?? '')).toMatchObject({
      completedTasks: 1,
      result: { key: null },
      resultsNotWritten: { bucket: fixture.aws.resources.bucket, code: 'AccessDenied' },
    });
    expect((await run('job', jobId)).stdout).toContain('could not be written (AccessDenied)');
  });

  it.each([
    ['request', /_export\/.*\/input\/request/],
    ['segments', /_export\/.*\/input\/.*\/[^/]+$/],
  ])(
    'the %s of a job refused: the job ends in seconds as DestinationRefused, and the same job runs once it is allowed',
    async (what, key) => {
      deny(key);
      const input = { source: { files: [fileOf(`f-${what}`)] } };
      const { arn, jobId } = await fixture.startExecution(input);
      const execution = await fixture.ended(arn, 20_000);
      expect(execution).toMatchObject({ status: 'FAILED', error: 'DestinationRefused' });
      expect(causeOf(execution).message).toMatch(
        /^s3:PutObject on s3:\/\/.*\/input\/.* failed: AccessDenied\. Create the bucket or grant /,
      );
      for (const allow of allowing.splice(0)) allow();
      await startAgain(jobId, input);
      expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ run: 2, completedTasks: 1 });
    },
  );

  it('the lists of a batch that are refused: the job ends as DestinationRefused, and its retry does the rest', async () => {
    deny(/_export\/.*\/results\//);
    const { arn, jobId } = await fixture.startExecution({ source: { files: [fileOf('c')] } });
    const execution = await fixture.ended(arn);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'DestinationRefused' });
    expect(causeOf(execution).message).toMatch(/^s3:PutObject on s3:\/\/.*\/results\/.* failed: AccessDenied\. /);
    for (const allow of allowing.splice(0)) allow();
    expect((await run('retry', jobId)).code).toBe(0);
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ run: 2, completedTasks: 1 });
  });

  it('a cancel ends a job at once although nothing can be written', async () => {
    const { arn, jobId, open } = await startGated('d');
    deny(/run-1\//);
    const { code, stdout } = await run('cancel', jobId, '--reason', 'wrong bucket');
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Job ${jobId} is cancelled`) as unknown]);
    const execution = await fixture.ended(arn);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'ExportCancelled' });
    expect(causeOf(execution).message).toContain('wrong bucket ResultsNotWritten: ');
    open();
  });

  it('options.failFast ends a job at its first failure, names that failure, and a retry begins anew', async () => {
    const { arn, jobId, open } = await startGated('e', { failFast: true });
    const execution = await fixture.ended(arn);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'JobCompletedWithFailures' });
    expect(causeOf(execution)).toMatchObject({
      message: expect.stringContaining('options.failFast: 1/2 (50%)') as unknown,
      totalTasks: 2,
      failedTasks: 1,
      failures: [{ index: 0, code: 'HTTP_404' }],
    });
    open();
    await eventually(async () => (await fixture.batchRows(jobId)).every(({ status }) => status === 'cancelled'));
    expect((await run('retry', jobId)).code).toBe(0);
    expect(
      await eventually(async () => {
        const row = await fixture.jobRow(jobId);
        return row?.run === 2 && row.status === 'FAILED' && row;
      }),
      // Whether the other file was brought before the first failure was counted is a matter of milliseconds.
    ).toMatchObject({ failedTasks: 1, callback: 'none' });
  });
});
