import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CredentialsEndpoint } from '../support/credentials-endpoint.js';
import { deferred } from '../support/deferred.js';
import { readiness } from '../support/readiness.js';
import { KeyGuard } from '../support/key-guard.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from '../e2e/export-fixture.js';

/** The credentials of a service that runs: refused before their end, and not to be had any more. */
describe('credentials', () => {
  let fixture: ExportFixture;
  let endpoint: CredentialsEndpoint;
  let guard: KeyGuard;

  beforeEach(async () => {
    fixture = await ExportFixture.start();
    endpoint = await CredentialsEndpoint.start();
    guard = await KeyGuard.start(fixture.aws.endpoints);
  });
  afterEach(async () => {
    await fixture.close();
    await guard.close();
    await endpoint.close();
  });

  const startService = () =>
    fixture.startService({
      ...guard.environment(),
      ...endpoint.environment(),
      STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: '1000',
      BATCH_HEARTBEAT_INTERVAL_MS: '300',
      COORDINATOR_HEARTBEAT_INTERVAL_MS: '500',
    });

  it('Refused credentials are replaced once: one fetch for all clients and threads, and the job ends as if nothing had been', async () => {
    const service = await startService();
    expect(endpoint.fetches).toBe(1);
    const gate = deferred();
    const first = fixture.smallFiles(20);
    const files = Array.from({ length: 40 }, (_, index) => ({
      url: fixture.origin.gated(`/${index}`, `file ${index}`, gate.promise),
      key: String(index),
    }));
    const { arn, jobId } = await fixture.startExecution({ source: { files: [...first, ...files] } });
    // By then every client and thread has signed with the old keys.
    await eventually(async () => fixture.origin.openRequests > 10 && (await fixture.fileKeys(jobId)).length === first.length);
    guard.isExpired = (keyId) => keyId === 'KEY1';
    await eventually(() => endpoint.fetches > 1);
    gate.resolve();
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect(await fixture.jobIn(jobId, 'COMPLETED')).toMatchObject({ completedTasks: 60, failedTasks: 0 });
    expect(endpoint.fetches).toBe(2);
    expect(guard.refused.get('dynamodb')).toBeGreaterThan(0);
    expect(guard.refused.get('s3')).toBeGreaterThan(0);
    expect(service.events().filter(({ msg }) => msg.startsWith('AWS refuses our credentials'))).toHaveLength(1);
    expect((await readiness(service)).status).toBe(200);
  });

  it('that cannot be renewed show in readiness while those in hand still serve', async () => {
    endpoint.lastsMs = 60_000;
    const service = await startService();
    endpoint.silent = true;
    const answer = await eventually(
      async () => {
        const now = await readiness(service);
        return now.status === 503 ? now : undefined;
      },
      { intervalMs: 500 },
    );
    expect(answer.failed).toEqual([
      {
        name: 'credentials',
        ok: false,
        reason: expect.stringMatching(/has not answered for 10 s; those in hand end in \d+ s$/) as unknown,
      },
    ]);
    expect(service.said('AWS credentials cannot be had')).toBe(true);
    expect(service.lines.filter((line) => !line.startsWith('{'))).toEqual([]);
    endpoint.silent = false;
    endpoint.lastsMs = 3_600_000;
    await eventually(async () => (await readiness(service)).status === 200, { intervalMs: 500 });
  });
});
