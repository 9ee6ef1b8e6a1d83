import { newId } from '../../shared/index.js';
import { isMediaType } from '../domain/http-response.js';
import { LeastSpeed } from '../domain/least-speed.js';
import { isSameObject, leftAlone, objectMetadata, type StoredObject } from '../domain/object-metadata.js';
import { MIN_PART_BYTES } from '../domain/part-plan.js';
import { isS3Uri } from '../domain/s3-uri.js';
import { TransferError } from '../domain/transfer-error.js';
import type { TaskOutcome, TransferTask } from '../domain/transfer-task.js';
import { Digests } from './digests.js';
import type { ExistingObjects } from './existing-objects.js';
import type { ObjectAttributes } from './object-store.js';
import { ResumableBody } from './resumable-body.js';
import type { ServerCopy } from './server-copy.js';
import { sizeMismatch } from './source-body.js';
import type { OpenedSource, SourceOpener } from './source-opener.js';
import type { TransferSigns } from './transfer-signs.js';
import type { Uploader } from './uploader.js';

export interface TransferSettings {
  destinationBuckets: readonly string[];
  stallTimeoutMs: number;
  /** 0 holds no source to any. */
  minBytesPerSecond: number;
}

/** One task: download, verify, upload. The bytes pass through once; nothing is visible in S3 before they are verified. */
export class Transfer {
  constructor(
    private readonly sources: SourceOpener,
    private readonly existing: ExistingObjects,
    private readonly uploader: Uploader,
    private readonly serverCopy: ServerCopy,
    private readonly settings: TransferSettings,
  ) {}

  /**
   * @param work ends all of it when it is aborted, with the reason
   * @throws TransferError, or the reason of `work`
   */
  async run(task: TransferTask, work: AbortController, signs: TransferSigns): Promise<TaskOutcome> {
    if (!this.settings.destinationBuckets.includes(task.s3Bucket))
      throw new TransferError('DESTINATION_NOT_ALLOWED', 'this bucket is not an allowed destination', { retryable: false });
    const looked = this.looksFirst(task) ? this.existing.look(task, work.signal) : undefined;
    // Where the task says what the file is, its source need not be asked.
    if (task.size !== undefined && task.checksum !== undefined) {
      const stored = await looked;
      work.signal.throwIfAborted();
      if (stored !== undefined && isSameObject(stored, task, {})) return leftAlone(stored);
    }
    const copied = await this.serverCopy.tryCopy(task, looked, work, signs);
    if (copied !== undefined) return copied;
    const source = await this.sources.open(task.url, {
      ...(task.headers && { headers: task.headers }),
      ...(task.pausedHosts && { pausedHosts: task.pausedHosts }),
      wait: signs.wait,
      signal: work.signal,
    });
    try {
      refuseUnexpected(source, task);
      const looking = looked ?? (isLarge(source.size) ? this.existing.look(task, work.signal) : undefined);
      const stored = await looking;
      work.signal.throwIfAborted();
      if (stored !== undefined && isSameObject(stored, task, source)) {
        signs.onRead();
        return leftAlone(stored);
      }
      return await this.copy(source, task, work, { ...signs, mayReplace: looking !== undefined });
    } finally {
      source.body.destroy();
    }
  }

  /** A look costs a small file nearly as much as its upload, a large one nothing; what S3 copies is looked at in one go with its source. */
  private looksFirst(task: TransferTask): boolean {
    return this.existing.areLikely(task) || isLarge(task.size) || isS3Uri(task.url);
  }

  private async copy(
    source: OpenedSource,
    task: TransferTask,
    work: AbortController,
    { onBytes, onRead, wait, mayReplace }: TransferSigns & { mayReplace: boolean },
  ): Promise<TaskOutcome> {
    const size = task.size ?? source.size;
    const digests = new Digests(task.checksum);
    const attemptId = newId();
    const attributes = (sha256?: string): ObjectAttributes => ({
      metadata: objectMetadata(task, source, attemptId, sha256),
      ...(source.contentType !== undefined && { contentType: source.contentType }),
      ...(source.contentEncoding !== undefined && { contentEncoding: source.contentEncoding }),
    });
    let bytesProcessed = 0;
    const { stallTimeoutMs, minBytesPerSecond } = this.settings;
    const body = new ResumableBody(this.sources, task, source, {
      stallTimeoutMs,
      ...(minBytesPerSecond > 0 && { speed: new LeastSpeed(minBytesPerSecond) }),
      wait,
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
      onRead();
    }
    const request = {
      taskId: task.taskId,
      jobId: task.jobId,
      at: { bucket: task.s3Bucket, key: task.s3Key },
      size,
      attemptId,
      attributes,
      mayReplace,
      look: () => this.existing.look(task, work.signal, attemptId),
      isSame: (stored: StoredObject, bytes: number) => isSameObject(stored, task, { ...source, size: bytes }),
      verify: () => digests.verify(),
    };
    const chunks = counted();
    try {
      const { etag, sha256, leftAlone: stored } = await this.uploader.upload(chunks, request, work);
      return stored === undefined ? { success: true, bytesProcessed, etag, sha256 } : leftAlone(stored);
    } finally {
      await chunks.return();
    }
  }
}

/** More than one PutObject. */
function isLarge(size: number | undefined): boolean {
  return size !== undefined && size > MIN_PART_BYTES;
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
