import { isOfAttempt } from '../domain/object-metadata.js';
import type { S3Location } from '../domain/s3-uri.js';
import { possibleStrays } from '../domain/stray-upload.js';
import { TransferError } from '../domain/transfer-error.js';
import type { FromThreadMessage } from '../protocol/thread-messages.schema.js';
import type { ObjectAttributes, ObjectCalls } from './object-store.js';
import { RepairTime } from './repair-time.js';
import type { UploadedPart } from './s3-answers.js';

export interface MultipartRequest {
  taskId: string;
  at: S3Location;
  /** In the metadata, so that the object can be told from another's. */
  attemptId: string;
  attributes: ObjectAttributes;
}

export interface SentParts {
  parts: UploadedPart[];
  /** Of all parts. */
  bytes: number;
  /** Of the whole object, in hex, where it is known. */
  crc32?: string | undefined;
}

/** Until when after a failure each step of the repair may take: the last one ends before the pool ends the thread. */
export const REPAIR_MS = { createAnswers: 2_000, look: 3_000, abort: 4_000 };

/*
 * One multipart upload from Create to Complete, whatever its parts are made of.
 *
 * Any failure → AbortMultipartUpload, with a signal of its own, once no part is in flight (a part that arrives later would stay).
 * Create answers a later try only, or fails without a refusal → the upload of a lost answer is looked for by its key and aborted.
 * The pool knows each upload until it is ended: what this thread cannot end, dead or out of time, the pool aborts.
 * Complete fails → the object is looked at: of our size and our attempt, it was completed and only the answer was lost.
 */
export class Multiparts {
  constructor(
    private readonly store: ObjectCalls,
    private readonly tell: (message: FromThreadMessage) => void,
    private readonly repairMs = REPAIR_MS,
  ) {}

  /** The ETag. `send` throws when the parts are not what was promised: then nothing becomes visible. */
  async run(request: MultipartRequest, work: AbortController, send: (uploadId: string) => Promise<SentParts>): Promise<string> {
    const repair = new RepairTime(work.signal);
    const uploadId = await this.create(request, work.signal, repair);
    this.opened(request, uploadId);
    try {
      const sent = await send(uploadId);
      const etag = await this.complete(uploadId, sent, request, work.signal, repair);
      this.closed(request, uploadId);
      return etag;
    } catch (error) {
      repair.begin();
      // Without an answer it stays open, and the pool aborts it.
      await this.abort(request, uploadId, repair.within(this.repairMs.abort)).catch(() => {});
      throw error;
    }
  }

  /** Not stopped by the task's signal while an answer may come: an upload whose id is not known cannot be aborted. */
  private async create(request: MultipartRequest, signal: AbortSignal, repair: RepairTime): Promise<string> {
    const { at, attributes } = request;
    signal.throwIfAborted();
    const patience = new AbortController();
    const hurry = () => setTimeout(() => patience.abort(signal.reason), this.repairMs.createAnswers).unref();
    signal.addEventListener('abort', hurry, { once: true });
    const firstTryAtMs = performance.now();
    try {
      const { uploadId, isOnly } = await this.store.createMultipart(at, attributes, patience.signal);
      if (!isOnly) await this.abortStrays(request, firstTryAtMs, repair, uploadId);
      return uploadId;
    } catch (error) {
      const isRefusal = error instanceof TransferError && error.disposition === 'reject';
      repair.begin();
      if (!isRefusal) await this.abortStrays(request, firstTryAtMs, repair);
      throw error;
    } finally {
      signal.removeEventListener('abort', hurry);
    }
  }

  /** An upload that has a part is not ours, whenever it was begun: we never had the id to send one. */
  private async abortStrays(request: MultipartRequest, firstTryAtMs: number, repair: RepairTime, ours?: string): Promise<void> {
    const { at } = request;
    const looking = repair.within(this.repairMs.look);
    const open = await this.store.openUploads(at, looking).catch(() => ({ nowMs: 0, uploads: [] }));
    const possible = possibleStrays(open, performance.now() - firstTryAtMs, ours);
    const signal = repair.within(this.repairMs.abort);
    const abortOne = async (uploadId: string): Promise<void> => {
      if (await this.store.hasParts(at, uploadId, looking)) return;
      this.opened(request, uploadId);
      await this.abort(request, uploadId, signal);
    };
    await Promise.allSettled(possible.map(abortOne));
  }

  private async abort(request: MultipartRequest, uploadId: string, signal: AbortSignal): Promise<void> {
    await this.store.abortMultipart(request.at, uploadId, signal);
    this.closed(request, uploadId);
  }

  private opened({ taskId, at }: MultipartRequest, uploadId: string): void {
    this.tell({ type: 'UPLOAD_OPENED', payload: { taskId, uploadId, ...at } });
  }

  private closed({ taskId }: MultipartRequest, uploadId: string): void {
    this.tell({ type: 'UPLOAD_CLOSED', payload: { taskId, uploadId } });
  }

  private async complete(
    uploadId: string,
    { parts, bytes, crc32 }: SentParts,
    { at, attemptId }: MultipartRequest,
    signal: AbortSignal,
    repair: RepairTime,
  ): Promise<string> {
    try {
      return await this.store.complete(at, uploadId, parts, crc32, signal);
    } catch (error) {
      repair.begin();
      const stored = await this.store.head(at, repair.within(this.repairMs.look));
      if (stored?.size === bytes && isOfAttempt(stored, attemptId)) return stored.etag;
      throw error;
    }
  }
}
