import { describe, expect, it } from '@jest/globals';
import type { StoredObject } from '../../../src/worker-pool/domain/object-metadata.js';
import type { ObjectCalls } from '../../../src/worker-pool/threads/object-store.js';
import { SinglePut, type SinglePutRequest } from '../../../src/worker-pool/threads/single-put.js';

const CONTENT = { bytes: Buffer.from('hello') };
const { signal } = new AbortController();
const objectOf = (attempt: string): StoredObject => ({ size: 5, etag: '"there"', metadata: { 'upload-attempt': attempt } });

function putting(ifFree: Awaited<ReturnType<ObjectCalls['putIfFree']>>, there?: StoredObject) {
  const calls: string[] = [];
  const single = new SinglePut({
    put: async () => (calls.push('put'), '"put"'),
    putIfFree: async () => (calls.push('put if free'), ifFree),
  });
  const put = (rest: Partial<SinglePutRequest> = {}) => {
    const look = async () => (calls.push('look'), there);
    const at = { bucket: 'bucket', key: 'key' };
    return single.put(
      { at, attemptId: 'ours', attributes: { metadata: {} }, mayReplace: false, look, isSame: () => false, ...rest },
      CONTENT,
      signal,
    );
  };
  return { calls, put };
}

describe('one PutObject', () => {
  it('goes to a free key without a look', async () => {
    const { calls, put } = putting({ etag: '"free"' });
    expect(await put()).toEqual({ etag: '"free"' });
    expect(calls).toEqual(['put if free']);
  });

  it('is not conditional where the key has been looked at', async () => {
    const { calls, put } = putting('taken');
    expect(await put({ mayReplace: true })).toEqual({ etag: '"put"' });
    expect(calls).toEqual(['put']);
  });

  it('was done when the taken key holds its own attempt', async () => {
    const { calls, put } = putting('taken', objectOf('ours'));
    expect(await put()).toEqual({ etag: '"there"' });
    expect(calls).toEqual(['put if free', 'look']);
  });

  it('looks at the key before anything is sent again when the connection failed', async () => {
    const own = putting('unanswered', objectOf('ours'));
    expect(await own.put()).toEqual({ etag: '"there"' });
    expect(own.calls).toEqual(['put if free', 'look']);
    const free = putting('unanswered');
    expect(await free.put()).toEqual({ etag: '"put"' });
    expect(free.calls).toEqual(['put if free', 'look', 'put']);
  });

  it('leaves alone what it would store, and writes over anything else', async () => {
    const there = objectOf('theirs');
    const same = putting('taken', there);
    expect(await same.put({ isSame: () => true })).toEqual({ etag: '"there"', leftAlone: there });
    expect(same.calls).toEqual(['put if free', 'look']);
    for (const other of [there, undefined]) {
      const { calls, put } = putting('taken', other);
      expect(await put()).toEqual({ etag: '"put"' });
      expect(calls).toEqual(['put if free', 'look', 'put']);
    }
  });

  it('asks a bucket that knows no condition once, and looks first from then on', async () => {
    const there = objectOf('theirs');
    const { calls, put } = putting('unknown condition', there);
    await put();
    expect(await put({ isSame: () => true })).toMatchObject({ leftAlone: there });
    await put();
    expect(calls).toEqual(['put if free', 'put', 'look', 'look', 'put']);
    await put({ at: { bucket: 'other', key: 'key' } });
    expect(calls.slice(5)).toEqual(['put if free', 'put']);
  });

  it('does not take a refusal that has other reasons for an unknown condition', async () => {
    const calls: string[] = [];
    const refused = () => Promise.reject(new Error('no such KMS key'));
    const single = new SinglePut({ put: refused, putIfFree: async () => (calls.push('put if free'), 'unknown condition' as const) });
    const request = {
      at: { bucket: 'b', key: 'k' },
      attemptId: 'ours',
      attributes: { metadata: {} },
      mayReplace: false,
      look: async () => undefined,
      isSame: () => false,
    };
    for (let time = 1; time <= 2; time++) await expect(single.put(request, CONTENT, signal)).rejects.toThrow('no such KMS key');
    expect(calls).toEqual(['put if free', 'put if free']);
  });

  it('ends with its task while it looks', async () => {
    const work = new AbortController();
    const single = new SinglePut({ put: async () => '', putIfFree: async () => 'taken' });
    const look = async () => {
      work.abort(new Error('aborted'));
      return undefined;
    };
    const request = {
      at: { bucket: 'b', key: 'k' },
      attemptId: 'ours',
      attributes: { metadata: {} },
      mayReplace: false,
      look,
      isSame: () => false,
    };
    await expect(single.put(request, CONTENT, work.signal)).rejects.toThrow('aborted');
  });
});
