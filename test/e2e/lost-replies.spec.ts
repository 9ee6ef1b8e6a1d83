import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { FaultRule } from '../../infra/local-aws/gateway-faults.js';
import { ExportFixture } from './export-fixture.js';

jest.setTimeout(60_000);

interface UpdateBody {
  UpdateExpression?: string;
  ConditionExpression?: string;
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
  finalizing: ({ UpdateExpression = '' }) => UpdateExpression.includes('#status = :finalizing'),
  'job end': ({ UpdateExpression = '' }) => UpdateExpression.includes('callback = :callback'),
};

describe('a reply that is lost after the write was applied changes no total', () => {
  let fixture: ExportFixture;
  let removeFault: () => void = () => undefined;

  beforeAll(async () => {
    fixture = await ExportFixture.start();
    await fixture.startService({ BATCH_HEARTBEAT_INTERVAL_MS: '200', COORDINATOR_HEARTBEAT_INTERVAL_MS: '200', TASKS_PER_WORKER: '2' });
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

  it('of every tenth write to the tables', async () => {
    let writes = 0;
    lose({ service: 'dynamodb', operation: 'UpdateItem', when: () => ++writes % 10 === 0 });
    await runJob('every-tenth');
    expect(writes).toBeGreaterThan(10);
  });
});
