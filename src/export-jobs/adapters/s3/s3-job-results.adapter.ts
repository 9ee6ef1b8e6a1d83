import type { S3Client } from '@aws-sdk/client-s3';
import { readLines, readText, toStoreError, writeLines, writeText, type S3Location } from '../../../platform/s3/index.js';
import type { BatchSummary, ResultFile } from '../../application/job-batches.port.js';
import { isRefusedByStore, isRejected, type AppLogger, type StoreCall } from '../../../shared/index.js';
import { JobResultsPort } from '../../application/job-results.port.js';
import { summarize, type FailedTask } from '../../domain/answer.js';
import type { ExportJobEntity } from '../../domain/export-job.entity.js';
import { failedManifestKey, manifestKey } from '../../domain/export-layout.js';
import { orBrokenFile } from './broken-file.js';
import { parseFailedLine } from './result-line.schema.js';
import { parseSegmentHeader, parseSegmentTask, type SegmentHeader, type SegmentTask } from './segment.schema.js';

/** More could not be shown in a `cause` of 32,768 bytes. */
const FIRST_FAILURES = 100;

const READ = 's3:GetObject';
const WRITE = 's3:PutObject';

type Watch = Parameters<JobResultsPort['writeManifest']>[2];
type WrittenResults = Awaited<ReturnType<JobResultsPort['writeManifest']>>;

/** A batch whose failed tasks are missing in `failed.jsonl`, or some of them. */
interface Unlisted {
  batchNo: number;
  failed: number;
  reason: string;
}

export class S3JobResultsAdapter extends JobResultsPort {
  constructor(
    private readonly client: S3Client,
    private readonly logger: AppLogger,
  ) {
    super();
  }

  async saveRequest(job: ExportJobEntity, requestJson: string): Promise<void> {
    const at = { bucket: job.destination.bucket, key: job.requestKey };
    await asStoreError({ ...at, permission: WRITE }, () => writeText(this.client, at, requestJson, 'application/json'));
  }

  loadRequest(job: ExportJobEntity): Promise<string> {
    return readText(this.client, { bucket: job.destination.bucket, key: job.requestKey });
  }

  async writeManifest(job: ExportJobEntity, batches: readonly BatchSummary[], watch: Watch): Promise<WrittenResults> {
    const { bucket } = job.destination;
    const firstFailures: FailedTask[] = [];
    const failed = { bucket, key: failedManifestKey(job.destination, job.jobId, job.run) };
    const unlisted: Unlisted[] = [];
    const lines = this.failedTasks(bucket, batches, { firstFailures, unlisted, watch });
    await asStoreError({ ...failed, permission: WRITE }, () => writeLines(this.client, failed, lines, watch.signal));
    watch.onProgress();
    if (unlisted.length > 0)
      this.logger.error('failed.jsonl lacks tasks that failed: what tells of them cannot be read; the job is answered all the same', {
        jobId: job.jobId,
        unlisted,
      });

    const resultKey = manifestKey(job.destination, job.jobId, job.run);
    const manifest = {
      DestinationBucket: bucket,
      ResultFiles: {
        SUCCEEDED: batches.flatMap((batch) => listed(batch.resultKeys?.succeeded)),
        FAILED: batches.flatMap((batch) => listed(batch.resultKeys?.failed)),
        PENDING: [],
      },
      ...summarize(job, resultKey),
      failedManifest: { ...failed, ...(unlisted.length === 0 ? {} : { unlisted }) },
    };
    const text = JSON.stringify(manifest, null, 2);
    const at = { bucket, key: resultKey };
    await asStoreError({ ...at, permission: WRITE }, () => writeText(this.client, at, text, 'application/json', watch.signal));
    return { resultKey, firstFailures };
  }

  /**
   * The lines of `failed.jsonl`, a manifest of what failed with whole URLs; the first few are collected on the way. A file that is broken
   * or closed to us costs its batch's lines, not the job its answer: the counts know better, and no finisher would ever find it mended.
   */
  private async *failedTasks(
    bucket: string,
    batches: readonly BatchSummary[],
    { firstFailures, unlisted, watch }: { firstFailures: FailedTask[]; unlisted: Unlisted[]; watch: Watch },
  ): AsyncIterable<string> {
    for (const batch of batches) {
      if (batch.failed === 0) continue;
      try {
        yield* this.failedTasksOf(bucket, batch, firstFailures, watch.signal);
        watch.onProgress();
      } catch (error) {
        if (!isRejected(error) && !isRefusedByStore(error)) throw error;
        unlisted.push({ batchNo: batch.batchNo, failed: batch.failed, reason: error.message });
      }
    }
  }

  /** By its result file, or by its checkpoint when it did not come to its end. */
  private async *failedTasksOf(bucket: string, batch: BatchSummary, first: FailedTask[], signal: AbortSignal): AsyncIterable<string> {
    const { resultKeys, failures } = batch;
    const at = { bucket, key: batch.segmentKey };
    if (resultKeys !== undefined) {
      const indexes = await this.failuresOf({ bucket, key: resultKeys.failed.key }, first, signal);
      for await (const { task } of this.segmentTasks(at, (index) => indexes.has(index), signal)) yield JSON.stringify(task);
    } else if (failures !== undefined)
      for await (const { index, header, task } of this.segmentTasks(
        at,
        (wanted, { firstIndex }) => failures.has(wanted - firstIndex),
        signal,
      )) {
        const code = failures.get(index - header.firstIndex) ?? '';
        if (first.length < FIRST_FAILURES) first.push({ index, url: task.url, key: header.prefix + task.key, code, message: null });
        yield JSON.stringify(task);
      }
  }

  private async failuresOf(at: S3Location, first: FailedTask[], signal: AbortSignal): Promise<Set<number>> {
    const indexes = new Set<number>();
    try {
      for await (const line of readLines(this.client, at, signal)) {
        const failure = parseFailedLine(line);
        indexes.add(failure.index);
        if (first.length < FIRST_FAILURES) first.push(failure);
      }
    } catch (error) {
      throw unreadable(at, error);
    }
    return indexes;
  }

  /** The tasks of a segment that are wanted, by their index in the job. */
  private async *segmentTasks(
    at: S3Location,
    isWanted: (index: number, header: SegmentHeader) => boolean,
    signal: AbortSignal,
  ): AsyncIterable<{ header: SegmentHeader; index: number; task: SegmentTask }> {
    let header: SegmentHeader | undefined;
    let index = 0;
    try {
      for await (const line of readLines(this.client, at, signal)) {
        if (header === undefined) {
          header = parseSegmentHeader(line);
          index = header.firstIndex;
          continue;
        }
        if (isWanted(index, header)) yield { header, index, task: parseSegmentTask(line) };
        index++;
      }
    } catch (error) {
      throw unreadable(at, error);
    }
  }
}

/** What a read met: broken for good, or what S3 said of it. */
function unreadable(at: S3Location, error: unknown): unknown {
  const found = orBrokenFile(at, error);
  return isRejected(found) ? found : toStoreError({ ...at, permission: READ }, found);
}

async function asStoreError(call: StoreCall, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw toStoreError(call, error);
  }
}

function listed(file: ResultFile | undefined): { Key: string; Size: number }[] {
  return file === undefined || file.size === 0 ? [] : [{ Key: file.key, Size: file.size }];
}
