import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ExportFixture } from '../e2e/export-fixture.js';
import { expectWholeJob } from '../e2e/whole-job.js';

const JOBS = 100;
const FILES = 100;
/** Tokens that a busy service forgot would time out within the run. */
const HEARTBEAT_S = 30;
/** The embedded AWS is one process: more transfers at once would only keep the tables waiting behind them. */
const ENVIRONMENT = {
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '6000',
  WORKER_POOL_SIZE: '2',
  TASKS_PER_WORKER: '3',
  LOG_LEVEL: 'info',
};

describe('a hundred jobs of a hundred files at the same time', () => {
  let fixture: ExportFixture;
  beforeAll(async () => {
    fixture = await ExportFixture.start({ stateMachine: { heartbeatSeconds: HEARTBEAT_S, maxAttempts: 0 } });
    await Promise.all([fixture.startService(ENVIRONMENT), fixture.startService(ENVIRONMENT)]);
  });
  afterAll(() => fixture.close());

  it('are each counted exactly and answered once, and no token times out', async () => {
    const names = Array.from({ length: JOBS }, (_, index) => `job-${index}`);
    const executions = await Promise.all(
      names.map((name) => fixture.startExecution({ source: { files: fixture.smallFiles(FILES, name) } })),
    );
    for (const execution of executions) await expectWholeJob(fixture, { ...execution, total: FILES });
    expect(fixture.aws.stepFunctions.tokens()).toHaveLength(JOBS);
    expect([...fixture.origin.hits.values()].filter((hits) => hits !== 1)).toEqual([]);
    expect(fixture.origin.totalHits).toBe(JOBS * FILES);
  });
});
