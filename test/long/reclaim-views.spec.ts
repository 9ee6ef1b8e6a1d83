import { afterEach, expect, it } from '@jest/globals';
import type { HeldBatch, ReclaimRecord } from '../../src/batches/index.js';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { CommandProcess } from '../e2e/command-process.js';
import { ExportFixture, SECRET } from '../e2e/export-fixture.js';

/** Nobody reclaims by itself: the commands are to be seen at it. Short times in the relations of the defaults. */
const ENVIRONMENT = {
  RECLAIM_ENABLED: 'false',
  BATCH_HEARTBEAT_INTERVAL_MS: '500',
  RECLAIM_TTLS: '{"download": 4000}',
  RECLAIM_INTERVAL_MS: '500',
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
  WORKER_POOL_SIZE: '1',
  SQS_HEARTBEAT_INTERVAL_MS: '1000',
};
/** The last receive of a killed process may swallow a message for one visibility timeout. */
const QUEUES = { queueVisibilityS: 3 };
const FILES = 6;

let fixture: ExportFixture;
afterEach(() => fixture.close());

const start = (...args: string[]) => CommandProcess.start('src/cli/main.js', args, { ...fixture.aws.environment(), ...ENVIRONMENT });
const run = (...args: string[]) => start(...args).ended;
const json = async <T>(...args: string[]) => JSON.parse((await run(...args, '--json')).stdout) as T;
type Monitor = { counts: Record<string, number>; batches: HeldBatch[] };

/** A job of which one file waits for the gate. */
async function startJob(): Promise<{ arn: string; jobId: string; gate: ReturnType<typeof deferred<void>> }> {
  const gate = deferred();
  const files = fixture.smallFiles(FILES - 1);
  files.push({ url: fixture.origin.gated('/waits', `the last ${SECRET}`, gate.promise), key: 'waits' });
  const execution = await fixture.startExecution({ source: { files } });
  await eventually(async () => (await fixture.jobRow(execution.jobId))?.completedTasks === FILES - 1);
  return { ...execution, gate };
}

/** Its TTL and a minute after the death of its holder. */
async function untilOverdue(holderId: string): Promise<void> {
  const validated = await eventually(async () => {
    const result = await run('validate', '--wide');
    return result.stdout.includes(holderId) ? result : undefined;
  });
  expect(validated.code).toBe(1);
}

it('A batch whose holder is killed is seen going stale, found overdue, reclaimed by command, and remembered; its job ends exactly', async () => {
  fixture = await ExportFixture.start(QUEUES);
  const holder = await fixture.startService(ENVIRONMENT);
  const { arn, jobId, gate } = await startJob();
  const holderId = String(holder.events().find((event) => event.coordinatorId !== undefined)?.coordinatorId);

  const alive = await json<Monitor>('stale');
  expect(alive.batches).toMatchObject([{ jobId, batchNo: 0, type: 'download', heldBy: holderId, completed: FILES - 1, state: 'healthy' }]);
  expect(await run('validate')).toMatchObject({ code: 0, stdout: '' });
  expect(await json('reclaim')).toEqual({ requeued: 0, givenUp: 0, moved: 0, failed: 0, reclaims: [] });
  expect(await run('history')).toMatchObject({ code: 0, stdout: '', stderr: 'No reclaims\n' });

  await holder.kill();
  gate.resolve();
  const stale = await eventually(async () => {
    const monitor = await json<Monitor>('stale');
    return monitor.counts.stale === 1 ? monitor : undefined;
  });
  expect(stale.batches).toMatchObject([{ jobId, batchNo: 0, heldBy: holderId, state: 'stale' }]);
  // It counts as living for three heartbeat intervals after its last one.
  const nobody = await eventually(async () => {
    const validated = await run('validate');
    return validated.code === 1 ? validated : undefined;
  });
  expect(nobody).toMatchObject({
    stderr: expect.stringContaining(`No coordinator lives (silent: ${holderId}), and 1 active job waits`),
  });
  expect((await run('jobs')).stderr).toContain('No coordinator lives (1 silent)');
  await untilOverdue(holderId);

  const preview = await run('reclaim', '--dry-run', '--wide');
  expect(preview.stdout).toMatch(new RegExp(`${jobId} +0 +download +${holderId} .*try 1`));
  expect(preview.stderr).toContain('Stored times alone never condemn');
  expect((await fixture.batchRows(jobId))[0]).toMatchObject({ status: 'running', lockedBy: holderId });

  const interrupted = start('reclaim');
  await eventually(() => interrupted.stderr.includes('WATCHING'));
  interrupted.signal('SIGINT');
  expect(await interrupted.ended).toMatchObject({ code: 130, stdout: '' });
  expect((await fixture.batchRows(jobId))[0]).toMatchObject({ status: 'running', lockedBy: holderId });

  await fixture.startService(ENVIRONMENT);
  const reclaimed = await run('reclaim', '--wide');
  expect(reclaimed).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`${jobId} +0 +requeued +1 +${holderId}`)) });
  expect(reclaimed.stderr).toContain('1 requeued, 0 given up');

  expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
  expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ totalTasks: FILES, completedTasks: FILES, failedTasks: 0 });
  const remembered = await json<ReclaimRecord[]>('history', jobId);
  expect(remembered).toMatchObject([
    { jobId, batchNo: 0, run: 1, attempt: 1, lockToken: 1, outcome: 'requeued', heldBy: holderId, completed: FILES - 1, failed: 0 },
  ]);
  expect(remembered[0]?.heartbeatAgeS).toBeGreaterThanOrEqual(8);
  await eventually(async () => (await json<ReclaimRecord[]>('history')).length === 1);
  expect(await json<ReclaimRecord[]>('history')).toEqual(remembered);
  expect(await run('validate')).toMatchObject({ code: 0, stdout: '' });
  expect(await run('stale')).toMatchObject({ code: 0, stdout: '', stderr: 'No running batches. 1 coordinator lives (1 silent).\n' });
});

it('A service that reclaims writes the same history, also when a reply is lost, and its gauge of what is overdue', async () => {
  fixture = await ExportFixture.start(QUEUES);
  const holder = await fixture.startService(ENVIRONMENT);
  const { arn, jobId, gate } = await startJob();
  await holder.kill();
  gate.resolve();
  await untilOverdue(String(holder.coordinatorId));
  // The SDK's retry meets what it has written: one line all the same.
  const { reclaimsTable } = fixture.aws.resources;
  const ofHistory = (body: unknown) => (body as { TableName?: string }).TableName === reclaimsTable;
  fixture.aws.faults.add({ service: 'dynamodb', operation: 'PutItem', when: ofHistory, times: 1, action: { kind: 'drop-reply' } });
  // It tells so as soon as it has watched for four heartbeat intervals, and until the turn after that which takes the batch.
  const reclaimer = await fixture.startService({ ...ENVIRONMENT, RECLAIM_ENABLED: 'true', RECLAIM_INTERVAL_MS: '3000' });
  await eventually(async () => (await reclaimer.counted('batches_overdue')) === 1);
  expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
  const reclaimedBy = String(reclaimer.events().find((event) => event.coordinatorId !== undefined)?.coordinatorId);
  await eventually(async () => (await json<ReclaimRecord[]>('history', jobId)).length === 1);
  expect(await json<ReclaimRecord[]>('history', jobId)).toMatchObject([{ batchNo: 0, outcome: 'requeued', reclaimedBy }]);
  await eventually(async () => {
    const metrics = await (await fetch(`${reclaimer.url}/metrics`)).text();
    return metrics.includes('\nbatches_overdue 0\n') && metrics.includes('batches_reclaimed_total{type="download",outcome="requeued"} 1');
  });
});
