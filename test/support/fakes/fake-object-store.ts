import { setImmediate } from 'node:timers/promises';
import type { CopyRange, CopySource } from '../../../src/worker-pool/domain/copy-plan.js';
import type { StoredObject } from '../../../src/worker-pool/domain/object-metadata.js';
import type { OpenUploads } from '../../../src/worker-pool/domain/stray-upload.js';
import type { ObjectCalls } from '../../../src/worker-pool/threads/object-store.js';

/** A store that is slow by some turns of the loop and remembers the most that was under way at once. */
export class FakeObjectStore implements ObjectCalls {
  readonly calls: string[] = [];
  peakParts = 0;
  peakBytes = 0;
  private parts = 0;
  private bytes = 0;

  async head(): Promise<StoredObject | undefined> {
    return undefined;
  }

  async describe(): Promise<CopySource | undefined> {
    return undefined;
  }

  async copy() {
    this.calls.push('copy');
    return 'etag';
  }

  async copyPart(_from: unknown, _at: unknown, _uploadId: string, { number }: CopyRange) {
    this.calls.push(`copy part ${number}`);
    return { number, etag: `${number}` };
  }

  async put() {
    this.calls.push('put');
    return 'etag';
  }

  async putIfFree() {
    this.calls.push('put if free');
    return { etag: 'etag' };
  }

  async createMultipart() {
    this.calls.push('create');
    return { uploadId: 'id', isOnly: true };
  }

  async uploadPart(_at: unknown, _uploadId: string, part: { number: number; bytes: Buffer }) {
    this.parts += 1;
    this.bytes += part.bytes.length;
    this.peakParts = Math.max(this.peakParts, this.parts);
    this.peakBytes = Math.max(this.peakBytes, this.bytes);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
    this.parts -= 1;
    this.bytes -= part.bytes.length;
    return { number: part.number, etag: `${part.number}` };
  }

  async complete(_at: unknown, _uploadId: string, parts: readonly { number: number }[]) {
    this.calls.push(`complete ${parts.map(({ number }) => number).join()}`);
    return 'etag';
  }

  async abortMultipart(_at: unknown, uploadId: string) {
    this.calls.push(`abort ${uploadId}`);
  }

  async openUploads(): Promise<OpenUploads> {
    return { nowMs: 0, uploads: [] };
  }

  async hasParts() {
    return false;
  }
}
