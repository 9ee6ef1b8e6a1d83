import { expect, it } from '@jest/globals';
import { expiryS, fullJitterMs, retryUntil, Semaphore, SystemClock } from '../../../src/shared/index.js';
import { deferred } from '../../support/deferred.js';
import { newClock, onEachClock } from '../../support/each-clock.js';
import { settled } from '../../support/fake-clock.js';

const BACKOFF = { baseMs: 100, capMs: 1_000 };
const running = new AbortController().signal;

onEachClock('fullJitterMs', () => {
  it.each([
    [1, 100],
    [2, 200],
    [4, 800],
    [5, 1_000],
    [60, 1_000],
  ])('lies anywhere under the limit of attempt %i: %i ms', (attempt, limit) => {
    expect(fullJitterMs(BACKOFF, attempt, () => 0)).toBe(0);
    expect(fullJitterMs(BACKOFF, attempt, () => 0.5)).toBe(limit / 2);
    expect(fullJitterMs(BACKOFF, attempt, () => 0.9999)).toBeLessThan(limit);
  });
});

onEachClock('retryUntil', () => {
  it('numbers its attempts and gives back the value of the one that is done', async () => {
    const clock = newClock();
    const attempts: number[] = [];
    const value = retryUntil(
      async (number) => {
        attempts.push(number);
        return number === 3 ? { done: true, value: 'done' } : { done: false };
      },
      { clock, backoff: BACKOFF, signal: running },
    );
    await clock.advance(5_000);
    await expect(value).resolves.toBe('done');
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('ends with nothing when it is aborted in a wait, and makes no attempt when it was aborted before', async () => {
    const clock = newClock();
    const abort = new AbortController();
    const value = retryUntil(async () => ({ done: false }), { clock, backoff: BACKOFF, signal: abort.signal });
    await settled();
    abort.abort();
    await expect(value).resolves.toBeUndefined();
    expect(clock.sleepers).toBe(0);
    await expect(
      retryUntil(async () => ({ done: true, value: 1 }), { clock, backoff: BACKOFF, signal: abort.signal }),
    ).resolves.toBeUndefined();
  });

  it('gives back an attempt that was done although it was aborted meanwhile', async () => {
    const abort = new AbortController();
    const attempt = async () => {
      abort.abort();
      return { done: true as const, value: 1 };
    };
    await expect(retryUntil(attempt, { clock: newClock(), backoff: BACKOFF, signal: abort.signal })).resolves.toBe(1);
  });
});

onEachClock('Semaphore', () => {
  const begin = (semaphore: Semaphore, signal = running) => {
    const work = deferred();
    const state = { started: false };
    const run = semaphore.run(signal, () => {
      state.started = true;
      return work.promise;
    });
    return { state, run, end: () => work.resolve(), ended: work.promise };
  };

  it('runs as many at a time as it has places, the others in order', async () => {
    const semaphore = new Semaphore(2);
    const all = [1, 2, 3, 4].map(() => begin(semaphore));
    const started = () => all.map(({ state }) => state.started);
    await settled();
    expect(started()).toEqual([true, true, false, false]);
    all[1]?.end();
    await settled();
    expect(started()).toEqual([true, true, true, false]);
    for (const { end } of all) end();
    await Promise.all(all.map(({ run }) => run));
    expect(started()).toEqual([true, true, true, true]);
  });

  it('gives the place on when the work fails', async () => {
    const semaphore = new Semaphore(1);
    await expect(semaphore.run(running, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(semaphore.run(running, () => Promise.resolve('next'))).resolves.toBe('next');
  });

  it('lets one that is aborted leave the line without running, and the next one moves up', async () => {
    const semaphore = new Semaphore(1);
    const abort = new AbortController();
    const first = begin(semaphore);
    const leaver = begin(semaphore, abort.signal);
    const last = begin(semaphore);
    abort.abort();
    await expect(leaver.run).resolves.toBeUndefined();
    expect(leaver.state.started).toBe(false);
    first.end();
    await settled();
    expect(last.state.started).toBe(true);
    last.end();
    await Promise.all([first.run, last.run]);
  });

  it('gives the place to the next one when the first in line is aborted in the moment in which it is its turn', async () => {
    const semaphore = new Semaphore(1);
    const abort = new AbortController();
    const first = begin(semaphore);
    const leaver = begin(semaphore, abort.signal);
    const last = begin(semaphore);
    // The place is free by then, and the leaver has not gone on yet.
    void first.ended.then(() => abort.abort());
    first.end();
    await expect(leaver.run).resolves.toBeUndefined();
    expect([leaver.state.started, last.state.started]).toEqual([false, true]);
    last.end();
    await last.run;
    await expect(semaphore.run(running, () => Promise.resolve('next'))).resolves.toBe('next');
  });

  it('lets nobody in before those that wait, also in the moment in which a place becomes free', async () => {
    const semaphore = new Semaphore(1);
    const first = begin(semaphore);
    const second = begin(semaphore);
    const late = first.ended.then(() => begin(semaphore));
    first.end();
    const third = await late;
    await settled();
    expect([second.state.started, third.state.started]).toEqual([true, false]);
    second.end();
    third.end();
    await Promise.all([second.run, third.run]);
  });
});

it('SystemClock tells wall time as ISO-8601 UTC', () => {
  expect(new SystemClock().nowIso()).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

it('expiryS is so many days from now, in epoch seconds', () => {
  expect(expiryS(newClock('2026-01-01T00:00:00.900Z'), 30)).toBe(Date.parse('2026-01-31T00:00:00Z') / 1_000);
});
