import { HeadObjectCommand, S3ServiceException, type HeadObjectCommandOutput, type S3Client } from '@aws-sdk/client-s3';
import {
  batchResultKeys,
  brokenFile,
  orBrokenFile,
  parseSegmentHeader,
  parseSegmentTask,
  type FailedLine,
  type SegmentTask,
  type SucceededLine,
} from '../../export-jobs/index.js';
import { readLines, toStoreError, writeLines, type S3Location } from '../../platform/s3/index.js';
import { isRefusedByStore, maskUrl } from '../../shared/index.js';
import { BatchFilesPort, type Segment, type TaskResult } from '../application/batch-files.port.js';
import type { ResultFile } from '../domain/batch.entity.js';

export class S3BatchFilesAdapter extends BatchFilesPort {
  constructor(private readonly client: S3Client) {
    super();
  }

  async loadSegment(bucket: string, segmentKey: string, signal: AbortSignal): Promise<Segment> {
    const at = { bucket, key: segmentKey };
    let header: ReturnType<typeof parseSegmentHeader> | undefined;
    const tasks: SegmentTask[] = [];
    try {
      for await (const line of readLines(this.client, at, signal)) {
        if (header === undefined) header = parseSegmentHeader(line);
        else tasks.push(parseSegmentTask(line));
      }
    } catch (error) {
      const refused = toStoreError({ ...at, permission: 's3:GetObject' }, error);
      const broken = orBrokenFile(at, error);
      throw broken === error && isRefusedByStore(refused) ? refused : broken;
    }
    if (header === undefined) throw brokenFile(at, 'is empty');
    return { ...header, tasks };
  }

  async describeDone(segment: Segment, position: number): Promise<TaskResult> {
    const head = await this.head(segment.bucket, segment.prefix + taskAt(segment, position).key);
    return {
      success: true,
      position,
      size: head?.ContentLength ?? null,
      etag: head?.ETag ?? null,
      sha256: head?.Metadata?.sha256 ?? null,
      attempts: null,
      durationMs: null,
    };
  }

  /** `undefined`: it was delivered, and has been moved away or closed to us since. */
  private async head(bucket: string, key: string): Promise<HeadObjectCommandOutput | undefined> {
    try {
      return await this.client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }));
    } catch (error) {
      const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
      if (status === 404 || status === 403) return undefined;
      throw error;
    }
  }

  async writeResults(
    at: { bucket: string; prefix: string; jobId: string; batchNo: number; fence: string },
    segment: Segment,
    results: readonly TaskResult[],
  ): Promise<{ succeeded: ResultFile; failed: ResultFile }> {
    const { bucket, prefix, jobId, batchNo, fence } = at;
    const keys = batchResultKeys({ bucket, prefix }, jobId, batchNo, fence);
    const [succeeded, failed] = await Promise.all([
      this.write({ bucket, key: keys.succeeded }, lines(segment, results, true)),
      this.write({ bucket, key: keys.failed }, lines(segment, results, false)),
    ]);
    return { succeeded: { key: keys.succeeded, size: succeeded.size }, failed: { key: keys.failed, size: failed.size } };
  }

  private async write(at: S3Location, lines: Iterable<string>): Promise<{ size: number }> {
    try {
      return await writeLines(this.client, at, lines);
    } catch (error) {
      throw toStoreError({ ...at, permission: 's3:PutObject' }, error);
    }
  }
}

function* lines(segment: Segment, results: readonly TaskResult[], success: boolean): Iterable<string> {
  for (const result of results)
    if (result.success === success) yield JSON.stringify(toLine(segment, result) satisfies SucceededLine | FailedLine);
}

function toLine(segment: Segment, result: TaskResult): SucceededLine | FailedLine {
  const { position, success: _success, ...facts } = result;
  const { url, key } = taskAt(segment, position);
  // What follows the URL keeps the order that the design gives the columns.
  return { index: segment.firstIndex + position, url: maskUrl(url), key: segment.prefix + key, ...facts };
}

function taskAt(segment: Segment, position: number): SegmentTask {
  const task = segment.tasks[position];
  if (task === undefined) throw new Error(`The segment's task ${position} is missing: it has ${segment.tasks.length}`);
  return task;
}
