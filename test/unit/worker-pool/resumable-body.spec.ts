import { describe, expect, it, jest } from '@jest/globals';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { errors } from 'undici';
import { statusError } from '../../../src/worker-pool/domain/http-response.js';
import { LeastSpeed } from '../../../src/worker-pool/domain/least-speed.js';
import type { ResumePoint } from '../../../src/worker-pool/domain/resume-point.js';
import { TransferError } from '../../../src/worker-pool/domain/transfer-error.js';
import { MAX_RESUMES, ResumableBody } from '../../../src/worker-pool/threads/resumable-body.js';
import type { OpenedSource } from '../../../src/worker-pool/threads/source-opener.js';

/** A body that sends this much and is cut then. */
function cut(text: string, by: Error = new Error('other side closed')): Readable {
  let sent = false;
  return new Readable({
    read() {
      if (sent) return void this.destroy(by);
      sent = true;
      this.push(text);
    },
  });
}

const whole = (text: string) => Readable.from([Buffer.from(text)]);

interface Case {
  size?: number;
  opened: Partial<OpenedSource> & { body: Readable };
  /** What each request for the rest meets, in order. */
  rests?: (Readable | Error | 'never')[];
  signal?: AbortSignal;
  capMs?: number;
  speed?: LeastSpeed;
  restPatienceMs?: number;
}

async function read({ size, opened, rests = [], signal = new AbortController().signal, capMs = 0, speed, restPatienceMs }: Case) {
  const asked: ResumePoint[] = [];
  const resume = (_url: string, options: { signal: AbortSignal }, point: ResumePoint) => {
    asked.push(point);
    const rest = rests[asked.length - 1] ?? cut('');
    if (rest === 'never')
      return new Promise<never>((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason)));
    return rest instanceof Error ? Promise.reject(rest) : Promise.resolve({ body: rest, total: 10 });
  };
  const source = { endIsKnown: true, validator: '"v1"', ...opened };
  const expectation = {
    stallTimeoutMs: 10_000,
    signal,
    ...(speed && { speed }),
    ...(restPatienceMs !== undefined && { restPatienceMs }),
    backoff: { baseMs: capMs, capMs },
    ...(size !== undefined && { size }),
  };
  const body = new ResumableBody({ resume }, { url: 'http://a.example/' }, source, expectation);
  let text = '';
  const error = await (async () => {
    for await (const chunk of body.chunks()) text += chunk.toString();
  })().catch((reason: unknown) => reason);
  return { text, error, asked };
}

describe('a body that is cut', () => {
  it('goes on where it ended, as one', async () => {
    const { text, error, asked } = await read({ size: 10, opened: { body: cut('0123') }, rests: [cut('45'), whole('6789')] });
    expect({ text, error }).toEqual({ text: '0123456789', error: undefined });
    expect(asked.map(({ offset, total }) => [offset, total])).toEqual([
      [4, 10],
      [6, 10],
    ]);
  });

  it('learns its length from the rest and is held to it', async () => {
    expect(await read({ opened: { body: cut('0123') }, rests: [whole('456789')] })).toMatchObject({ text: '0123456789', error: undefined });
    expect(await read({ opened: { body: cut('0123') }, rests: [whole('45678')] })).toMatchObject({ error: { code: 'SIZE_MISMATCH' } });
    expect(await read({ opened: { body: cut('0123') }, rests: [whole('4567890')] })).toMatchObject({ error: { code: 'SIZE_MISMATCH' } });
  });

  it('is given up when it is cut once more after five resumes', async () => {
    const rests = ['1', '2', '3', '4', '5'].map((text) => cut(text));
    const { text, error, asked } = await read({ size: 10, opened: { body: cut('0') }, rests });
    expect(text).toBe('012345');
    expect(error).toMatchObject({ code: 'SIZE_MISMATCH', disposition: 'retry', message: 'the body was cut after 6 of 10 bytes' });
    expect(asked).toHaveLength(MAX_RESUMES);
  });

  it('counts a request for the rest that fails as a resume, and asks again', async () => {
    const rests = [statusError(500), new TransferError('SOURCE_CONNECTION', 'x', { retryable: true }), whole('456789')];
    const { text, asked } = await read({ size: 10, opened: { body: cut('0123') }, rests });
    expect(text).toBe('0123456789');
    expect(asked).toHaveLength(3);
  });

  it.each([{ retryAfterMs: 7_000 }, { retryAfterHost: 'a.example' }])('hands on the pause that a source asks for, %j', async (wish) => {
    const { error, asked } = await read({ size: 10, opened: { body: cut('0123') }, rests: [statusError(429, wish)] });
    expect(error).toMatchObject({ code: 'HTTP_429', ...wish });
    expect(asked).toHaveLength(1);
  });

  it.each([200, 403, 404, 412, 416])('begins anew, as another try, when the rest is answered with %i', async (status) => {
    const { error, asked } = await read({ size: 10, opened: { body: cut('0123') }, rests: [statusError(status)] });
    expect(error).toMatchObject({ code: 'SIZE_MISMATCH', disposition: 'retry' });
    expect(asked).toHaveLength(1);
  });

  it.each([
    { why: 'nothing of it is here', opened: { body: cut('') } },
    { why: 'all of it is here', opened: { body: cut('0123456789') } },
    { why: 'it has no validator', opened: { body: cut('0123'), validator: undefined } },
  ])('is not asked for again when $why', async ({ opened: { body, ...rest } }) => {
    const { asked, error } = await read({ size: 10, opened: { body, ...rest } as Case['opened'] });
    expect(error).toMatchObject({ disposition: 'retry' });
    expect(asked).toEqual([]);
  });

  it.each([{ size: 3 }, { size: 5 }])('is not asked for again when it ended as it should, with 4 bytes of $size', async ({ size }) => {
    const { asked, error } = await read({ size, opened: { body: whole('0123') } });
    expect(error).toMatchObject({ code: 'SIZE_MISMATCH' });
    expect(asked).toEqual([]);
  });

  it('is held to one least speed over all its resumes', async () => {
    const speed = new LeastSpeed(100);
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += 15_000));
    const rests = ['1', '2', '3', '4', '5'].map((text) => cut(text));
    const { text, error } = await read({ size: 10, opened: { body: cut('0') }, rests, speed });
    jest.restoreAllMocks();
    expect(error).toMatchObject({ code: 'SOURCE_TOO_SLOW' });
    expect(text).toBe('012');
  });

  it('is not asked for again when its chunks were broken: what came before may be wrong already', async () => {
    const broken = cut('0123', new errors.HTTPParserError('Response does not match the HTTP/1.1 protocol'));
    const { asked, error } = await read({ size: 10, opened: { body: broken }, rests: [whole('456789')] });
    expect(error).toMatchObject({ code: 'SOURCE_PROTOCOL', disposition: 'retry' });
    expect(asked).toEqual([]);
  });

  it('is given up when the rest is not answered: it must not hold its memory for those who have the connections', async () => {
    const { error, asked } = await read({ size: 10, opened: { body: cut('0123') }, rests: ['never'], restPatienceMs: 1 });
    expect(error).toMatchObject({ code: 'SIZE_MISMATCH', disposition: 'retry' });
    expect(asked).toHaveLength(1);
  });

  it('goes on however long its rest is read, once that was answered', async () => {
    const slow = Readable.from(
      (async function* () {
        await wait(50);
        yield Buffer.from('456789');
      })(),
    );
    expect(await read({ size: 10, opened: { body: cut('0123') }, rests: [slow], restPatienceMs: 10 })).toMatchObject({
      text: '0123456789',
    });
  });

  it('ends with its signal while it waits to ask again', async () => {
    const abort = new AbortController();
    const reading = read({ size: 10, opened: { body: cut('0123') }, signal: abort.signal, capMs: 3_600_000 });
    setImmediate(() => abort.abort(new Error('enough')));
    expect(await reading).toMatchObject({ error: { message: 'enough' } });
  });
});
