import type { S3Location } from '../domain/s3-uri.js';
import { TransferError } from '../domain/transfer-error.js';
import type { MemoryBudget } from './memory-budget.js';
import type { ObjectAttributes, ObjectCalls } from './object-store.js';
import { fillParts, type FilledPart } from './part-filler.js';
import type { UploadedPart } from './s3-answers.js';

export interface UploadRequest {
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

/** For each of two calls that put things right after a failure: an aborted task has 5 s in all before its thread is ended. */
const REPAIR_TIMEOUT_MS = 2_000;

/*
 * Bytes to one key: one PutObject if they fit a part, else a multipart upload. SDK's lib-storage is not used: it completes
 * truncated streams, cannot be stopped before Complete, and sends part 10,001.
 *
 *   fill part 1 ── body ended? ── yes → verify → PutObject
 *                        └─ no → Create → parts, `concurrency` at a time → verify → Complete
 *
 * Any failure → AbortMultipartUpload, with a signal of its own, once no part is in flight (a part that arrives later would stay).
 * Create answers a later try only, or fails without a refusal → the upload of a lost answer is looked for by its key and aborted.
 * Complete fails → the object is looked at: of our size and our attempt, it was completed and only the answer was lost.
 */
export class Uploader {
  constructor(
    private readonly store: ObjectCalls,
    private readonly budget: MemoryBudget,
    private readonly concurrency: number,
  ) {}

  /** `work` ends the reading and every call when it is aborted; a part that fails aborts it with its error. */
  async upload(chunks: AsyncIterator<Buffer, void>, request: UploadRequest, work: AbortController): Promise<Uploaded> {
    const parts = fillParts(chunks, { size: request.size, budget: this.budget, signal: work.signal });
    const first = await parts.next();
    if (first.done === true) throw new Error('a body has at least one part');
    if (!first.value.last) return this.multipart(first.value, parts, request, work);
    try {
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
    const uploadId = await this.create(request, work.signal).catch((error: unknown) => {
      first.release();
      throw error;
    });
    try {
      const completed = await this.sendParts(uploadId, first, rest, request.at, work);
      const { sha256, crc32 } = request.verify();
      const bytes = completed.reduce((sum, part) => sum + part.size, 0);
      const parts = completed.sort((a, b) => a.number - b.number).map(({ part }) => part);
      return { etag: await this.complete(uploadId, parts, bytes, crc32, request, work.signal), sha256 };
    } catch (error) {
      // Without an answer the bucket's lifecycle rule for stale multiparts removes it.
      await this.store.abortMultipart(request.at, uploadId, AbortSignal.timeout(REPAIR_TIMEOUT_MS)).catch(() => {});
      throw error;
    }
  }

  /** Not stopped by the task's signal while an answer may come: an upload whose id is not known cannot be aborted. */
  private async create(request: UploadRequest, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    const patience = new AbortController();
    const hurry = () => setTimeout(() => patience.abort(signal.reason), REPAIR_TIMEOUT_MS).unref();
    signal.addEventListener('abort', hurry, { once: true });
    try {
      const { uploadId, isOnly } = await this.store.createMultipart(request.at, request.attributes(), patience.signal);
      if (!isOnly) await this.abortOthers(request.at, uploadId);
      return uploadId;
    } catch (error) {
      const isRefusal = error instanceof TransferError && error.disposition === 'reject';
      if (!isRefusal) await this.abortOthers(request.at);
      throw error;
    } finally {
      signal.removeEventListener('abort', hurry);
    }
  }

  private async abortOthers(at: S3Location, ours?: string): Promise<void> {
    const signal = AbortSignal.timeout(REPAIR_TIMEOUT_MS);
    const others = await this.store.openUploads(at, signal).catch(() => []);
    const strays = others.filter((uploadId) => uploadId !== ours);
    await Promise.allSettled(strays.map((uploadId) => this.store.abortMultipart(at, uploadId, signal)));
  }

  private async sendParts(
    uploadId: string,
    first: FilledPart,
    rest: AsyncIterable<FilledPart>,
    at: S3Location,
    work: AbortController,
  ): Promise<{ number: number; size: number; part: UploadedPart }[]> {
    const completed: { number: number; size: number; part: UploadedPart }[] = [];
    const inFlight = new Set<Promise<void>>();
    const send = async (filled: FilledPart): Promise<void> => {
      const { number, bytes, release } = filled;
      try {
        completed.push({ number, size: bytes.length, part: await this.store.uploadPart(at, uploadId, filled, work.signal) });
      } catch (error) {
        work.abort(error);
      } finally {
        release();
      }
    };
    const start = async (part: FilledPart): Promise<void> => {
      while (inFlight.size >= this.concurrency) await Promise.race(inFlight);
      const sending = send(part).finally(() => inFlight.delete(sending));
      inFlight.add(sending);
    };
    try {
      await start(first);
      for await (const part of rest) await start(part);
    } finally {
      await Promise.all(inFlight);
    }
    work.signal.throwIfAborted();
    return completed;
  }

  private async complete(
    uploadId: string,
    parts: UploadedPart[],
    bytes: number,
    crc32: string | undefined,
    request: UploadRequest,
    signal: AbortSignal,
  ): Promise<string> {
    try {
      return await this.store.complete(request.at, uploadId, parts, crc32, signal);
    } catch (error) {
      const stored = await this.store.head(request.at, AbortSignal.timeout(REPAIR_TIMEOUT_MS));
      if (stored?.size === bytes && stored.metadata['upload-attempt'] === request.attemptId) return stored.etag;
      throw error;
    }
  }
}
