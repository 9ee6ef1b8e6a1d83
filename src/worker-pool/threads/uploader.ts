import type { S3Location } from '../domain/s3-uri.js';
import type { MemoryBudget } from './memory-budget.js';
import type { Multiparts } from './multiparts.js';
import type { ObjectAttributes, ObjectCalls } from './object-store.js';
import { fillParts, type FilledPart } from './part-filler.js';
import type { UploadedPart } from './s3-answers.js';
import { sendAll } from './send-all.js';

export interface UploadRequest {
  taskId: string;
  at: S3Location;
  /** Bytes, if known. */
  size: number | undefined;
  attemptId: string;
  /** What the object is stored with; the sha256 is known only when all the bytes are. */
  attributes: (sha256?: string) => ObjectAttributes;
  /** Called after the last byte and before anything becomes visible; throws when the bytes are not what was promised. */
  verify: () => { sha256: string; crc32?: string };
}

export interface Uploaded {
  etag: string;
  sha256: string;
}

/*
 * Bytes to one key: one PutObject if they fit a part, else a multipart upload. SDK's lib-storage is not used: it completes
 * truncated streams, cannot be stopped before Complete, and sends part 10,001.
 *
 *   fill part 1 ── body ended? ── yes → verify → PutObject
 *                        └─ no → Create → parts, `concurrency` at a time → verify → Complete
 */
export class Uploader {
  constructor(
    private readonly store: ObjectCalls,
    private readonly multiparts: Multiparts,
    private readonly budget: MemoryBudget,
    private readonly concurrency: number,
  ) {}

  /** `work` ends the reading and every call when it is aborted; a part that fails aborts it with its error. */
  async upload(chunks: AsyncIterator<Buffer, void>, request: UploadRequest, work: AbortController): Promise<Uploaded> {
    const parts = fillParts(chunks, { size: request.size, budget: this.budget, signal: work.signal });
    const first = await parts.next();
    if (first.done === true) throw new Error('a body has at least one part');
    try {
      if (!first.value.last) return await this.multipart(first.value, parts, request, work);
      const { sha256 } = request.verify();
      const etag = await this.store.put(request.at, first.value.bytes, request.attributes(sha256), work.signal);
      return { etag, sha256 };
    } finally {
      first.value.release();
    }
  }

  private async multipart(
    first: FilledPart,
    rest: AsyncIterable<FilledPart>,
    request: UploadRequest,
    work: AbortController,
  ): Promise<Uploaded> {
    const { taskId, at, attemptId } = request;
    let sha256 = '';
    const etag = await this.multiparts.run({ taskId, at, attemptId, attributes: request.attributes() }, work, async (uploadId) => {
      const sent = await this.sendParts(uploadId, all(first, rest), at, work);
      const verified = request.verify();
      sha256 = verified.sha256;
      const parts = sent.map(({ part }) => part).sort((a, b) => a.number - b.number);
      return { parts, bytes: sent.reduce((sum, { size }) => sum + size, 0), crc32: verified.crc32 };
    });
    return { etag, sha256 };
  }

  private sendParts(
    uploadId: string,
    parts: AsyncIterable<FilledPart>,
    at: S3Location,
    work: AbortController,
  ): Promise<{ size: number; part: UploadedPart }[]> {
    const send = async (filled: FilledPart) => {
      try {
        return { size: filled.bytes.length, part: await this.store.uploadPart(at, uploadId, filled, work.signal) };
      } finally {
        filled.release();
      }
    };
    return sendAll(parts, { concurrency: this.concurrency, work, send });
  }
}

async function* all<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  yield first;
  yield* rest;
}
