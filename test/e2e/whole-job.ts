import { expect } from '@jest/globals';
import { GIVE_UP_MS } from '../support/local-aws.js';
import type { ExportFixture } from './export-fixture.js';

interface Job {
  arn: string;
  jobId: string;
  total: number;
}

/** The execution succeeds, and every file came once into the counters, the bucket and the result lines; the token was answered once. */
export async function expectWholeJob(fixture: ExportFixture, { arn, jobId, total }: Job, timeoutMs = GIVE_UP_MS): Promise<void> {
  const { status, error, cause } = await fixture.ended(arn, timeoutMs);
  expect([status, error, cause]).toEqual(['SUCCEEDED', undefined, undefined]);
  expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({
    totalTasks: total,
    completedTasks: total,
    failedTasks: 0,
    batchProgress: {},
  });
  expect((await fixture.batchRows(jobId)).filter(({ status }) => status !== 'succeeded')).toEqual([]);
  expect(await fixture.fileKeys(jobId)).toHaveLength(total);
  const lines = await fixture.resultLines(jobId);
  expect(lines.map((line) => line.index)).toEqual(Array.from({ length: total }, (_, index) => index));
  expect(lines.every((line) => typeof line.sha256 === 'string' && typeof line.size === 'number')).toBe(true);
  const tokens = fixture.aws.stepFunctions.tokens().filter(({ executionArn }) => executionArn === arn);
  expect(tokens).toMatchObject([{ closed: 'success', answers: [{ kind: 'success', accepted: true }] }]);
}
