import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { TransferError } from '../../../src/worker-pool/domain/transfer-error.js';
import { Multiparts, REPAIR_MS } from '../../../src/worker-pool/threads/multiparts.js';
import type { ObjectCalls } from '../../../src/worker-pool/threads/object-store.js';
import { FakeObjectStore } from '../../support/fakes/fake-object-store.js';

const AT = { bucket: 'bucket', key: 'key' };
const REQUEST = { taskId: 'task', at: AT, attemptId: 'attempt', attributes: { metadata: {} } };
const SENT = { parts: [{ number: 1, etag: 'e' }], bytes: 5 };
/** As long as a thread that is told to abort a task may take. */
const GRACE_MS = 5_000;

function run(store: ObjectCalls, work = new AbortController(), multiparts = new Multiparts(store, () => {})): Promise<string> {
  return multiparts.run(REQUEST, work, async () => SENT);
}

/** Answers nothing until its signal ends it. */
const never = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('Multiparts', () => {
  describe('after a lost answer to Create', () => {
    const open = async () => ({
      nowMs: 1_000_000,
      uploads: [
        { uploadId: 'of another, older', initiatedMs: 900_000 },
        { uploadId: 'with parts', initiatedMs: 1_000_000 },
        { uploadId: 'stray', initiatedMs: 1_000_000 },
        { uploadId: 'id', initiatedMs: 1_000_000 },
      ],
    });
    const hasParts = async (...[, uploadId]: Parameters<ObjectCalls['hasParts']>) => uploadId === 'with parts';

    it('aborts what may be left of it and nothing of anyone else’s, and goes on with the upload it has', async () => {
      const store = Object.assign(new FakeObjectStore(), {
        createMultipart: async () => ({ uploadId: 'id', isOnly: false }),
        openUploads: open,
        hasParts,
      });
      expect(await run(store)).toBe('etag');
      expect(store.calls).toEqual(['abort stray', 'complete 1']);
    });

    it('aborts it though no answer came at all', async () => {
      const lost = new TransferError('UPLOAD_FAILED', 'no answer', { retryable: true });
      const store = Object.assign(new FakeObjectStore(), { createMultipart: () => Promise.reject(lost), openUploads: open, hasParts });
      await expect(run(store)).rejects.toBe(lost);
      expect(store.calls).toEqual(['abort stray', 'abort id']);
    });

    it('looks for none when S3 refused', async () => {
      const refused = new TransferError('UPLOAD_FAILED', 'denied', { retryable: false });
      const store = Object.assign(new FakeObjectStore(), { createMultipart: () => Promise.reject(refused), openUploads: open, hasParts });
      await expect(run(store)).rejects.toBe(refused);
      expect(store.calls).toEqual([]);
    });

    it('leaves alone what it may not look into', async () => {
      const store = Object.assign(new FakeObjectStore(), {
        createMultipart: async () => ({ uploadId: 'id', isOnly: false }),
        openUploads: open,
        hasParts: () => Promise.reject(new Error('denied')),
      });
      await run(store);
      expect(store.calls).toEqual(['complete 1']);
    });
  });

  describe('tells the pool', () => {
    const toldBy = async (store: ObjectCalls) => {
      const told: string[] = [];
      const multiparts = new Multiparts(store, ({ type, payload }) => told.push(`${type} ${JSON.stringify(payload)}`));
      const send = async () => {
        told.push('parts');
        return SENT;
      };
      await multiparts.run(REQUEST, new AbortController(), send).catch(() => undefined);
      return told;
    };
    const opened = 'UPLOAD_OPENED {"taskId":"task","uploadId":"id","bucket":"bucket","key":"key"}';
    const closed = 'UPLOAD_CLOSED {"taskId":"task","uploadId":"id"}';

    it('of an upload before its first part is sent, and when it is completed', async () => {
      expect(await toldBy(new FakeObjectStore())).toEqual([opened, 'parts', closed]);
    });

    it('when an upload is aborted, and only if S3 says so', async () => {
      const complete = () => Promise.reject(new Error('no'));
      expect(await toldBy(Object.assign(new FakeObjectStore(), { complete }))).toEqual([opened, 'parts', closed]);
      const deaf = Object.assign(new FakeObjectStore(), { complete, abortMultipart: () => Promise.reject(new Error('no answer')) });
      expect(await toldBy(deaf)).toEqual([opened, 'parts']);
    });

    it('of what a lost answer to Create left, when it cannot abort it', async () => {
      const store = Object.assign(new FakeObjectStore(), {
        createMultipart: () => Promise.reject(new TransferError('UPLOAD_FAILED', 'no answer', { retryable: true })),
        openUploads: async () => ({ nowMs: 1_000_000, uploads: [{ uploadId: 'id', initiatedMs: 1_000_000 }] }),
        abortMultipart: () => Promise.reject(new Error('no answer')),
      });
      expect(await toldBy(store)).toEqual([opened]);
    });
  });

  it('takes a Complete without an answer for done when the object is of its size and its attempt, and only then', async () => {
    const failure = new TransferError('UPLOAD_FAILED', 'S3 answered 404 NoSuchUpload', { retryable: true });
    for (const [size, attempt, done] of [
      [5, 'attempt', true],
      [5, 'another', false],
      [4, 'attempt', false],
    ] as const) {
      const store = Object.assign(new FakeObjectStore(), {
        complete: () => Promise.reject(failure),
        head: async () => ({ size, etag: 'stored', metadata: { 'upload-attempt': attempt } }),
      });
      if (done) expect(await run(store)).toBe('stored');
      else await expect(run(store)).rejects.toBe(failure);
      expect(store.calls).toEqual(done ? ['create'] : ['create', 'abort id']);
    }
  });

  it('puts things right within the grace of an aborted task, all calls together, though S3 answers nothing', async () => {
    expect(Math.max(...Object.values(REPAIR_MS))).toBeLessThan(GRACE_MS);
    const quick = { createAnswers: 20, look: 30, abort: 40 };
    const work = new AbortController();
    const ended: string[] = [];
    const hangs =
      (name: string) =>
      (...args: unknown[]) =>
        never(args.at(-1) as AbortSignal).finally(() => ended.push(name));
    const store = Object.assign(new FakeObjectStore(), {
      createMultipart: hangs('create'),
      openUploads: hangs('look'),
      abortMultipart: hangs('abort'),
    });
    const running = run(store, work, new Multiparts(store, () => {}, quick));
    await setImmediate();
    work.abort(new TransferError('ABORTED', 'no longer wanted', { retryable: true }));
    await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
    expect(ended).toEqual(['create', 'look']);

    const later = new AbortController();
    const failing = Object.assign(new FakeObjectStore(), {
      complete: () => Promise.reject(new Error('no answer')),
      head: (...args: unknown[]) => hangs('head')(...args).catch(() => undefined),
      abortMultipart: hangs('abort'),
    });
    await expect(run(failing, later, new Multiparts(failing, () => {}, quick))).rejects.toThrow('no answer');
    expect(ended).toEqual(['create', 'look', 'head', 'abort']);
  });
});
