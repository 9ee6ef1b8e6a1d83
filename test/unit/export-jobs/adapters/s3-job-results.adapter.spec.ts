import { S3ServiceException } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { S3JobResultsAdapter } from '../../../../src/export-jobs/adapters/s3/s3-job-results.adapter.js';
import { failedManifestKey } from '../../../../src/export-jobs/domain/export-layout.js';
import { aJob } from '../../../support/builders.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';
import { aSummary } from '../../../support/finisher.js';
import { s3Objects } from '../../../support/s3-objects.js';

const JOB = aJob({ completedTasks: 8, failedTasks: 2 });
const BATCHES = [aSummary(0, { completed: 4, failed: 1 }), aSummary(1, { completed: 4, failed: 1 })];

const taskOf = (index: number) => JSON.stringify({ url: `https://origin.test/${index}?whole=1`, key: `${index}` });
const segmentOf = (batchNo: number) =>
  [
    JSON.stringify({ v: 1, jobId: 'job-1', batchNo, firstIndex: batchNo * 5, bucket: 'exports', prefix: 'p/' }),
    ...[0, 1, 2, 3, 4].map((position) => taskOf(batchNo * 5 + position)),
  ].join('\n');
const failureOf = (index: number) =>
  JSON.stringify({
    index,
    url: `https://origin.test/${index}`,
    key: `p/${index}`,
    code: 'HTTP_404',
    message: null,
    httpStatus: 404,
    attempts: 1,
  });

let objects: Record<string, string | Error>;
let logger: RecordingLogger;
let results: S3JobResultsAdapter;
beforeEach(() => {
  logger = new RecordingLogger();
  const files = { 'segment-0': segmentOf(0), 'segment-1': segmentOf(1), FAILED_0: failureOf(3), FAILED_1: failureOf(7) };
  const s3 = s3Objects(files);
  objects = s3.objects;
  results = new S3JobResultsAdapter(s3.client, logger);
});

const write = async (batches = BATCHES) => {
  const { resultKey, firstFailures } = await results.writeManifest(JOB, batches, {
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  const manifest = JSON.parse(String(objects[resultKey])) as { failedManifest: Record<string, unknown> };
  const failed = String(objects[failedManifestKey(JOB.destination, 'job-1', 1)])
    .split('\n')
    .filter(Boolean);
  return { failedManifest: manifest.failedManifest, failed, first: firstFailures.map(({ index }) => index) };
};

describe('failed.jsonl', () => {
  it('lists what failed as its segments have it', async () => {
    const { failedManifest, failed, first } = await write();
    expect(failed).toEqual([taskOf(3), taskOf(7)]);
    expect(first).toEqual([3, 7]);
    expect(failedManifest).not.toHaveProperty('unlisted');
    expect(logger.events).toEqual([]);
  });

  it.each([
    ['a segment that is gone', 'segment-0', undefined, 's3://exports/segment-0 is not there any more'],
    ['a result file that is gone', 'FAILED_0', undefined, 's3://exports/FAILED_0 is not there any more'],
    ['a segment that is something else', 'segment-0', 'a web page', 's3://exports/segment-0 is not what this service wrote'],
  ])('lacks the tasks of %s, and the manifest and the log say which and why', async (_case, key, object, reason) => {
    if (object === undefined) delete objects[key];
    else objects[key] = object;
    const { failedManifest, failed } = await write();
    expect(failed).toEqual([taskOf(7)]);
    expect(failedManifest).toMatchObject({ unlisted: [{ batchNo: 0, failed: 1, reason }] });
    expect(logger.events).toMatchObject([{ level: 'error', fields: { jobId: 'job-1', unlisted: [{ batchNo: 0, reason }] } }]);
  });

  it('lists what the checkpoint of a batch says that did not come to its end', async () => {
    const { resultKeys: _none, ...unfinished } = aSummary(0, {
      status: 'cancelled',
      completed: 2,
      failed: 1,
      failures: new Map([[2, 'HTTP_404']]),
    });
    const { failed, first } = await write([unfinished, aSummary(1, { completed: 4, failed: 1 })]);
    expect(failed).toEqual([taskOf(2), taskOf(7)]);
    expect(first).toEqual([2, 7]);
  });

  it('lacks the tasks of a result file that is closed to us', async () => {
    objects.FAILED_0 = new S3ServiceException({
      name: 'AccessDenied',
      $fault: 'client',
      $metadata: { httpStatusCode: 403 },
      message: 'Access Denied',
    });
    const { failedManifest, failed } = await write();
    expect(failed).toEqual([taskOf(7)]);
    expect(failedManifest).toMatchObject({
      unlisted: [{ batchNo: 0, failed: 1, reason: 's3:GetObject on s3://exports/FAILED_0 failed: AccessDenied' }],
    });
  });

  it('waits for a segment that only cannot be asked for now', async () => {
    const slowDown = Object.assign(new Error('slow down'), { name: 'SlowDown' });
    objects['segment-0'] = slowDown;
    await expect(write()).rejects.toMatchObject({
      code: 'SlowDown',
      mayPass: true,
      call: { bucket: 'exports', key: 'segment-0', permission: 's3:GetObject' },
    });
  });
});
