import { newId } from '../../shared/index.js';
import { copyRanges, judgeCopy, knownSha256, type CopyLimits, type CopySource } from '../domain/copy-plan.js';
import { isSameObject, leftAlone, objectMetadata, type StoredObject } from '../domain/object-metadata.js';
import { isS3Uri, type S3Location } from '../domain/s3-uri.js';
import { TransferError } from '../domain/transfer-error.js';
import type { TaskOutcome, TransferTask } from '../domain/transfer-task.js';
import { checksumMismatch } from './digests.js';
import type { MultipartRequest, Multiparts } from './multiparts.js';
import type { ObjectCalls } from './object-store.js';
import { sendAll } from './send-all.js';
import type { SourceGuard } from './source-guard.js';
import type { TransferSigns } from './transfer-signs.js';

/** From bucket to bucket within S3, where nothing must be checked that S3 cannot tell: no byte passes through here. */
export class ServerCopy {
  constructor(
    private readonly guard: SourceGuard,
    private readonly store: ObjectCalls,
    private readonly multiparts: Multiparts,
    private readonly limits: CopyLimits & { concurrency: number },
  ) {}

  /**
   * Undefined for what is to be downloaded: another source than S3, one that must be read to be checked or may not be looked at, and a
   * copy that S3 refuses, since to read and write an object takes fewer permissions. A refusal that is the destination's ends the task.
   * @param existing what is stored under the task's key
   * @throws TransferError, or the reason of `work`
   */
  async tryCopy(
    task: TransferTask,
    existing: Promise<StoredObject | undefined> | undefined,
    work: AbortController,
    { onBytes, wait }: TransferSigns,
  ): Promise<TaskOutcome | undefined> {
    if (!isS3Uri(task.url)) return undefined;
    const from = this.guard.checkS3(task.url);
    const at = { bucket: task.s3Bucket, key: task.s3Key };
    wait.begin();
    const described = this.store.describe(from, work.signal).finally(() => wait.heard());
    const [source, stored] = await Promise.all([described, existing]);
    work.signal.throwIfAborted();
    if (source === undefined) return undefined;
    if (stored !== undefined && isSameObject(stored, task, source)) return leftAlone(stored);
    const verdict = judgeCopy(task, source);
    if (verdict === 'stream') return undefined;
    if (verdict !== 'copy') throw checksumMismatch(task.checksum, verdict.checksumIs);
    const sha256 = knownSha256(source);
    const attemptId = newId();
    const { contentType, contentEncoding } = source;
    const attributes = {
      metadata: objectMetadata(task, source, attemptId, sha256),
      ...(contentType !== undefined && { contentType }),
      ...(contentEncoding !== undefined && { contentEncoding }),
    };
    const etag = await this.unlessRefused(from, source, { taskId: task.taskId, at, attemptId, attributes }, work, onBytes);
    if (etag === undefined) return undefined;
    onBytes(source.size);
    return { success: true, bytesProcessed: source.size, etag, ...(sha256 !== undefined && { sha256 }) };
  }

  private async unlessRefused(
    from: S3Location,
    source: CopySource,
    request: MultipartRequest,
    work: AbortController,
    onBytes: (total: number) => void,
  ): Promise<string | undefined> {
    // A part that fails ends the copy only: the same task may yet download.
    const copying = new AbortController();
    const follow = () => copying.abort(work.signal.reason);
    work.signal.addEventListener('abort', follow, { once: true });
    try {
      if (source.size <= this.limits.wholeBytes)
        return await this.store.copy({ ...from, etag: source.etag }, request.at, request.attributes, copying.signal);
      return await this.inParts(from, source, request, copying, onBytes);
    } catch (error) {
      work.signal.throwIfAborted();
      if (!(error instanceof TransferError)) throw error;
      if (error.httpStatus === 412)
        throw new TransferError('SOURCE_CHANGED', 'the source changed while it was copied', { retryable: true, cause: error });
      if (error.disposition === 'reject' && error.code !== 'DESTINATION_REFUSED') return undefined;
      throw error;
    } finally {
      work.signal.removeEventListener('abort', follow);
    }
  }

  private inParts(
    from: S3Location,
    { size, etag, checksums }: CopySource,
    request: MultipartRequest,
    copying: AbortController,
    onBytes: (total: number) => void,
  ): Promise<string> {
    let copied = 0;
    return this.multiparts.run(request, copying, async (uploadId) => {
      const parts = await sendAll(copyRanges(size, this.limits), {
        concurrency: this.limits.concurrency,
        work: copying,
        send: async (range) => {
          const part = await this.store.copyPart({ ...from, etag }, request.at, uploadId, range, copying.signal);
          copied += range.last - range.first + 1;
          onBytes(copied);
          return part;
        },
      });
      const crc32 = checksums.find(({ algorithm }) => algorithm === 'crc32')?.value;
      return { parts: parts.sort((a, b) => a.number - b.number), bytes: size, crc32 };
    });
  }
}
