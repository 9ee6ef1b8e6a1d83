import { Readable } from 'node:stream';
import type { S3Client, UploadPartCommandInput } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { S3BatchFilesAdapter } from '../../src/batches/adapters/s3-batch-files.adapter.js';
import type { TaskResult } from '../../src/batches/application/batch-files.port.js';
import { S3JobResultsAdapter } from '../../src/export-jobs/adapters/s3/s3-job-results.adapter.js';
import { CompleteJobUseCase } from '../../src/export-jobs/application/complete-job.use-case.js';
import type { BatchSummary } from '../../src/export-jobs/application/job-batches.port.js';
import type { FailureTolerance } from '../../src/export-jobs/domain/export-job.entity.js';
import { failedManifestKey, segmentKey } from '../../src/export-jobs/domain/export-layout.js';
import { readManifest } from '../../src/intake/adapters/manifest/index.js';
import { S3SegmentWriterAdapter } from '../../src/intake/adapters/s3-segment-writer.adapter.js';
import type { ManifestTask } from '../../src/intake/domain/manifest-task.js';
import { utf8Bytes } from '../../src/intake/domain/object-key.js';
import { readLines, readText } from '../../src/platform/s3/index.js';
import { chunksOf } from '../../src/shared/index.js';
import { aManifestReading } from '../support/manifest-reading.js';
import { aJob, aPlan, aRequest } from '../support/builders.js';
import { aFinisher, aSummary } from '../support/finisher.js';
import { BUCKET, MIB, startS3, type S3UnderTest } from '../integration/local-aws/s3-support.js';

const BATCHES = 1_000;
const BATCH_SIZE = 100;
const TOTAL = BATCHES * BATCH_SIZE;
const HEADERS = { authorization: 'Bearer of-the-whole-job' };
const plan = aPlan({ totalTasks: TOTAL, batchCount: BATCHES, batchSize: BATCH_SIZE });
const { destination } = aJob();

/** Three bytes a character; with the prefix and its number a key is as long as S3 lets it be. */
const FILLER = '書'.repeat(332);
const LONG_MESSAGE = 'エラー'.repeat(60);
const keyOf = (index: number) => `${String(index).padStart(6, '0')}/${FILLER}`;
const isFailed = (index: number) => index % 5 < 2;
const EVERY = Array.from({ length: TOTAL }, (_, index) => index);
const FAILED = EVERY.filter(isFailed);
const taskOf = (index: number): ManifestTask => ({ url: `https://origin.test/${index}?signature=of-${index}`, key: keyOf(index) });

function resultOf(index: number, position: number): TaskResult {
  if (isFailed(index)) return { success: false, position, code: 'UPLOAD_FAILED', message: LONG_MESSAGE, httpStatus: 503, attempts: 12 };
  return { success: true, position, size: 1, etag: '"etag"', sha256: 'a'.repeat(64), attempts: 1, durationMs: 1 };
}

/** Its segment and its results, as intake and its last holder leave them. */
async function endedBatch(client: S3Client, batchNo: number): Promise<BatchSummary> {
  const firstIndex = batchNo * BATCH_SIZE;
  const indexes = Array.from({ length: BATCH_SIZE }, (_, position) => firstIndex + position);
  const tasks = indexes.map(taskOf);
  const key = segmentKey(plan.segmentPrefix, batchNo);
  await new S3SegmentWriterAdapter(client).write(aRequest({ headers: HEADERS }), { key, batchNo, firstIndex }, tasks);
  const at = { ...destination, jobId: 'job-1', batchNo };
  const results = indexes.map((index, position) => resultOf(index, position));
  const resultKeys = await new S3BatchFilesAdapter(client).writeResults({ ...at, fence: '1' }, { ...at, firstIndex, tasks }, results);
  const failed = indexes.filter(isFailed).length;
  return aSummary(batchNo, { segmentKey: key, totalTasks: BATCH_SIZE, completed: BATCH_SIZE - failed, failed, resultKeys });
}

let s3: S3UnderTest;
let client: S3Client;
let rows: BatchSummary[];
beforeAll(async () => {
  s3 = await startS3();
  client = s3.client();
  rows = [];
  for (const some of chunksOf(
    Array.from({ length: BATCHES }, (_, batchNo) => batchNo),
    16,
  ))
    rows.push(...(await Promise.all(some.map((batchNo) => endedBatch(client, batchNo)))));
});
afterAll(() => s3.close());

/** Ends the job that has these batches; what it answered, and the sizes of the parts that it wrote. */
async function settle(tolerance: FailureTolerance) {
  const { jobs, batches, settler, stepFunctions, clock, logger, metrics } = aFinisher();
  const partBytes: number[] = [];
  const finishing = s3.client();
  finishing.middlewareStack.add(
    (next) => (args) => {
      const { PartNumber, Body } = args.input as UploadPartCommandInput;
      if (PartNumber !== undefined && Body instanceof Buffer) partBytes.push(Body.length);
      return next(args);
    },
    { step: 'initialize' },
  );
  batches.rows = rows;
  jobs.put(
    aJob({
      exportId: '輸'.repeat(1_024),
      userId: '\u{1F600}'.repeat(512),
      metadata: { tenant: '出'.repeat(1_360) },
      plan,
      tolerance,
      completedTasks: TOTAL - FAILED.length,
      failedTasks: FAILED.length,
    }),
  );
  const results = new S3JobResultsAdapter(finishing, logger);
  const outcome = await new CompleteJobUseCase(jobs, batches, results, settler, clock, logger, metrics).complete('job-1');
  return { outcome, job: jobs.get('job-1'), answers: stepFunctions.answers, partBytes, logger };
}

/** In the order of the files, which are read a few at a time. */
async function indexesIn(files: { Key: string }[]): Promise<number[]> {
  const indexes: number[] = [];
  const linesOf = ({ Key }: { Key: string }) => Readable.from(readLines(client, { bucket: BUCKET, key: Key })).toArray();
  for (const some of chunksOf(files, 16))
    for (const lines of await Promise.all(some.map(linesOf)))
      indexes.push(...lines.map((line: string) => (JSON.parse(line) as { index: number }).index));
  return indexes;
}

describe('a job of 100,000 files with keys as long as can be, of which two in five fail with long messages', () => {
  let succeeded: Awaited<ReturnType<typeof settle>>;
  let manifest: {
    ResultFiles: Record<'SUCCEEDED' | 'FAILED' | 'PENDING', { Key: string; Size: number }[]>;
    failedManifest: { bucket: string; key: string };
  };
  beforeAll(async () => {
    succeeded = await settle({ percentage: 40 });
    manifest = JSON.parse(await readText(client, { bucket: BUCKET, key: succeeded.job.resultKey ?? '' })) as typeof manifest;
  });

  it('succeeds within its tolerance, and its output is a pointer', () => {
    expect(utf8Bytes(destination.prefix + keyOf(0))).toBeGreaterThan(1_000);
    expect(succeeded).toMatchObject({ outcome: 'ended', answers: [{ kind: 'success' }] });
    const { output = '' } = succeeded.answers[0] ?? {};
    expect(utf8Bytes(output)).toBeLessThan(16_384);
    expect(JSON.parse(output)).toMatchObject({
      status: 'COMPLETED',
      totalTasks: TOTAL,
      failedTasks: FAILED.length,
      result: { bucket: BUCKET, key: succeeded.job.resultKey },
    });
  });

  it('has a line of every file, in order, in the files that its manifest lists', async () => {
    const { ResultFiles } = manifest;
    expect(Object.values(ResultFiles).map(({ length }) => length)).toEqual([BATCHES, BATCHES, 0]);
    expect(await indexesIn(ResultFiles.FAILED)).toEqual(FAILED);
    expect(await indexesIn(ResultFiles.SUCCEEDED)).toEqual(EVERY.filter((index) => !isFailed(index)));
  });

  it('has all that failed in failed.jsonl, which is a manifest: of files, without what the request said of all of them', async () => {
    expect(manifest.failedManifest).toEqual({ bucket: BUCKET, key: failedManifestKey(destination, 'job-1', 1) });
    const lines = await Readable.from(readLines(client, manifest.failedManifest)).toArray();
    expect(lines.length).toBe(FAILED.length);
    expect(lines.findIndex((line, at) => line !== JSON.stringify(taskOf(FAILED[at] ?? -1)))).toBe(-1);
    const open = () => Promise.resolve(Readable.from([Buffer.from(lines.slice(0, 1_000).join('\n'))]));
    const again = await Readable.from(readManifest(open, aManifestReading({ prefix: destination.prefix }))).toArray();
    expect(again.flat()).toHaveLength(1_000);
    expect(succeeded.logger.events.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('is written while no more than a part of failed.jsonl is held', () => {
    const { partBytes } = succeeded;
    expect(partBytes.length).toBeGreaterThan(4);
    expect(Math.max(...partBytes)).toBeLessThan(8 * MIB + 65_536);
  });

  it('fails without that tolerance, with as many failures as a cause may hold', async () => {
    const { answers } = await settle({});
    expect(answers).toMatchObject([{ kind: 'failure', error: 'JobCompletedWithFailures' }]);
    const { cause = '' } = answers[0] ?? {};
    expect(utf8Bytes(cause)).toBeLessThanOrEqual(32_768);
    const { failures } = JSON.parse(cause) as { failures: { index: number; key: string }[] };
    expect(failures.length).toBeGreaterThan(5);
    expect(failures.map(({ index }) => index)).toEqual(FAILED.slice(0, failures.length));
    expect(failures[0]?.key).toBe(destination.prefix + keyOf(0));
  });
});
