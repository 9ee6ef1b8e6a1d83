import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ExportFixture } from '../e2e/export-fixture.js';
import type { ExportService } from '../support/export-service.js';

const FILES = 12;
const KILLERS = ['/5.txt', '/6.txt'];
/** Short times; the relations between them are those of the defaults. */
const ENVIRONMENT = {
  BATCH_HEARTBEAT_INTERVAL_MS: '1000',
  RECLAIM_TTLS: '{"download": 6000}',
  RECLAIM_INTERVAL_MS: '500',
  RECLAIM_MAX_ATTEMPTS: '2',
  COORDINATOR_HEARTBEAT_INTERVAL_MS: '1000',
  STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
};

let fixture: ExportFixture;
beforeEach(async () => {
  fixture = await ExportFixture.start();
});
afterEach(() => fixture.close());

it('files that kill whoever asks for them fail alone: all others of their batch arrive', async () => {
  let running: ExportService | undefined;
  const urls = Array.from({ length: FILES }, (_, index) => {
    const path = `/${index}.txt`;
    if (!KILLERS.includes(path)) return fixture.origin.file(path, `file ${index}`);
    return fixture.origin.on(path, () => void running?.kill());
  });
  running = await fixture.startService(ENVIRONMENT);
  const { arn, jobId } = await fixture.startExecution({
    source: { files: urls.map((url) => ({ url })) },
    options: { toleratedFailureCount: KILLERS.length },
  });
  const execution = fixture.ended(arn, 400_000);
  for (let hasEnded = false, deaths = 0; !hasEnded; deaths++) {
    // Each costs about TTL and delay; without halving it would be two deaths, and no file at all.
    expect(deaths).toBeLessThan(25);
    hasEnded = await Promise.race([execution.then(() => true), running.exited.then(() => false)]);
    if (!hasEnded) running = await fixture.startService(ENVIRONMENT);
  }
  expect((await execution).status).toBe('SUCCEEDED');
  expect((await fixture.fileKeys(jobId)).toSorted()).toEqual(
    urls
      .map((_, index) => `${index}.txt`)
      .filter((key) => !KILLERS.includes(`/${key}`))
      .toSorted(),
  );
  const [row] = await fixture.batchRows(jobId);
  expect(row?.failures).toEqual({ 5: 'RECLAIMED_TTL', 6: 'RECLAIMED_TTL' });
  expect(await fixture.jobRow(jobId)).toMatchObject({ status: 'COMPLETED', completedTasks: FILES - 2, failedTasks: 2 });
}, 420_000);
