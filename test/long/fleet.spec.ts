import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ownerOf } from '../../src/export-jobs/domain/rendezvous.js';
import { deferred } from '../support/deferred.js';
import { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from '../e2e/export-fixture.js';

const INTERVAL_MS = 400;
const BEAT_MS = 1_000;
const HOUR_MS = 3_600_000;
/** What a coordinator says when its id is taken from it. */
const ANOTHER = 'Another process has registered as this coordinator';

const ENVIRONMENT = {
  COORDINATOR_HEARTBEAT_INTERVAL_MS: String(INTERVAL_MS),
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: String(BEAT_MS),
  BATCH_HEARTBEAT_INTERVAL_MS: '1000',
  RECLAIM_TTLS: '{"download": 6000}',
  RECLAIM_INTERVAL_MS: '500',
  SQS_HEARTBEAT_INTERVAL_MS: '1000',
};

let fixture: ExportFixture;
afterEach(() => fixture.close());

const start = (coordinatorId: string, more: Record<string, string> = {}) =>
  fixture.startService({ ...ENVIRONMENT, COORDINATOR_ID: coordinatorId, ...more });

async function row(coordinatorId: string): Promise<Record<string, unknown> | undefined> {
  const { Item } = await fixture.clients.documents.send(
    new GetCommand({ TableName: fixture.aws.resources.coordinatorsTable, Key: { coordinatorId }, ConsistentRead: true }),
  );
  return Item;
}
const rowIs = (coordinatorId: string, expected: Record<string, unknown>) =>
  eventually(async () => {
    const found = await row(coordinatorId);
    return found !== undefined && Object.entries(expected).every(([name, value]) => found[name] === value) ? found : undefined;
  });
const hasBeaten = async (coordinatorId: string, beats: number) => {
  const from = Number((await row(coordinatorId))?.sequence);
  await eventually(async () => Number((await row(coordinatorId))?.sequence) >= from + beats);
};

/** A job whose one file comes when the gate opens. */
async function startSlowJob(gate: Promise<void>) {
  const path = `/slow-${crypto.randomUUID()}`;
  const execution = await fixture.startExecution({
    source: { files: [{ url: fixture.origin.gated(path, 'worth the wait', gate), key: 'slow.txt' }] },
  });
  await eventually(() => fixture.origin.hitsOf(path) > 0);
  const heartbeats = () => fixture.aws.stepFunctions.tokens().find(({ executionArn }) => executionArn === execution.arn)?.heartbeats ?? [];
  return { ...execution, path, heartbeats };
}

describe('the registry', () => {
  it('has a row for each service, of which each counts its own heartbeats', async () => {
    fixture = await ExportFixture.start();
    await Promise.all([start('alpha'), start('beta')]);
    for (const coordinatorId of ['alpha', 'beta']) {
      await hasBeaten(coordinatorId, 3);
      expect(await row(coordinatorId)).toMatchObject({
        v: 1,
        epoch: 1,
        status: 'ACTIVE',
        phase: 'ready',
        activeTasks: 0,
        activeBatches: 0,
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        host: expect.any(String),
        workLoopAt: expect.any(String),
        loopLagMs: expect.any(Number),
      });
    }
  });

  it('says of a service that it leaves as soon as it is told to stop, and keeps saying so when it has', async () => {
    fixture = await ExportFixture.start();
    const service = await start('alpha', { SHUTDOWN_TIMEOUT_MS: '6000' });
    const gate = deferred();
    await startSlowJob(gate.promise);
    const stopped = service.stop();
    await rowIs('alpha', { status: 'LEAVING', phase: 'draining', activeTasks: 1 });
    expect(service.said('Service stopped')).toBe(false);
    await hasBeaten('alpha', 2);
    gate.resolve();
    expect((await stopped).code).toBe(0);
    expect(await row('alpha')).toMatchObject({ status: 'LEAVING', epoch: 1 });
  });

  it('gives a service that is started again the next epoch, once, also when the reply of its registration is lost', async () => {
    fixture = await ExportFixture.start();
    await (await start('alpha')).kill();
    fixture.aws.faults.add({ service: 'dynamodb', operation: 'PutItem', times: 1, action: { kind: 'drop-reply' } });
    const service = await start('alpha');
    await hasBeaten('alpha', 2);
    expect(await row('alpha')).toMatchObject({ epoch: 2 });
    expect(service.said('has registered as this coordinator')).toBe(false);
  });

  it('may be throttled while a service starts: it registers as soon as that has passed', async () => {
    fixture = await ExportFixture.start();
    // More often than the client itself tries a call.
    fixture.aws.faults.add({
      service: 'dynamodb',
      operation: 'PutItem',
      times: 7,
      action: { kind: 'fail', status: 400, type: 'ProvisionedThroughputExceededException' },
    });
    const service = await start('alpha');
    await hasBeaten('alpha', 1);
    expect(await row('alpha')).toMatchObject({ epoch: 1 });
    expect(service.said('The coordinator could not be registered; it is tried again')).toBe(true);
  });

  it('is needed to start: without its table a service ends and says what to do', async () => {
    fixture = await ExportFixture.start();
    const service = ExportService.launch({ ...fixture.aws.environment(), DYNAMODB_COORDINATORS_TABLE: 'nowhere' });
    expect((await service.exited).code).toBe(78);
    const told = service.events().find(({ msg }) => msg === 'A dependency is missing or refuses us');
    expect(told).toMatchObject({ dependency: 'coordinators-table', resource: 'nowhere' });
    expect(told?.mend).toContain('DYNAMODB_COORDINATORS_TABLE');
    expect(service.said('Reclaim loop')).toBe(false);
  });
});

describe.each([
  ['in step', 0, 0],
  ['two hours apart', -HOUR_MS, HOUR_MS],
])('with clocks %s', (_how, alphaSkewMs, betaSkewMs) => {
  const skewed = (skewMs: number) => ({
    NODE_OPTIONS: `--import ${new URL('../support/skewed-clock.mjs', import.meta.url).href}`,
    CLOCK_SKEW_MS: String(skewMs),
  });

  it('each job is beaten by one coordinator, and by another one when that one was killed', async () => {
    fixture = await ExportFixture.start();
    const alpha = await start('alpha', skewed(alphaSkewMs));
    await start('beta', skewed(betaSkewMs));
    await Promise.all([hasBeaten('alpha', 3), hasBeaten('beta', 3)]);
    const gate = deferred();
    const jobs = [];
    do jobs.push(await startSlowJob(gate.promise));
    while (!jobs.some(({ jobId }) => ownerOf(jobId, ['alpha', 'beta']) === 'alpha'));
    const ofAlpha = jobs.find(({ jobId }) => ownerOf(jobId, ['alpha', 'beta']) === 'alpha');
    const beats = () => ofAlpha?.heartbeats() ?? [];

    // Five beats of one coordinator take four intervals; of two, two.
    await eventually(() => {
      const five = beats().slice(-5);
      return five.length === 5 && (five[4] ?? 0) - (five[0] ?? 0) > 3.5 * BEAT_MS;
    });

    await alpha.kill();
    const killedAt = Date.now();
    await eventually(() => beats().some((at) => at > killedAt));
    gate.resolve();
    for (const { arn } of jobs) expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
  });
});

describe('two services with one COORDINATOR_ID', () => {
  it('the elder lets its batches go, leaves the id to the younger, and takes it back when that one is dead', async () => {
    fixture = await ExportFixture.start();
    const elder = await start('twin');
    const gate = deferred();
    const { arn, jobId, path } = await startSlowJob(gate.promise);
    await rowIs('twin', { epoch: 1, activeBatches: 1 });

    const younger = await start('twin');
    const warnings = (service: ExportService) => service.events().filter(({ msg }) => msg.startsWith(ANOTHER));
    await eventually(() => warnings(elder).length > 0);
    await eventually(() => elder.events().some(({ msg, reason }) => msg === 'Batch left' && reason === 'lost'));
    await hasBeaten('twin', 10);
    expect(await row('twin')).toMatchObject({ epoch: 2 });
    expect(warnings(elder)).toMatchObject([{ level: 'error' }]);
    expect(warnings(younger)).toEqual([]);

    // Its lease runs out and either of them takes the batch from its checkpoint.
    await eventually(() => fixture.origin.hitsOf(path) >= 2);
    gate.resolve();
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ totalTasks: 1, completedTasks: 1, failedTasks: 0 });

    await younger.kill();
    await rowIs('twin', { epoch: 3, status: 'ACTIVE' });
    const after = await fixture.startExecution({ source: { files: fixture.smallFiles(3) } });
    expect((await fixture.ended(after.arn)).status).toBe('SUCCEEDED');
  });
});
