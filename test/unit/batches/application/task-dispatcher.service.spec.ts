import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aDispatcher, FakeTaskSource as Source, SLOW } from '../../../support/dispatcher.js';
import { settled } from '../../../support/fake-clock.js';

const MISMATCH = { code: 'CHECKSUM_MISMATCH', retryable: true };

let { clock, metrics, pool, signs, dispatcher, add } = aDispatcher();
const create = (places: number) => {
  ({ clock, metrics, pool, signs, dispatcher, add } = aDispatcher(places));
};
beforeEach(() => create(4));
afterEach(async () => {
  await pool.succeedAll();
  expect(clock.sleepers).toBe(0);
});

const runningKeys = () => pool.running.map(({ s3Key }) => s3Key);
/** Waits every backoff out. */
const backoff = () => clock.advance(31_000);

describe('places', () => {
  it('are filled as far as the pool has them, and refilled as they get free', async () => {
    const source = add(new Source('a', 10));
    expect(pool.running).toHaveLength(4);
    await pool.succeedAll();
    expect(source.results).toHaveLength(10);
    expect(pool.mostAtOnce).toBe(4);
  });

  it('are shared fairly: a huge job does not hold back a small one', async () => {
    add(new Source('huge', 100));
    const small = add(new Source('small', 4));
    for (let turn = 0; turn < 8; turn++) await pool.succeed('');
    expect(pool.started.slice(4, 12).map(({ jobId }) => jobId)).toEqual(Array.from({ length: 4 }, () => ['huge', 'small']).flat());
    await pool.succeedAll();
    expect(small.results).toHaveLength(4);
  });

  it('are shared by jobs, not by batches: a job of many batches gets no more', async () => {
    create(2);
    for (let batch = 0; batch < 5; batch++) add(new Source('many', 2));
    add(new Source('one', 3));
    await pool.succeed();
    await pool.succeed();
    expect(pool.running.map(({ jobId }) => jobId).toSorted()).toEqual(['many', 'one']);
  });

  it('are not given to a job beyond its maxConcurrency, over all its batches', async () => {
    add(new Source('limited', 6, 2));
    add(new Source('limited', 6, 2));
    expect(pool.running).toHaveLength(2);
    add(new Source('other', 2));
    expect(runningKeys().filter((key) => key.startsWith('other'))).toHaveLength(2);
    await pool.succeedAll();
    expect(pool.started).toHaveLength(14);
  });

  it('are given on as soon as a source has been read, while its end goes to S3, up to the most that the pool takes', async () => {
    create(1);
    const source = add(new Source('a', 4));
    await pool.read('a/0');
    expect(runningKeys()).toEqual(['a/0', 'a/1']);
    await pool.read('a/1');
    expect(runningKeys()).toEqual(['a/0', 'a/1']);
    await pool.succeed('a/0');
    expect(runningKeys()).toEqual(['a/1', 'a/2']);
    await pool.fail(SLOW, 'a/1');
    expect(runningKeys()).toEqual(['a/2']);
    await pool.succeedAll();
    await backoff();
    await pool.succeedAll();
    expect(source.results).toHaveLength(4);
  });

  it('are held by no task that waits out its backoff, which runs again before new ones', async () => {
    create(1);
    const source = add(new Source('a', 3));
    await pool.fail(SLOW);
    expect(runningKeys()).toEqual(['a/1']);
    await backoff();
    await pool.succeed();
    expect(runningKeys()).toEqual(['a/0']);
    expect(pool.running[0]?.attempt).toBe(2);
    await pool.succeedAll();
    expect(source.results.map(({ position }) => position)).toEqual([1, 0, 2]);
  });
});

describe('retries', () => {
  it('go on up to so many attempts, then the task fails with its code', async () => {
    const source = add(new Source('a', 1));
    for (let attempt = 1; attempt <= 4; attempt++) {
      expect(pool.running[0]?.attempt).toBe(attempt);
      await pool.fail(SLOW);
      await backoff();
    }
    expect(source.results).toMatchObject([{ position: 0, attempts: 4, result: { success: false, error: { code: 'HTTP_503' } } }]);
    expect(metrics.increments).toContainEqual({ name: 'tasks_total', value: 1, labels: { outcome: 'failed', code: 'HTTP_503' } });
  });

  it('are not made for what cannot get better', async () => {
    const source = add(new Source('a', 1));
    await pool.fail({ code: 'HTTP_404', retryable: false });
    expect(source.results).toMatchObject([{ attempts: 1 }]);
  });

  it('report a task that succeeds in the end with its attempts', async () => {
    const source = add(new Source('a', 1));
    await pool.fail(SLOW);
    await backoff();
    await pool.succeed();
    expect(source.results).toMatchObject([{ attempts: 2, result: { success: true } }]);
    expect(metrics.total('tasks_total')).toBe(1);
  });

  it('CHECKSUM_MISMATCH twice is an answer', async () => {
    const source = add(new Source('a', 1));
    await pool.fail(MISMATCH);
    await backoff();
    await pool.fail(MISMATCH);
    await backoff();
    expect(source.results).toMatchObject([{ attempts: 2, result: { error: { code: 'CHECKSUM_MISMATCH' } } }]);
  });

  it('count mismatches apart from other failures', async () => {
    const source = add(new Source('a', 1));
    for (const error of [SLOW, MISMATCH, SLOW]) {
      await pool.fail(error);
      await backoff();
    }
    expect(source.results).toEqual([]);
    await pool.succeed();
    expect(source.results).toMatchObject([{ attempts: 4, result: { success: true } }]);
  });

  it('wait as long as the source asks for', async () => {
    const source = add(new Source('a', 1));
    await pool.fail({ ...SLOW, retryAfterMs: 120_000 });
    const [until = 0] = source.pausedUntil;
    expect(until).toBeGreaterThanOrEqual(120_000);
    expect(until).toBeLessThan(121_000);
    await clock.advance(119_999);
    expect(pool.running).toEqual([]);
    await clock.advance(1_001);
    expect(runningKeys()).toEqual(['a/0']);
  });

  it('have more patience with our own store', async () => {
    const source = add(new Source('a', 1));
    for (let attempt = 1; attempt < 12; attempt++) {
      await pool.fail({ code: 'UPLOAD_FAILED', retryable: true });
      await backoff();
    }
    expect(source.results).toEqual([]);
    await pool.fail({ code: 'UPLOAD_FAILED', retryable: true });
    expect(source.results).toMatchObject([{ attempts: 12 }]);
  });

  it('come back although everything else of the job is done meanwhile', async () => {
    const source = add(new Source('a', 2));
    await pool.fail(SLOW, 'a/0');
    await pool.succeed('a/1');
    await backoff();
    await pool.succeed('a/0');
    expect(source.results).toHaveLength(2);
  });
});

describe('an abort', () => {
  it('ends running tasks, waiting ones and new ones, and records none of them', async () => {
    create(2);
    const source = add(new Source('a', 10));
    await pool.fail(SLOW);
    source.abort.abort();
    await settled();
    await backoff();
    expect(pool.running).toEqual([]);
    expect(source.results).toEqual([]);
    expect(metrics.total('tasks_total')).toBe(0);
  });

  it('leaves other batches of the job alone', async () => {
    create(1);
    const aborted = add(new Source('a', 3));
    const other = add(new Source('a', 3));
    aborted.abort.abort();
    await settled();
    await pool.succeedAll();
    expect(other.results).toHaveLength(3);
  });

  it('still records a task that finished all the same', async () => {
    pool.ignoresAbort = true;
    const source = add(new Source('a', 1));
    source.abort.abort();
    await pool.succeed();
    expect(source.results).toMatchObject([{ result: { success: true } }]);
  });
});

describe('a pause', () => {
  it('starts no task any more and lets those running finish; then the dispatcher is idle', async () => {
    const source = add(new Source('a', 10));
    dispatcher.pause();
    let idle = false;
    const waiting = dispatcher.idle().then(() => (idle = true));
    await pool.succeed();
    expect(idle).toBe(false);
    await pool.succeedAll();
    await waiting;
    expect(source.results).toHaveLength(4);
    add(new Source('b', 1));
    expect(pool.running).toEqual([]);
  });

  it('is idle at once when nothing runs', async () => {
    await expect(dispatcher.idle()).resolves.toBeUndefined();
  });
});

it('passes progress on to the batch', () => {
  const source = add(new Source('a', 1));
  pool.progress(1_000);
  expect(source.progressed).toBe(1);
});

describe('signs of work', () => {
  const signedAt = () => signs.last?.at;

  it('are given by progress and by ends, and by nothing else', async () => {
    add(new Source('a', 6));
    await clock.advance(10_000);
    expect(signedAt()).toBeUndefined();
    pool.progress(1);
    expect(signs.last).toEqual({ at: 10_000, atIso: '2026-01-01T00:00:10.000Z' });
    await clock.advance(10_000);
    await pool.succeed();
    expect(signedAt()).toBe(20_000);
    await clock.advance(10_000);
    await pool.fail({ code: 'HTTP_404', retryable: false });
    expect(signedAt()).toBe(30_000);
    await clock.advance(60_000);
    expect([signedAt(), dispatcher.runningTasks]).toEqual([30_000, 4]);
  });

  it('are not given by tasks that were aborted', async () => {
    const source = add(new Source('a', 1));
    source.abort.abort();
    await settled();
    expect([signedAt(), dispatcher.runningTasks]).toEqual([undefined, 0]);
  });

  it('are not needed while tasks wait out a Retry-After, until it is over', async () => {
    create(1);
    add(new Source('a', 1));
    expect(dispatcher.waitsForSources).toBe(false);
    await pool.fail({ ...SLOW, retryAfterMs: 600_000 });
    await clock.advance(599_999);
    expect(dispatcher.waitsForSources).toBe(true);
    await clock.advance(1_001);
    expect([dispatcher.waitsForSources, dispatcher.runningTasks]).toEqual([false, 1]);
  });

  it('are missed when the wait is for threads that are all lost', async () => {
    add(new Source('a', 1));
    await pool.fail({ ...SLOW, retryAfterMs: 600_000 });
    pool.capacity = 0;
    expect(dispatcher.waitsForSources).toBe(false);
    pool.capacity = 1;
    await clock.advance(601_000);
  });

  it('end with the wait of a task that is aborted', async () => {
    const source = add(new Source('a', 1));
    await pool.fail({ ...SLOW, retryAfterMs: 600_000 });
    source.abort.abort();
    await settled();
    expect(dispatcher.waitsForSources).toBe(false);
  });
});
