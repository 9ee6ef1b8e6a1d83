import { CreateStateMachineCommand } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FaultRule } from '../../infra/local-aws/gateway-faults.js';
import { exportStateMachine } from '../../infra/state-machine/index.js';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { send } from '../support/origin.js';
import { CommandProcess } from './command-process.js';
import { ExportFixture, SECRET } from './export-fixture.js';

const FILES = 30;
/** Batches of ten: the first is wholly done, one file of each other fails. */
const FAILING = [12, 25];
const INDEXES = Array.from({ length: FILES }, (_, index) => index);

/** The state of the shipped machine, tried again when files failed. */
function retryingMachine(jobsQueueUrl: string): string {
  const machine = JSON.parse(exportStateMachine({ jobsQueueUrl })) as { States: { ExportFiles: { Retry: object[] } } };
  machine.States.ExportFiles.Retry.unshift({ ErrorEquals: ['JobCompletedWithFailures'], IntervalSeconds: 1, MaxAttempts: 2 });
  return JSON.stringify(machine);
}

describe('a job that is reopened', () => {
  let fixture: ExportFixture;
  let retrying: string;

  beforeAll(async () => {
    fixture = await ExportFixture.start();
    await fixture.startService({ BATCH_SIZE: '10', BATCH_HEARTBEAT_INTERVAL_MS: '200' });
    const definition = retryingMachine(fixture.aws.resources.jobsQueueUrl);
    const roleArn = 'arn:aws:iam::000000000000:role/states';
    const created = await fixture.clients.states.send(new CreateStateMachineCommand({ name: 'retrying', definition, roleArn }));
    retrying = created.stateMachineArn ?? '';
  });
  afterAll(() => fixture.close());

  const run = (...args: string[]) => CommandProcess.start('src/cli/main.js', args, fixture.aws.environment()).ended;

  /** Files of which some are not there until they are asked for `failures` + 1 times. */
  function flakyFiles(folder: string, failures = 1): { url: string; key: string }[] {
    return INDEXES.map((index) => ({
      url: fixture.origin.on(`/${folder}/${index}`, (_request, response, hit) => {
        if (FAILING.includes(index) && hit <= failures) response.writeHead(404).end('not yet');
        else send(response, Buffer.from(`file ${index} ${SECRET}`));
      }),
      key: `${folder}/${String(index).padStart(2, '0')}`,
    }));
  }

  const hits = (folder: string) => INDEXES.map((index) => fixture.origin.hitsOf(`/${folder}/${index}`));

  /** Index of each line that the manifest of a run names, the failed ones apart. */
  async function linesOf(jobId: string, runNo: number): Promise<{ succeeded: unknown[]; failed: unknown[] }> {
    const manifest = JSON.parse(await fixture.objectText(`exports/${jobId}/_export/${jobId}/run-${runNo}/manifest.json`)) as {
      ResultFiles: Record<'SUCCEEDED' | 'FAILED', { Key: string }[]>;
    };
    const indexes = async (files: { Key: string }[]) =>
      (await Promise.all(files.map(({ Key }) => fixture.objectLines(Key)))).flat().map(({ index }) => index);
    return { succeeded: await indexes(manifest.ResultFiles.SUCCEEDED), failed: await indexes(manifest.ResultFiles.FAILED) };
  }

  async function expectWhole(jobId: string, row: Record<string, unknown>): Promise<void> {
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({
      run: 2,
      totalTasks: FILES,
      completedTasks: FILES,
      failedTasks: 0,
      batchProgress: {},
      endedBatches: new Set([0, 1, 2]),
      ...row,
    });
    expect(await linesOf(jobId, 2)).toEqual({ succeeded: INDEXES, failed: [] });
    expect(await fixture.fileKeys(jobId)).toHaveLength(FILES);
  }

  const LOST: Record<string, FaultRule['when'] | undefined> = {
    none: undefined,
    'the reopening': (body) => String((body as { UpdateExpression?: string }).UpdateExpression).includes(':nextRun'),
    'a move': (body) => String((body as { UpdateExpression?: string }).UpdateExpression).includes(':newRun'),
  };

  it.each(Object.keys(LOST))(
    'by its execution’s retry fetches only the failed files again and answers the new token once; reply lost: %s',
    async (lost) => {
      const when = LOST[lost];
      let lostReplies = 0;
      const rule = { service: 'dynamodb', action: { kind: 'drop-reply' }, times: 1 } as const;
      const remove = when && fixture.aws.faults.add({ ...rule, when: (body) => when(body) && ++lostReplies > 0 });
      const folder = `retried-${lost.replaceAll(' ', '-')}`;
      const before = fixture.aws.stepFunctions.tokens().length;
      const { arn, jobId } = await fixture.startExecution({ source: { files: flakyFiles(folder) } }, retrying);
      const execution = await fixture.ended(arn);
      remove?.();
      expect(execution.status).toBe('SUCCEEDED');
      expect(JSON.parse(execution.output ?? '')).toMatchObject({ status: 'COMPLETED', completedTasks: FILES, failedTasks: 0, attempt: 2 });
      expect(hits(folder)).toEqual(INDEXES.map((index) => (FAILING.includes(index) ? 2 : 1)));
      expect(fixture.aws.stepFunctions.tokens().slice(before)).toMatchObject([
        { answers: [{ kind: 'failure', accepted: true }] },
        { answers: [{ kind: 'success', accepted: true }] },
      ]);
      const bytes = INDEXES.reduce((sum, index) => sum + Buffer.byteLength(`file ${index} ${SECRET}`), 0);
      await expectWhole(jobId, { attempt: 2, callback: 'success', bytesProcessed: bytes });
      expect(await linesOf(jobId, 1)).toMatchObject({ failed: FAILING });
      expect(lostReplies > 0).toBe(lost !== 'none');
    },
  );

  it('as often as the execution tries: each run fetches what the one before left', async () => {
    const { arn, jobId } = await fixture.startExecution({ source: { files: flakyFiles('stubborn', 2) } }, retrying);
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect(hits('stubborn')).toEqual(INDEXES.map((index) => (FAILING.includes(index) ? 3 : 1)));
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ run: 3, attempt: 3, completedTasks: FILES });
  });

  it('by retry, after it failed, completes without a callback; then there is nothing to retry', async () => {
    const { arn, jobId } = await fixture.startExecution({ source: { files: flakyFiles('operated') } });
    expect((await fixture.ended(arn)).error).toBe('JobCompletedWithFailures');
    await fixture.jobIn(jobId, 'FAILED');
    const { code, stdout } = await run('retry', jobId);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(`Job ${jobId} is reopened as run 2, without callbacks: 2 of 30 files to do`),
    ]);
    expect((await run('watch', jobId)).code).toBe(0);
    await expectWhole(jobId, { attempt: 1, callback: 'none' });
    expect(hits('operated')).toEqual(INDEXES.map((index) => (FAILING.includes(index) ? 2 : 1)));
    const again = await run('retry', jobId);
    expect([again.code, again.stderr]).toEqual([0, `Job ${jobId} has nothing to retry: all its files are done (30)\n`]);
  });

  it('by retry, after an operator cancelled it at work, goes on from what was done', async () => {
    const gate = deferred();
    const files = INDEXES.map((index) => ({
      url: fixture.origin.on(`/stopped/${index}`, (_request, response) => {
        void (index < 15 ? Promise.resolve() : gate.promise).then(() => send(response, Buffer.from(SECRET)));
      }),
      key: `stopped/${index}`,
    }));
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    await eventually(async () => (await fixture.jobRow(jobId))?.completedTasks === 15);
    const running = await run('retry', jobId);
    expect([running.code, running.stderr]).toEqual([1, expect.stringContaining(`Job ${jobId} was not retried: it is DOWNLOADING`)]);
    expect((await run('cancel', jobId)).code).toBe(0);
    expect((await fixture.ended(arn)).error).toBe('ExportCancelled');

    gate.resolve();
    const { code, stdout } = await run('retry', jobId, '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { retried: true, run: 2, completedTasks: 15 }]);
    await expectWhole(jobId, { attempt: 1, callback: 'none' });
    expect(hits('stopped').slice(0, 15)).toEqual(Array.from({ length: 15 }, () => 1));
  });
});
