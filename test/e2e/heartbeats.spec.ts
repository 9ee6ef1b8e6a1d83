import { StopExecutionCommand } from '@aws-sdk/client-sfn';
import { afterEach, describe, expect, it } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from './export-fixture.js';

const HEARTBEAT_S = 8;
const INTERVAL_MS = 1_000;

describe('task heartbeats', () => {
  let fixture: ExportFixture;
  afterEach(() => fixture.close());

  /** A job whose one file takes as long as the test wants. */
  async function startLongJob(environment: Record<string, string> = {}) {
    fixture = await ExportFixture.start({ stateMachine: { heartbeatSeconds: HEARTBEAT_S, maxAttempts: 0 } });
    const service = await fixture.startService({ STEP_FUNCTIONS_HEARTBEAT_INTERVAL_MS: String(INTERVAL_MS), ...environment });
    const gate = deferred();
    const url = fixture.origin.gated('/slow', 'worth the wait', gate.promise);
    const execution = await fixture.startExecution({ source: { files: [{ url, key: 'slow.txt' }] } });
    await eventually(() => fixture.origin.openRequests === 1);
    return { service, gate, ...execution };
  }

  const tokenRecord = () => fixture.aws.stepFunctions.tokens()[0];

  it('keep a job alive that takes longer than HeartbeatSeconds', async () => {
    const { arn, gate } = await startLongJob();
    await eventually(() => Date.now() - (tokenRecord()?.startedAtMs ?? Infinity) > HEARTBEAT_S * 1_500);
    await eventually(() => (tokenRecord()?.heartbeats.length ?? 0) >= HEARTBEAT_S);
    gate.resolve();
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect(tokenRecord()?.answers).toMatchObject([{ kind: 'success', accepted: true }]);
  });

  it('are what keeps it alive: without them it times out', async () => {
    const { arn, gate } = await startLongJob({ STEP_FUNCTIONS_HEARTBEAT_ENABLED: 'false' });
    const execution = await fixture.ended(arn);
    gate.resolve();
    expect(execution.status).toBe('FAILED');
    expect(execution.error).toBe('ExportTimedOut');
    expect(tokenRecord()).toMatchObject({ closed: 'timeout', heartbeats: [] });
  });

  it('that find the execution stopped end the downloads, and answer nothing', async () => {
    const { arn, jobId } = await startLongJob({ BATCH_HEARTBEAT_INTERVAL_MS: '10000' });
    await fixture.clients.states.send(new StopExecutionCommand({ executionArn: arn }));
    await eventually(() => fixture.origin.openRequests === 0);
    expect(await fixture.jobIn(jobId, 'CANCELLED')).toMatchObject({ callback: 'gone', error: { code: 'ExportCancelled' } });
    await eventually(async () => (await fixture.batchRows(jobId)).every((row) => row.status === 'cancelled'));
    expect(tokenRecord()?.answers).toEqual([]);
    expect(await fixture.fileKeys(jobId)).toEqual([]);
  });

  it('reach a token while four long expansions run, none of which has ended', async () => {
    fixture = await ExportFixture.start();
    await fixture.startService();
    const gate = deferred();
    const line = `${JSON.stringify({ url: fixture.origin.file('/listed', 'x'), key: 'listed' })}\n`;
    const manifests = Array.from({ length: 4 }, (_, index) => fixture.origin.gated(`/manifest-${index}.jsonl`, line, gate.promise));
    for (const manifest of manifests) await fixture.startExecution({ source: { manifest } });
    await eventually(() => fixture.origin.openRequests === 4);

    const late = await fixture.startExecution({ source: { files: [{ url: `${fixture.origin.url}/listed`, key: 'listed' }] } });
    const token = () => fixture.aws.stepFunctions.tokens().find((record) => record.executionArn === late.arn);
    await eventually(() => (token()?.heartbeats.length ?? 0) > 0);
    expect(manifests.map((manifest) => fixture.origin.hitsOf(new URL(manifest).pathname))).toEqual([1, 1, 1, 1]);
    expect(fixture.origin.openRequests).toBeGreaterThanOrEqual(4);
    gate.resolve();
    expect((await fixture.ended(late.arn)).status).toBe('SUCCEEDED');
  });
});
