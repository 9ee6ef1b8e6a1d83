import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { MAX_PARTS, MIN_PART_BYTES } from '../../../src/worker-pool/domain/part-plan.js';
import { MemoryBudget } from '../../../src/worker-pool/threads/memory-budget.js';
import { Multiparts } from '../../../src/worker-pool/threads/multiparts.js';
import type { ObjectCalls } from '../../../src/worker-pool/threads/object-store.js';
import { Uploader, type UploadRequest } from '../../../src/worker-pool/threads/uploader.js';
import { FakeObjectStore } from '../../support/fakes/fake-object-store.js';

async function* body(bytes: number, onChunk: () => void = () => {}): AsyncGenerator<Buffer, void> {
  const chunk = Buffer.alloc(MIN_PART_BYTES / 4);
  for (let sent = 0; sent < bytes; sent += chunk.length) {
    onChunk();
    yield chunk;
  }
}

async function* single(bytes: Buffer): AsyncGenerator<Buffer, void> {
  yield bytes;
}

function request(size: number | undefined, rest: Partial<UploadRequest> = {}): UploadRequest {
  return {
    taskId: 'task',
    jobId: 'job',
    at: { bucket: 'bucket', key: 'key' },
    size,
    attemptId: 'attempt',
    attributes: () => ({ metadata: {} }),
    mayReplace: true,
    look: async () => undefined,
    isSame: () => false,
    verify: () => ({ sha256: 'hash' }),
    ...rest,
  };
}

function uploaderOf(store: ObjectCalls, budget: MemoryBudget, concurrency: number): Uploader {
  return new Uploader(store, new Multiparts(store, () => {}), budget, { concurrency, fullObjectCrc32: true });
}

describe('Uploader', () => {
  it('holds no more than the budget over all its uploads, and all of them end', async () => {
    const budget = new MemoryBudget(2 * MIN_PART_BYTES);
    const store = new FakeObjectStore();
    const uploader = uploaderOf(store, budget, 4);
    let peak = 0;
    const watch = () => (peak = Math.max(peak, budget.heldBytes));
    const sizes = [4.5, 4.5, 4.5, 1, 0.25, 6].map((parts) => parts * MIN_PART_BYTES);
    const uploads = sizes.map((bytes, index) =>
      uploader.upload(body(bytes, watch), request(index % 2 === 0 ? bytes : undefined), new AbortController()),
    );
    expect(await Promise.all(uploads)).toHaveLength(sizes.length);
    expect(peak).toBe(2 * MIN_PART_BYTES);
    expect(store.peakBytes).toBeLessThanOrEqual(2 * MIN_PART_BYTES);
    expect(budget.heldBytes).toBe(0);
  });

  it('sends so many parts at a time and no more, and completes them in order', async () => {
    const store = new FakeObjectStore();
    const bytes = 9 * MIN_PART_BYTES;
    await uploaderOf(store, new MemoryBudget(64 * MIN_PART_BYTES), 3).upload(body(bytes), request(bytes), new AbortController());
    expect(store.peakParts).toBe(3);
    expect(store.calls).toEqual(['create', 'complete 1,2,3,4,5,6,7,8,9']);
  });

  it('never sends a part 10,001: a body of unknown length that goes on is refused for good, and its upload aborted', async () => {
    const store = new FakeObjectStore();
    const numbers: number[] = [];
    Object.assign(store, {
      uploadPart: async (...[, , { number }]: Parameters<ObjectCalls['uploadPart']>) => {
        numbers.push(number);
        return { number, etag: `${number}` };
      },
    });
    // So little memory that a part is one byte.
    const upload = (bytes: number) =>
      uploaderOf(store, new MemoryBudget(2), 4).upload(single(Buffer.alloc(bytes)), request(undefined), new AbortController());
    await upload(MAX_PARTS);
    expect(Math.max(...numbers)).toBe(MAX_PARTS);
    expect(store.calls.splice(0)).toEqual(['create', expect.stringMatching(/^complete 1,2,.*,9999,10000$/)]);
    await expect(upload(MAX_PARTS + 1)).rejects.toMatchObject({ code: 'TOO_LARGE', disposition: 'reject' });
    expect(Math.max(...numbers)).toBe(MAX_PARTS);
    expect(store.calls).toEqual(['create', 'abort id']);
  });

  it('uses a buffer again only when S3 answered its one request: the socket of a failed one may still read it', async () => {
    const budget = new MemoryBudget(64 * MIN_PART_BYTES);
    await budget.take(1, 'job', new AbortController().signal);
    for (const [failures, spareBytes] of [
      [1, 0],
      [0, MIN_PART_BYTES],
    ]) {
      const store = new FakeObjectStore();
      Object.assign(store, {
        put: async (...[, content]: Parameters<ObjectCalls['put']>) => {
          for (let failure = 0; failure < (failures ?? 0); failure++) content.onFailure?.();
          return 'etag';
        },
      });
      await uploaderOf(store, budget, 4).upload(body(MIN_PART_BYTES), request(undefined), new AbortController());
      expect(budget.spareBytes).toBe(spareBytes);
    }
  });

  it('verifies before anything becomes visible', async () => {
    for (const bytes of [10, 2 * MIN_PART_BYTES]) {
      const store = new FakeObjectStore();
      const verify = () => {
        throw new Error('another file');
      };
      const upload = uploaderOf(store, new MemoryBudget(2 * MIN_PART_BYTES), 4).upload(
        body(bytes),
        request(undefined, { verify }),
        new AbortController(),
      );
      await expect(upload).rejects.toThrow('another file');
      expect(store.calls.filter((call) => call.startsWith('put') || call.startsWith('complete'))).toEqual([]);
    }
  });

  it('stops reading once a part has failed, and aborts the upload when no part is in flight', async () => {
    const store = new FakeObjectStore();
    const budget = new MemoryBudget(2 * MIN_PART_BYTES);
    let chunks = 0;
    Object.assign(store, { uploadPart: () => Promise.reject(new Error('denied')) });
    const endless = body(Infinity, () => (chunks += 1));
    await expect(uploaderOf(store, budget, 4).upload(endless, request(undefined), new AbortController())).rejects.toThrow('denied');
    expect(chunks).toBeLessThan(16);
    expect(store.calls).toEqual(['create', 'abort id']);
    expect(budget.heldBytes).toBe(0);
  });

  it('waits for the id of an upload that is being created when its task is aborted, and aborts it', async () => {
    const store = new FakeObjectStore();
    const work = new AbortController();
    Object.assign(store, {
      createMultipart: async () => {
        work.abort(new Error('aborted'));
        await setImmediate();
        return { uploadId: 'id', isOnly: true };
      },
    });
    Object.assign(store, { uploadPart: (...[, , , signal]: Parameters<ObjectCalls['uploadPart']>) => Promise.reject(signal.reason) });
    const budget = new MemoryBudget(2 * MIN_PART_BYTES);
    await expect(uploaderOf(store, budget, 4).upload(body(2 * MIN_PART_BYTES), request(undefined), work)).rejects.toThrow('aborted');
    expect(store.calls).toEqual(['abort id']);
    expect(budget.heldBytes).toBe(0);
  });
});
