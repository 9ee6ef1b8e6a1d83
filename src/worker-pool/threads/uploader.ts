import type { StoredObject } from '../domain/object-metadata.js';
import type { S3Location } from '../domain/s3-uri.js';
import { combinedCrc32, hex32 } from './crc.js';
import type { MemoryBudget } from './memory-budget.js';
import type { Multiparts } from './multiparts.js';
import type { ObjectAttributes, ObjectCalls } from './object-store.js';
import { fillParts, type FilledPart } from './part-filler.js';
import type { UploadedPart } from './s3-answers.js';
import { sendAll } from './send-all.js';
import { SinglePut } from './single-put.js';

export interface UploadRequest {
  taskId: string;
  jobId: string;
  at: S3Location;
  /** Bytes, if known. */
  size: number | undefined;
  attemptId: string;
  /** What the object is stored with; the sha256 is known only when all the bytes are. */
  attributes: (sha256?: string) => ObjectAttributes;
  /** The key has been looked at, and what is there may go. */
  mayReplace: boolean;
  /** Looks at the key. */
  look: () => Promise<StoredObject | undefined>;
  /** Whether that is what so many bytes would be stored as. */
  isSame: (stored: StoredObject, size: number) => boolean;
  /** Called after the last byte and before anything becomes visible; throws when the bytes are not what was promised. */
  verify: () => { sha256: string };
}

export interface Uploaded {
  etag: string;
  sha256: string;
  /** Nothing was stored: this is what was there. */
  leftAlone?: StoredObject;
}

/*
 * Bytes to one key: one PutObject if they fit a part, else a multipart upload. SDK's lib-storage is not used: it completes
 * truncated streams, cannot be stopped before Complete, and sends part 10,001.
 *
 *   fill part 1 ── body ended? ── yes → verify → PutObject
 *                        └─ no → Create → parts, `concurrency` at a time → verify → Complete
 */
export class Uploader {
  private readonly single: SinglePut;

  constructor(
    private readonly store: ObjectCalls,
    private readonly multiparts: Multiparts,
    private readonly budget: MemoryBudget,
    private readonly settings: { concurrency: number; fullObjectCrc32: boolean },
  ) {
    this.single = new SinglePut(store);
  }

  /** `work` ends the reading and every call when it is aborted; a part that fails aborts it with its error. */
  async upload(chunks: AsyncIterator<Buffer, void>, request: UploadRequest, work: AbortController): Promise<Uploaded> {
    const { size, jobId } = request;
    const { budget, settings } = this;
    const parts = fillParts(chunks, { size, jobId, budget, crc32: settings.fullObjectCrc32, signal: work.signal });
    const first = await parts.next();
    if (first.done === true) throw new Error('a body has at least one part');
    if (!first.value.last) return this.multipart(first.value, parts, request, work);
    return holding(first.value, async (part) => {
      const { sha256 } = request.verify();
      const isSame = (stored: StoredObject) => request.isSame(stored, part.bytes.length);
      const put = { ...request, attributes: request.attributes(sha256), isSame };
      return { sha256, ...(await this.single.put(put, part, work.signal)) };
    });
  }

  private async multipart(
    first: FilledPart,
    rest: AsyncIterable<FilledPart>,
    request: UploadRequest,
    work: AbortController,
  ): Promise<Uploaded> {
    const { taskId, at, attemptId } = request;
    let sha256 = '';
    const etag = await this.multiparts
      .run({ taskId, at, attemptId, attributes: request.attributes() }, work, async (uploadId) => {
        const sent = await this.sendParts(uploadId, all(first, rest), at, work);
        ({ sha256 } = request.verify());
        sent.sort((a, b) => a.part.number - b.part.number);
        const bytes = sent.reduce((sum, { size }) => sum + size, 0);
        return { parts: sent.map(({ part }) => part), bytes, crc32: this.settings.fullObjectCrc32 ? wholeCrc32(sent) : undefined };
      })
      .finally(first.release);
    return { etag, sha256 };
  }

  private sendParts(uploadId: string, parts: AsyncIterable<FilledPart>, at: S3Location, work: AbortController): Promise<SentPart[]> {
    const send = (filled: FilledPart) =>
      holding(filled, async (content) => {
        const part = await this.store.uploadPart(at, uploadId, content, work.signal);
        return { size: content.bytes.length, crc32: content.crc32, part };
      });
    return sendAll(parts, { concurrency: this.settings.concurrency, work, send });
  }
}

interface SentPart {
  size: number;
  crc32: number | undefined;
  part: UploadedPart;
}

/** A buffer whose one request S3 has answered has no reader left; the socket of one that failed may still read it. */
async function holding<T>(part: FilledPart, send: (part: FilledPart & { onFailure: () => void }) => Promise<T>): Promise<T> {
  let mayReuse = true;
  try {
    const sent = await send({ ...part, onFailure: () => (mayReuse = false) });
    if (mayReuse) part.release('reuse');
    return sent;
  } finally {
    part.release();
  }
}

function wholeCrc32(parts: readonly SentPart[]): string {
  return hex32(parts.reduce((whole, { crc32 = 0, size }) => combinedCrc32(whole, crc32, size), 0));
}

async function* all<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T, void, void> {
  yield first;
  yield* rest;
}
