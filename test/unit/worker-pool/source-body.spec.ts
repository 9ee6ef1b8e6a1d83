import { describe, expect, it, jest } from '@jest/globals';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { settled } from '../../support/fake-clock.js';
import { LeastSpeed } from '../../../src/worker-pool/domain/least-speed.js';
import { readBody, type BodyExpectation } from '../../../src/worker-pool/threads/source-body.js';

async function drain(body: Readable, expected: Partial<BodyExpectation> = {}): Promise<number> {
  let bytes = 0;
  for await (const chunk of readBody(body, { stallTimeoutMs: 10_000, signal: new AbortController().signal, ...expected }))
    bytes += chunk.length;
  return bytes;
}

const of = (...chunks: string[]) => Readable.from(chunks.map((chunk) => Buffer.from(chunk)));

describe('readBody', () => {
  it('passes what is as long as expected', async () => {
    expect(await drain(of('abc', 'de'), { size: 5 })).toBe(5);
    expect(await drain(of(), { size: 0 })).toBe(0);
    expect(await drain(of('abc'))).toBe(3);
  });

  it.each([4, 6])('fails when %i bytes are expected of 5', async (size) => {
    await expect(drain(of('abc', 'de'), { size })).rejects.toMatchObject({ code: 'SIZE_MISMATCH', disposition: 'retry' });
  });

  it('gives up on a body that sends nothing while it is read', async () => {
    const silent = new PassThrough();
    await expect(drain(silent, { stallTimeoutMs: 20 })).rejects.toMatchObject({ code: 'SOURCE_STALLED', disposition: 'retry' });
    expect(silent.destroyed).toBe(true);
  });

  it('waits for a slow body as long as something comes within the limit, however long it takes in all', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    try {
      const slow = new PassThrough();
      const read = drain(slow, { stallTimeoutMs: 60_000 });
      for (let drop = 0; drop < 10; drop++) {
        slow.write('x');
        await settled();
        jest.advanceTimersByTime(59_999);
      }
      slow.end();
      await expect(read).resolves.toBe(10);
    } finally {
      jest.useRealTimers();
    }
  });

  it('does not count the time in which nobody reads', async () => {
    const body = readBody(of('a', 'b'), { stallTimeoutMs: 20, signal: new AbortController().signal });
    await body.next();
    await wait(60);
    expect((await body.next()).value).toEqual(Buffer.from('b'));
    await body.return();
  });

  /** A byte each 5 ms, for ever. */
  const drip = () =>
    Readable.from(
      (async function* () {
        for (;;) yield await wait(5, Buffer.from('x'));
      })(),
    );

  it('ends a source that is slower than the least speed, and lets go of it', async () => {
    const body = drip();
    await expect(drain(body, { speed: new LeastSpeed(1_000_000, 100) })).rejects.toMatchObject({ code: 'SOURCE_TOO_SLOW' });
    expect(body.destroyed).toBe(true);
  });

  it('does not count against the least speed the time in which nobody reads', async () => {
    const bytes = of('a', 'b', 'c', 'd');
    let waitedMs = 0;
    const speed = { note: (ms: number) => (waitedMs += ms) } as unknown as LeastSpeed;
    const before = performance.now();
    for await (const _ of readBody(bytes, { stallTimeoutMs: 10_000, signal: new AbortController().signal, speed })) await wait(20);
    expect(performance.now() - before - waitedMs).toBeGreaterThan(4 * 15);
  });

  it('ends with the reason of its signal and destroys the body', async () => {
    const abort = new AbortController();
    const silent = new PassThrough();
    const draining = drain(silent, { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(draining).rejects.toThrow('enough');
    expect(silent.destroyed).toBe(true);
  });
});
