import { gzipSync } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { ExportFixture } from './export-fixture.js';

describe('the jobs queue', () => {
  let fixture: ExportFixture;
  let service: ExportService;

  beforeAll(async () => {
    fixture = await ExportFixture.start();
    const { bucket } = fixture.aws.resources;
    service = await fixture.startService({
      EXPORT_MANIFEST_URI_TEMPLATE: `s3://${bucket}/lists/{exportId}.csv`,
      ALLOWED_SOURCE_BUCKETS: bucket,
    });
  });
  afterAll(() => fixture.close());

  async function putObject(key: string, body: string | Buffer): Promise<void> {
    await fixture.clients.s3.send(new PutObjectCommand({ Bucket: fixture.aws.resources.bucket, Key: key, Body: body }));
  }

  /** The next message of the dead-letter queue. */
  async function deadLetter(): Promise<{ body: string; reason: string }> {
    const { Messages = [] } = await fixture.clients.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: fixture.aws.resources.jobsDeadLetterQueueUrl,
        WaitTimeSeconds: 5,
        MessageAttributeNames: ['reason'],
      }),
    );
    return { body: Messages[0]?.Body ?? '', reason: Messages[0]?.MessageAttributes?.reason?.StringValue ?? '' };
  }

  it('fails the token of an invalid message at once, with the reasons, and keeps no copy on the dead-letter queue', async () => {
    const { arn, jobId } = await fixture.startExecution({ source: { files: [], manifests: 'a typo' } });
    const execution = await fixture.ended(arn);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'InvalidExportRequest' });
    expect(execution.cause).toContain('manifests');
    expect(await fixture.jobRow(jobId)).toBeUndefined();
  });

  it('puts a message that is not JSON on the dead-letter queue and goes on', async () => {
    await fixture.sendJobMessage('this is no JSON');
    expect(await deadLetter()).toMatchObject({ body: 'this is no JSON', reason: expect.stringContaining('not JSON') as unknown });
  });

  it('puts garbage of 1 MiB there too, cut so that it has room for the reason', async () => {
    await fixture.sendJobMessage('garbage '.repeat(131_072));
    const { body, reason } = await deadLetter();
    expect(reason).toContain('not JSON');
    expect([body.startsWith('garbage garbage'), body.length > 1_048_000]).toEqual([true, true]);
    expect(service.said('Nobody could be answered: a copy of the job message is on the dead-letter queue')).toBe(true);
  });

  it('reads a message that begins with a byte order mark, and inline files whose keys hold emoji', async () => {
    const message = { jobId: 'with-bom', exportId: 'export-1', userId: 'user-1', source: { files: fixture.smallFiles(1, 'bom') } };
    await fixture.sendJobMessage(`\uFEFF${JSON.stringify(message)}`);
    await fixture.jobIn('with-bom', 'COMPLETED');
    const files = [{ url: fixture.origin.file('/party', 'x'), key: 'fotos/🎉.jpg' }];
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect(await fixture.fileKeys(jobId)).toEqual(['fotos/🎉.jpg']);
  });

  it('fails a job whose manifest is broken with line and reason, before any download', async () => {
    const url = fixture.origin.file('/never-asked', 'x');
    const manifest = fixture.origin.file('/broken.jsonl', `{"url":"${url}","key":"a"}\n{"url":"${url}","key":"../b"}\n`);
    const { arn, jobId } = await fixture.startExecution({ source: { manifest } });
    const execution = await fixture.ended(arn);
    expect(execution.error).toBe('InvalidExportRequest');
    expect(execution.cause).toContain('line 2');
    expect(fixture.origin.hitsOf('/never-asked')).toBe(0);
    expect(await fixture.jobIn(jobId, 'FAILED')).toMatchObject({ error: { code: 'InvalidExportRequest' } });
  });

  it('fails a job whose manifest does not exist, or lies where the service must not look', async () => {
    const missing = await fixture.startExecution({ source: { manifest: `${fixture.origin.url}/no-such-manifest` } });
    expect(await fixture.ended(missing.arn)).toMatchObject({
      error: 'InvalidExportRequest',
      cause: expect.stringContaining('HTTP_404') as unknown,
    });
    const metadata = await fixture.startExecution({ source: { manifest: 'http://169.254.169.254/latest/meta-data' } });
    expect((await fixture.ended(metadata.arn)).error).toBe('InvalidExportRequest');
  });

  it('refuses a destination that this service was not given', async () => {
    const { arn } = await fixture.startExecution({ source: { files: [], allowEmpty: true }, destination: { bucket: 'somebody-elses' } });
    const execution = await fixture.ended(arn);
    expect(execution.error).toBe('InvalidExportRequest');
    expect(execution.cause).toContain('ALLOWED_DESTINATION_BUCKETS');
  });

  it('reads a gzipped JSON array from S3, and the default manifest of the template', async () => {
    const files = fixture.smallFiles(5, 'listed');
    await putObject('lists/given.json.gz', gzipSync(JSON.stringify(files)));
    await putObject('lists/export-1.csv', `url,key\n${files.map(({ url, key }) => `${url},csv/${key}`).join('\n')}\n`);
    const given = await fixture.startExecution({ source: { manifest: `s3://${fixture.aws.resources.bucket}/lists/given.json.gz` } });
    const byTemplate = await fixture.startExecution({});
    expect((await fixture.ended(given.arn)).status).toBe('SUCCEEDED');
    expect((await fixture.ended(byTemplate.arn)).status).toBe('SUCCEEDED');
    expect(await fixture.fileKeys(given.jobId)).toHaveLength(5);
    expect(await fixture.fileKeys(byTemplate.jobId)).toContain('csv/listed/00004.txt');
  });

  it('changes nothing when a job message is delivered again, while the job runs and after it', async () => {
    const files = fixture.smallFiles(20, 'twice');
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    const [token] = fixture.aws.stepFunctions.tokens().slice(-1);
    const message = JSON.stringify({ jobId, exportId: 'export-1', userId: 'user-1', taskToken: token?.token, source: { files } });
    await fixture.sendJobMessage(message);
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    const row = await fixture.jobIn(jobId, 'COMPLETED');
    await fixture.sendJobMessage(message);
    await eventually(() => service.events().some((event) => event.jobId === jobId && event.msg.includes('its token is gone')));
    expect(await fixture.jobRow(jobId)).toEqual(row);
    expect(row).toMatchObject({ completedTasks: 20, failedTasks: 0, totalTasks: 20 });
    expect(token?.answers).toHaveLength(1);
  });

  it('answers JobIdConflict to another request under a jobId in use, and leaves that job alone', async () => {
    const files = fixture.smallFiles(2, 'first');
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    await fixture.ended(arn);
    const row = await fixture.jobIn(jobId, 'COMPLETED');
    await fixture.sendJobMessage(JSON.stringify({ jobId, exportId: 'another', userId: 'user-1', source: { files } }));
    await eventually(() => service.events().some((event) => event.jobId === jobId && event.msg.includes('JobIdConflict')));
    expect(await fixture.jobRow(jobId)).toEqual(row);
  });

  it('runs a job without a token, with no callbacks', async () => {
    const files = fixture.smallFiles(3, 'tokenless');
    await fixture.sendJobMessage(JSON.stringify({ jobId: 'tokenless-job', exportId: 'e', userId: 'u', source: { files } }));
    expect(await fixture.jobIn('tokenless-job', 'COMPLETED')).toMatchObject({ completedTasks: 3, callback: 'none' });
  });
});
