import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FaultRules, type FaultAction } from '../../infra/local-aws/gateway-faults.js';
import { Gateway } from '../../infra/local-aws/gateway.js';
import { RequestLog } from '../../infra/local-aws/request-log.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from '../e2e/export-fixture.js';
import { holdersOf, startGatedJob } from '../e2e/gated-job.js';
import { expectWholeJob } from '../e2e/whole-job.js';

const TTL_MS = 6_000;
const CAPACITY = 8;
const BATCHES = 2;
const BATCH_SIZE = 75;
/** Fewer than a batch has, so that none ends before the gate opens. */
const AT_ONCE = 60;
const ENVIRONMENT = {
  BATCH_SIZE: String(BATCH_SIZE),
  BATCH_HEARTBEAT_INTERVAL_MS: '500',
  RECLAIM_TTLS: JSON.stringify({ download: TTL_MS }),
  RECLAIM_INTERVAL_MS: '500',
  SQS_HEARTBEAT_INTERVAL_MS: '600',
  TASKS_PER_WORKER: '4',
};

describe('a holder that is cut off from the tables, alone', () => {
  let fixture: ExportFixture;
  /** The holder's own way to the tables. */
  let gateway: Gateway;
  let faults: FaultRules;
  let log: RequestLog;

  beforeEach(async () => {
    // Messages that the one who is cut off receives come back soon.
    fixture = await ExportFixture.start({ queueVisibilityS: 2 });
    [faults, log] = [new FaultRules(), new RequestLog()];
    gateway = await Gateway.start({ service: 'dynamodb', upstream: fixture.aws.endpoints.dynamodb, faults, log });
  });
  afterEach(async () => {
    await fixture.close();
    await gateway.close();
  });

  it.each<[string, FaultAction]>([
    ['cuts its connections', { kind: 'cut' }],
    ['swallows what it sends', { kind: 'delay', ms: 600_000 }],
  ])('by a network that %s, aborts its work before another takes over, and writes no row any more', async (_how, action) => {
    const holder = await fixture.startService({ ...ENVIRONMENT, COORDINATOR_ID: 'cut-off', AWS_ENDPOINT_URL_DYNAMODB: gateway.url });
    const job = await startGatedJob(fixture, {
      total: BATCHES * BATCH_SIZE,
      atOnce: AT_ONCE,
      waiting: CAPACITY,
      maxConcurrency: CAPACITY,
    });
    const allAreHeldBy = async (name: string) => (await holdersOf(fixture, job)).get(name)?.length === BATCHES;
    await eventually(() => allAreHeldBy('cut-off'));
    await fixture.startService({ ...ENVIRONMENT, COORDINATOR_ID: 'other' });
    const reconnect = faults.add({ action });
    // Maybe more: the batch that is given up first leaves its places to the other one, whose requests are then cut off in their turn.
    await eventually(() => job.cutOff.length >= CAPACITY);
    // Not right at the cut: what was on its way then is still answered.
    const answeredBefore = log.records.length;
    await eventually(() => allAreHeldBy('other'));
    const reclaimed = await fixture.batchRows(job.jobId);
    for (const { lastError } of reclaimed) expect(lastError).toContain('held by cut-off');
    expect(holder.said('Batch let go: its lease could not be renewed in time')).toBe(true);

    job.open();
    await expectWholeJob(fixture, job);
    for (let index = 0; index < job.total; index++)
      expect([index, job.hitsOf(index)]).toEqual([index, 1 + job.cutOff.filter((cut) => cut.index === index).length]);
    for (const { index, atMs } of job.cutOff) {
      const batch = reclaimed[Math.floor(index / BATCH_SIZE)];
      expect(Date.parse(String(batch?.['enqueuedAt']))).toBeGreaterThan(atMs);
    }

    const [jobRow, batchRows] = [await fixture.jobRow(job.jobId), await fixture.batchRows(job.jobId)];
    expect(log.records.slice(answeredBefore).filter(({ fault }) => fault === undefined)).toEqual([]);
    reconnect();
    const cameBackAt = log.records.length;
    await eventually(() => log.records.slice(cameBackAt).some(({ status, operation }) => status === 200 && operation === 'Query'));
    expect([await fixture.jobRow(job.jobId), await fixture.batchRows(job.jobId)]).toEqual([jobRow, batchRows]);
  });
});
