import { readFileSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import type { ExportService } from '../support/export-service.js';
import { eventually } from '../support/local-aws.js';
import { sha256, type Answer } from '../support/origin.js';
import { ExportFixture, SECRET } from './export-fixture.js';

const THREADS = 2;
const TASKS_PER_WORKER = 3;

describe('an execution of the shipped state machine', () => {
  let fixture: ExportFixture;
  let service: ExportService;

  beforeAll(async () => {
    fixture = await ExportFixture.start();
    service = await fixture.startService({ WORKER_POOL_SIZE: String(THREADS), TASKS_PER_WORKER: String(TASKS_PER_WORKER) });
  });
  afterAll(() => fixture.close());

  it('succeeds with every file in S3, counted once, and a result that the next state can use', async () => {
    const files = fixture.smallFiles(250);
    const { arn, jobId } = await fixture.startExecution({
      source: { files },
      options: { headers: { authorization: `Bearer ${SECRET}` } },
      metadata: { tenant: 'a' },
    });
    const execution = await fixture.ended(arn);
    expect(execution.status).toBe('SUCCEEDED');
    expect(JSON.parse(execution.output ?? '')).toMatchObject({
      jobId,
      exportId: 'export-1',
      userId: 'user-1',
      status: 'COMPLETED',
      totalTasks: 250,
      completedTasks: 250,
      failedTasks: 0,
      attempt: 1,
      metadata: { tenant: 'a' },
    });
    expect(await fixture.fileKeys(jobId)).toEqual(files.map((file) => file.key));
    expect(await fixture.objectText(`exports/${jobId}/small/00249.txt`)).toBe(`file 249 of small ${SECRET}`);
    const row = await fixture.jobIn(jobId, 'COMPLETED');
    expect(row).toMatchObject({ completedTasks: 250, failedTasks: 0, batchCount: 3, batchProgress: {}, callback: 'success' });
    expect(row.taskToken).toBeUndefined();
    expect(row.statusShard).toBeUndefined();
  });

  // Linux shows the names of threads.
  (process.platform === 'linux' ? it : it.skip)('has threads of libuv to spare for names whose look-up is silent', () => {
    const threads = readdirSync(`/proc/${service.pid}/task`).map((id) =>
      readFileSync(`/proc/${service.pid}/task/${id}/comm`, 'utf8').trim(),
    );
    expect(threads.filter((name) => name === 'libuv-worker')).toHaveLength(32);
  });

  it('names every file once in the result lines that its manifest lists', async () => {
    const files = fixture.smallFiles(120, 'lines');
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    const output = JSON.parse((await fixture.ended(arn)).output ?? '') as { result: { key: string } };
    const manifest = JSON.parse(await fixture.objectText(output.result.key)) as {
      DestinationBucket: string;
      ResultFiles: { SUCCEEDED: { Key: string; Size: number }[]; FAILED: unknown[]; PENDING: unknown[] };
    };
    expect(manifest.DestinationBucket).toBe(fixture.aws.resources.bucket);
    expect(manifest.ResultFiles.FAILED).toEqual([]);
    const lines = (await Promise.all(manifest.ResultFiles.SUCCEEDED.map(({ Key }) => fixture.objectLines(Key)))).flat();
    expect(lines.map((line) => line.index)).toEqual(files.map((_, index) => index));
    expect(lines[7]).toMatchObject({
      url: files[7]?.url.split('?')[0],
      key: `exports/${jobId}/lines/00007.txt`,
      size: Buffer.byteLength(`file 7 of lines ${SECRET}`),
      sha256: sha256(`file 7 of lines ${SECRET}`),
      attempts: 1,
    });
  });

  it('fails over its tolerance with the failed tasks in cause and in failed.jsonl, which can be exported again', async () => {
    const files = [...fixture.smallFiles(3, 'some'), { url: `${fixture.origin.url}/gone?signature=${SECRET}`, key: 'gone.txt' }];
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    const execution = await fixture.ended(arn);
    expect(execution).toMatchObject({ status: 'FAILED', error: 'JobCompletedWithFailures' });
    const cause = JSON.parse(execution.cause ?? '') as Record<string, unknown>;
    expect(cause).toMatchObject({ jobId, completedTasks: 3, failedTasks: 1, totalTasks: 4 });
    expect(cause.failures).toMatchObject([{ index: 3, key: `exports/${jobId}/gone.txt`, code: 'HTTP_404' }]);
    expect(execution.cause).not.toContain(SECRET);
    const failed = await fixture.objectLines(`exports/${jobId}/_export/${jobId}/run-1/failed.jsonl`);
    expect(failed).toEqual([files[3]]);

    const { bucket } = fixture.aws.resources;
    fixture.origin.file('/gone', 'here after all');
    const again = await fixture.startExecution({
      source: { files: failed },
      destination: { bucket, prefix: `exports/${jobId}/` },
    });
    expect((await fixture.ended(again.arn)).status).toBe('SUCCEEDED');
    expect(await fixture.objectText(`exports/${jobId}/gone.txt`)).toBe('here after all');
  });

  it('tolerates as many failures as the request says', async () => {
    const files = [...fixture.smallFiles(3, 'most'), { url: `${fixture.origin.url}/never`, key: 'never.txt' }];
    const { arn } = await fixture.startExecution({ source: { files }, options: { toleratedFailurePercentage: 25 } });
    const execution = await fixture.ended(arn);
    expect(execution.status).toBe('SUCCEEDED');
    expect(JSON.parse(execution.output ?? '')).toMatchObject({ status: 'COMPLETED', completedTasks: 3, failedTasks: 1 });
  });

  it('completes at once when it lists no files and says that this is in order', async () => {
    const { arn } = await fixture.startExecution({ source: { files: [], allowEmpty: true } });
    const execution = await fixture.ended(arn);
    expect(JSON.parse(execution.output ?? '')).toMatchObject({ status: 'COMPLETED', totalTasks: 0 });
  });

  it('never makes an object of a wrong checksum, a short body or a long body', async () => {
    const { origin } = fixture;
    const cut = origin.on('/short', (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('only this', () => response.destroy());
    });
    const files = [
      { url: origin.file('/wrong', 'other bytes'), key: 'wrong', checksum: { algorithm: 'sha256', value: sha256('the bytes') } },
      { url: cut, key: 'short' },
      { url: origin.file('/long', 'more than was promised'), key: 'long', size: 4 },
      { url: origin.file('/right', 'right'), key: 'right', size: 5, checksum: { algorithm: 'sha256', value: sha256('right') } },
    ];
    const { arn, jobId } = await fixture.startExecution({ source: { files } });
    const execution = await fixture.ended(arn);
    expect(execution.error).toBe('JobCompletedWithFailures');
    const { failures } = JSON.parse(execution.cause ?? '') as { failures: { code: string }[] };
    expect(failures.map((failure) => failure.code)).toEqual(['CHECKSUM_MISMATCH', 'SIZE_MISMATCH', 'SIZE_MISMATCH']);
    expect(await fixture.fileKeys(jobId)).toEqual(['right']);
    expect(fixture.aws.s3.openUploads(fixture.aws.resources.bucket)).toEqual([]);
  });

  it('downloads as many files at a time as threads × tasks per worker, and no more', async () => {
    const { origin } = fixture;
    origin.peakConcurrency = 0;
    const gate = deferred();
    // A byte now and then, because a source that is silent for 2 s gives its place up.
    const trickle: Answer = (_request, response) => {
      response.writeHead(200);
      const byte = setInterval(() => response.write('x'), 200);
      void gate.promise.finally(() => {
        clearInterval(byte);
        response.end('x');
      });
    };
    const files = Array.from({ length: 40 }, (_, index) => ({ url: origin.on(`/wide/${index}`, trickle), key: `wide/${index}` }));
    const { arn } = await fixture.startExecution({ source: { files } });
    await eventually(() => origin.openRequests >= THREADS * TASKS_PER_WORKER);
    gate.resolve();
    expect((await fixture.ended(arn)).status).toBe('SUCCEEDED');
    expect(origin.peakConcurrency).toBe(THREADS * TASKS_PER_WORKER);
  });
});
