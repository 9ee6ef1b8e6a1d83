import type { S3Client } from '@aws-sdk/client-s3';
import type { SegmentHeader, SegmentTask } from '../../export-jobs/index.js';
import { toStoreError, writeLines } from '../../platform/s3/index.js';
import { SegmentWriterPort } from '../application/segment-writer.port.js';
import type { ExportRequest } from '../domain/export-request.js';
import type { ManifestTask } from '../domain/manifest-task.js';

export class S3SegmentWriterAdapter extends SegmentWriterPort {
  constructor(private readonly client: S3Client) {
    super();
  }

  async write(
    request: ExportRequest,
    at: { key: string; batchNo: number; firstIndex: number },
    tasks: readonly ManifestTask[],
  ): Promise<void> {
    const { bucket, prefix } = request.destination;
    const header: SegmentHeader = {
      v: 1,
      jobId: request.jobId,
      batchNo: at.batchNo,
      firstIndex: at.firstIndex,
      bucket,
      prefix,
      headers: request.headers,
      expectContentType: request.expectContentType,
      maxConcurrency: request.maxConcurrency,
    };
    const object = { bucket, key: at.key };
    try {
      await writeLines(this.client, object, lines(header, tasks));
    } catch (error) {
      throw toStoreError({ ...object, permission: 's3:PutObject' }, error);
    }
  }
}

function* lines(header: SegmentHeader, tasks: readonly SegmentTask[]): Iterable<string> {
  yield JSON.stringify(header);
  for (const task of tasks) yield JSON.stringify(task);
}
