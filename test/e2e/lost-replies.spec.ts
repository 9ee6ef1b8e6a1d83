import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { FaultRule } from '../../infra/local-aws/gateway-faults.js';
import { ExportFixture } from './export-fixture.js';
import { expectWholeJob } from './whole-job.js';

interface UpdateBody {
  TableName?: string;
  Key?: object;
  Item?: { jobId?: object; batchNo?: object };
  UpdateExpression?: string;
  ConditionExpression?: string;
  ExpressionAttributeValues?: Record<string, object>;
}

/**
 * What a request writes; `undefined` when it only reads. The SDK's own next try of it writes the same, and so does the service's, whose
 * time and number differ: the SDK stops trying when it has met too many of its own writes.
 */
function writeOf({
  TableName,
  Key,
  Item,
  UpdateExpression,
  ConditionExpression,
  ExpressionAttributeValues,
}: UpdateBody): string | undefined {
  if (ConditionExpression === undefined) return undefined;
  const values = Object.entries(ExpressionAttributeValues ?? {}).filter(([name]) => ![':now', ':seq', ':ttl'].includes(name));
  return JSON.stringify([TableName, Key ?? [Item?.jobId, Item?.batchNo], UpdateExpression, values]);
}

/** Requests by what they do, told from their expressions. */
const WRITES: Record<string, (body: UpdateBody) => boolean> = {
  accept: ({ UpdateExpression, ConditionExpression }) => UpdateExpression === undefined && ConditionExpression !== undefined,
  plan: ({ UpdateExpression = '' }) => UpdateExpression.includes('segmentPrefix'),
  claim: ({ UpdateExpression = '' }) => UpdateExpression.includes('claimId = :claimId'),
  checkpoint: ({ UpdateExpression = '' }) => UpdateExpression.includes('done = :done') && !UpdateExpression.includes(':succeeded'),
  end: ({ UpdateExpression = '' }) => UpdateExpression.includes('#status = :succeeded'),
  count: ({ UpdateExpression = '' }) => UpdateExpression.includes('batchProgress.#n = :next'),
  'last count': ({ UpdateExpression = '' }) => UpdateExpression.includes('endedBatches :ended'),
  'coordinator heartbeat': ({ UpdateExpression = '' }) => UpdateExpression.includes('loopLagMs = :loopLagMs'),
  'batches due': ({ UpdateExpression = '' }) => UpdateExpression.includes('SET sentBatches'),
  finalizing: ({ UpdateExpression = '' }) => UpdateExpression.includes('#status = :finalizing'),
  'job end': ({ UpdateExpression = '' }) => UpdateExpression.includes('callback = :callback'),
};

describe('a reply that is lost after the write was applied changes no total', () => {
  let fixture: ExportFixture;
  let removeFault: () => void = () => undefined;

  beforeAll(async () => {
    fixture = await ExportFixture.start();
    await fixture.startService({
      BATCH_HEARTBEAT_INTERVAL_MS: '200',
      COORDINATOR_HEARTBEAT_INTERVAL_MS: '200',
      STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
      TASKS_PER_WORKER: '2',
      // Each batch is sent when the one before has ended.
      MAX_BATCHES_IN_HAND: '1',
    });
  });
  afterEach(() => removeFault());
  afterAll(() => fixture.close());

  function lose(rule: Omit<FaultRule, 'action'>): void {
    removeFault = fixture.aws.faults.add({ ...rule, action: { kind: 'drop-reply' } });
  }

  /** 130 files that take a while each, so that checkpoints and counts happen on the way. */
  async function runJob(name: string): Promise<void> {
    const files = Array.from({ length: 130 }, (_, index) => ({
      url: fixture.origin.on(`/${name}/${index}`, (_request, response) => void setTimeout(() => response.end('slow'), 20)),
      key: `${index}`,
      size: 4,
    }));
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({
      totalTasks: 130,
      completedTasks: 130,
      failedTasks: 0,
      bytesProcessed: 520,
      batchProgress: {},
    });
    const [token] = fixture.aws.stepFunctions.tokens().slice(-1);
    expect(token?.answers.filter((answer) => answer.accepted)).toHaveLength(1);
    for (let index = 0; index < 130; index++) expect(fixture.origin.hitsOf(`/${name}/${index}`)).toBe(1);
  }

  for (const [name, isIt] of Object.entries(WRITES))
    it(`of the ${name}`, async () => {
      let lost = 0;
      lose({ service: 'dynamodb', when: (body) => isIt(body as UpdateBody) && ++lost > 0, times: 2 });
      await runJob(name.replace(' ', '-'));
      expect(lost).toBeGreaterThan(0);
    });

  it('of the answer to the token', async () => {
    lose({ service: 'states', operation: 'SendTaskSuccess', times: 1 });
    await runJob('answer');
  });

  it('of every write to the tables, once, in a job of 1,000 files', async () => {
    const applied = new Set<string>();
    let lost = 0;
    let repeated = 0;
    lose({
      service: 'dynamodb',
      when: (body) => {
        const write = writeOf(body as UpdateBody);
        if (write === undefined) return false;
        const isFirst = !applied.has(write);
        applied.add(write);
        if (isFirst) lost++;
        else repeated++;
        return isFirst;
      },
    });
    const files = fixture.smallFiles(1_000, 'every-write');
    const execution = await fixture.startExecution({ source: { files } });
    await expectWholeJob(fixture, { ...execution, total: 1_000 });
    // Rows of the batches, claims, ends and counts.
    expect(lost).toBeGreaterThan(40);
    expect(repeated).toBeGreaterThan(0);
    for (let index = 0; index < 1_000; index++) expect(fixture.origin.hitsOf(`/every-write/${index}`)).toBe(1);
  });

  it('of every tenth write to the tables', async () => {
    let writes = 0;
    lose({ service: 'dynamodb', operation: 'UpdateItem', when: () => ++writes % 10 === 0 });
    await runJob('every-tenth');
    expect(writes).toBeGreaterThan(10);
  });
});
