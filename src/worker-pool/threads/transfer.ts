import { newId } from '../../shared/index.js';
import { isMediaType } from '../domain/http-response.js';
import { isSameObject, leftAlone, objectMetadata } from '../domain/object-metadata.js';
import { TransferError } from '../domain/transfer-error.js';
import type { TaskOutcome, TransferTask } from '../domain/transfer-task.js';
import { Digests } from './digests.js';
import type { ObjectAttributes, ObjectStore } from './object-store.js';
import { ResumableBody } from './resumable-body.js';
import type { ServerCopy } from './server-copy.js';
import { sizeMismatch } from './source-body.js';
import type { OpenedSource, SourceOpener } from './source-opener.js';
import type { Uploader } from './uploader.js';

export interface TransferSettings {
  destinationBuckets: readonly string[];
  fullObjectCrc32: boolean;
  stallTimeoutMs: number;
}

/** One task: download, verify, upload. The bytes pass through once; nothing is visible in S3 before they are verified. */
export class Transfer {
  constructor(
    private readonly sources: SourceOpener,
    private readonly store: ObjectStore,
    private readonly uploader: Uploader,
    private readonly serverCopy: ServerCopy,
    private readonly settings: TransferSettings,
  ) {}

  /**
   * @param work ends all of it when it is aborted, with the reason
   * @param onBytes told how many bytes have been read so far
   * @throws TransferError, or the reason of `work`
   */
  async run(task: TransferTask, work: AbortController, onBytes: (total: number) => void): Promise<TaskOutcome> {
    if (!this.settings.destinationBuckets.includes(task.s3Bucket))
      throw new TransferError('DESTINATION_NOT_ALLOWED', 'this bucket is not an allowed destination', { retryable: false });
    // While the source is asked, S3 is: a file that is there already need not be read.
    const existing = this.store.head({ bucket: task.s3Bucket, key: task.s3Key }, work.signal);
    const copied = await this.serverCopy.tryCopy(task, existing, work, onBytes);
    if (copied !== undefined) return copied;
    const source = await this.sources.open(task.url, { ...(task.headers && { headers: task.headers }), signal: work.signal });
    try {
      refuseUnexpected(source, task);
      const stored = await existing;
      work.signal.throwIfAborted();
      if (stored !== undefined && isSameObject(stored, task, source)) return leftAlone(stored);
      return await this.copy(source, task, work, onBytes);
    } finally {
      source.body.destroy();
    }
  }

  private async copy(
    source: OpenedSource,
    task: TransferTask,
    work: AbortController,
    onBytes: (total: number) => void,
  ): Promise<TaskOutcome> {
    const size = task.size ?? source.size;
    const digests = new Digests(task.checksum, { crc32: this.settings.fullObjectCrc32 });
    const attemptId = newId();
    const attributes = (sha256?: string): ObjectAttributes => ({
      metadata: objectMetadata(task, source, attemptId, sha256),
      ...(source.contentType !== undefined && { contentType: source.contentType }),
      ...(source.contentEncoding !== undefined && { contentEncoding: source.contentEncoding }),
    });
    let bytesProcessed = 0;
    const body = new ResumableBody(this.sources, task, source, {
      stallTimeoutMs: this.settings.stallTimeoutMs,
      signal: work.signal,
      ...(size !== undefined && { size }),
    });
    async function* counted(): AsyncGenerator<Buffer, void, void> {
      for await (const chunk of body.chunks()) {
        digests.update(chunk);
        bytesProcessed += chunk.length;
        onBytes(bytesProcessed);
        yield chunk;
      }
    }
    const request = {
      taskId: task.taskId,
      at: { bucket: task.s3Bucket, key: task.s3Key },
      size,
      attemptId,
      attributes,
      verify: () => digests.verify(),
    };
    const chunks = counted();
    try {
      const { etag, sha256 } = await this.uploader.upload(chunks, request, work);
      return { success: true, bytesProcessed, etag, sha256 };
    } finally {
      await chunks.return();
    }
  }
}

/** What the answer's head already shows not to be the file. */
function refuseUnexpected(source: OpenedSource, task: TransferTask): void {
  if (task.expectContentType !== undefined && !isMediaType(source.contentType, task.expectContentType))
    throw new TransferError('CONTENT_TYPE_MISMATCH', `the source is not ${task.expectContentType}`, { retryable: false });
  if (task.size !== undefined && source.size !== undefined && task.size !== source.size)
    throw sizeMismatch(`the source has ${source.size} bytes, not ${task.size}`);
  if (!source.endIsKnown && task.size === undefined && task.checksum === undefined)
    throw new TransferError('LENGTH_UNKNOWN', 'the source does not say where the file ends, nor does the task', { retryable: false });
}
