import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ExportFixture } from '../e2e/export-fixture.js';
import { expectWholeJob } from '../e2e/whole-job.js';

/** Tokens that a busy service forgot would time out within the run. */
const HEARTBEAT_S = 60;
/**
 * The embedded AWS is one process: more transfers at once would only keep the tables waiting behind
 * them.
 */
const ENVIRONMENT = {
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '6000',
  WORKER_POOL_SIZE: '2',
  TASKS_PER_WORKER: '3',
  LOG_LEVEL: 'info',
};

export function describeLoad(jobs: number, files: number): void {
  describe(`${jobs} jobs of ${files} files at the same time`, () => {
    let fixture: ExportFixture;
    beforeAll(async () => {
      fixture = await ExportFixture.start({ stateMachine: { heartbeatSeconds: HEARTBEAT_S, maxAttempts: 0 } });
      await Promise.all([fixture.startService(ENVIRONMENT), fixture.startService(ENVIRONMENT)]);
    });
    afterAll(() => fixture.close());

    it('are each counted exactly and answered once, and no token times out', async () => {
      const names = Array.from({ length: jobs }, (_, index) => `job-${index}`);
      const executions = await Promise.all(
        names.map((name) => fixture.startExecution({ source: { files: fixture.smallFiles(files, name) } })),
      );
      for (const execution of executions) await expectWholeJob(fixture, { ...execution, total: files });
      expect(fixture.aws.stepFunctions.tokens()).toHaveLength(jobs);
      expect([...fixture.origin.hits.values()].filter((hits) => hits !== 1)).toEqual([]);
      expect(fixture.origin.totalHits).toBe(jobs * files);
    });
  });
}
