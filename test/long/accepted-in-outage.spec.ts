import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { ExportFixture } from '../e2e/export-fixture.js';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';

const HEARTBEAT_S = 12;
const INTERVAL_MS = 3_000;

let fixture: ExportFixture;
afterEach(() => fixture.close());

it('A job is beaten through an outage of DynamoDB that begins with its acceptance and lasts longer than HeartbeatSeconds', async () => {
  fixture = await ExportFixture.start({ stateMachine: { heartbeatSeconds: HEARTBEAT_S, maxAttempts: 0 } });
  await fixture.startService({ STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: String(INTERVAL_MS) });
  const gate = deferred();
  const url = fixture.origin.gated('/slow', 'worth the wait', gate.promise);
  const { arn } = await fixture.startExecution({ source: { files: [{ url, key: 'slow.txt' }] } });
  const token = () => fixture.aws.stepFunctions.tokens()[0];
  await eventually(() => token()?.heartbeats.length === 1);
  const end = fixture.aws.faults.add({ service: 'dynamodb', action: { kind: 'fail', status: 500, type: 'InternalServerError' } });
  await sleep(HEARTBEAT_S * 1_500);
  end();
  gate.resolve();
  expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
  expect(token()?.answers).toMatchObject([{ kind: 'success', accepted: true }]);
});
