import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from './export-fixture.js';

/** A lifecycle rule or a person has removed what the service wrote for itself. */
describe('a segment that is removed while its job runs', () => {
  let fixture: ExportFixture;
  beforeAll(async () => {
    fixture = await ExportFixture.start();
    await fixture.startService({ BATCH_SIZE: '2', MAX_BATCHES_IN_HAND: '1' });
  });
  afterAll(() => fixture.close());

  /** Two batches of two files, one batch at a time: while the first one waits at the gate its segment, or the other one's, is removed. */
  const runAndRemove = async (name: string, whose: 'of the batch that runs' | 'of the one that waits') => {
    const gate = deferred();
    const missing = fixture.origin.on(`/${name}/missing`, (_request, response) => void response.writeHead(404).end());
    const waiting = fixture.origin.gated(`/${name}/waiting`, 'at last', gate.promise);
    const files = [missing, waiting, missing, waiting].map((url, index) => ({ url, key: String(index) }));
    const execution = await fixture.startExecution({ source: { files } });
    await eventually(() => fixture.origin.openRequests > 0);
    await fixture.jobIn(execution.jobId, 'DOWNLOADING');
    const rows = await fixture.batchRows(execution.jobId);
    const doomed = rows.find(({ status }) => (status === 'running') === (whose === 'of the batch that runs'));
    const segment = String(doomed?.segmentKey);
    await fixture.clients.s3.send(new DeleteObjectCommand({ Bucket: fixture.aws.resources.bucket, Key: segment }));
    gate.resolve();
    return { ...execution, segment };
  };

  it('ends a job at once whose batch needs it, with the reason in the cause', async () => {
    const { arn, jobId, segment } = await runAndRemove('needed', 'of the one that waits');
    const execution = await fixture.ended(arn);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'JobStalled' });
    expect((JSON.parse(execution.cause ?? '') as { message: string }).message).toContain(`${segment} is not there any more`);
    const rows = await fixture.batchRows(jobId);
    expect(rows.map(({ status }) => String(status)).toSorted()).toEqual(['cancelled', 'succeeded']);
  });

  it('costs a finished batch its lines in failed.jsonl, not the job its answer', async () => {
    const { arn, jobId, segment } = await runAndRemove('listed', 'of the batch that runs');
    const execution = await fixture.ended(arn);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'JobCompletedWithFailures' });
    const folder = `exports/${jobId}/_export/${jobId}/run-1/`;
    const manifest = JSON.parse(await fixture.objectText(`${folder}manifest.json`)) as { failedManifest: unknown };
    expect(manifest.failedManifest).toMatchObject({
      unlisted: [{ failed: 1, reason: expect.stringContaining(segment) as unknown }],
    });
    expect(await fixture.objectLines(`${folder}failed.jsonl`)).toHaveLength(1);
  });
});
