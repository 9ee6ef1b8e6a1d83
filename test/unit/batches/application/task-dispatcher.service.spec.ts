import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TaskDispatcherService } from '../../../../src/batches/application/task-dispatcher.service.js';
import type { TaskSource } from '../../../../src/batches/application/task-source.js';
import { WorkSigns } from '../../../../src/batches/application/work-signs.js';
import type { TaskOutcome } from '../../../../src/worker-pool/index.js';
import { FakeTransferPool } from '../../../support/fakes/fake-transfer-pool.js';
import { RecordingMetrics } from '../../../support/fakes/recording-metrics.js';
import { FakeClock, settled } from '../../../support/fake-clock.js';

const SLOW = { code: 'HTTP_503', retryable: true };
const MISMATCH = { code: 'CHECKSUM_MISMATCH', retryable: true };

/** A batch of some tasks; its keys are `<job>/<position>`. */
class Source implements TaskSource {
  readonly maxConcurrency: number | undefined;
  readonly abort = new AbortController();
  readonly signal = this.abort.signal;
  readonly results: { position: number; result: TaskOutcome; attempts: number }[] = [];
  progressed = 0;
  readonly pausedUntil: number[] = [];
  #next = 0;

  constructor(
    readonly jobId: string,
    private readonly tasks: number,
    maxConcurrency?: number,
    private readonly hostOf: (position: number) => string = () => 'origin.test',
  ) {
    this.maxConcurrency = maxConcurrency;
  }

  next(): ReturnType<TaskSource['next']> {
    if (this.#next >= this.tasks) return undefined;
    const position = this.#next++;
    const s3Key = `${this.jobId}/${position}`;
    const url = `https://${this.hostOf(position)}/`;
    return { position, task: { taskId: s3Key, jobId: this.jobId, url, s3Bucket: 'exports', s3Key } };
  }

  get handedOut(): number {
    return this.#next;
  }

  onResult(position: number, result: TaskOutcome, attempts: number): void {
    this.results.push({ position, result, attempts });
  }

  onProgress(): void {
    this.progressed++;
  }

  onPause(until: number): void {
    this.pausedUntil.push(until);
  }
}

let clock: FakeClock;
let pool: FakeTransferPool;
let metrics: RecordingMetrics;
let dispatcher: TaskDispatcherService;
let signs: WorkSigns;

const create = (places: number, maxConnectionsPerHost = 10_000) => {
  pool = new FakeTransferPool(places);
  signs = new WorkSigns(clock);
  dispatcher = new TaskDispatcherService(pool, { taskMaxAttempts: 4, maxConnectionsPerHost }, clock, metrics, signs);
};
beforeEach(() => {
  clock = new FakeClock();
  metrics = new RecordingMetrics();
  create(4);
});
afterEach(async () => {
  await pool.succeedAll();
  expect(clock.sleepers).toBe(0);
});

const add = (source: Source) => {
  dispatcher.add(source);
  return source;
};
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

/** Odd positions are of host `b.test`. */
const twoHosts = (position: number) => (position % 2 === 0 ? 'a.test' : 'b.test');
const TOLD = { ...SLOW, code: 'HTTP_429', retryAfterMs: 60_000 };
const runningHosts = () => pool.running.map(({ url }) => new URL(url).hostname);

describe('a host that asks for patience', () => {
  it('gets no task of any job until its time is over, while other hosts go on', async () => {
    create(2);
    const told = add(new Source('told', 4, undefined, twoHosts));
    const other = add(new Source('other', 4, undefined, twoHosts));
    await pool.fail(TOLD, 'told/0');
    while (pool.running.length > 0) await pool.succeed(pool.running.find(({ url }) => url.includes('b.test'))?.s3Key ?? '');
    expect(pool.started.filter(({ url }) => url.includes('a.test')).map(({ s3Key }) => s3Key)).toEqual(['told/0']);
    expect([told.results.length, other.results.length]).toEqual([2, 2]);
    expect([told, other].map((source) => Math.min(...source.pausedUntil) >= 60_000)).toEqual([true, true]);
    await clock.advance(59_999);
    expect(pool.running).toEqual([]);
    expect(dispatcher.waitsForSources).toBe(true);
    await clock.advance(10_000);
    await pool.succeedAll();
    await clock.advance(10_000);
    await pool.succeedAll();
    expect([told.results.length, other.results.length]).toEqual([4, 4]);
  });

  it('holds no tasks back without bound: past 256 the batch is left unread', async () => {
    const source = add(new Source('a', 1_000));
    await pool.fail(TOLD);
    expect(source.handedOut).toBe(4 + 256);
    source.abort.abort();
    await settled();
  });

  it('costs one attempt in all, not one of each task that was under way', async () => {
    const source = add(new Source('a', 4));
    for (let round = 1; round <= 3; round++) {
      while (pool.running.length > 0) await pool.fail(TOLD);
      await clock.advance(61_000 + 1_000);
    }
    await clock.advance(10_000);
    await pool.succeedAll();
    expect(source.results.map(({ result }) => result.success)).toEqual([true, true, true, true]);
  });

  it('still costs a task its last attempt when it alone is told so every time', async () => {
    const source = add(new Source('a', 1));
    for (let attempt = 1; attempt <= 4; attempt++) {
      await pool.fail(TOLD);
      await clock.advance(62_000);
    }
    expect(source.results).toMatchObject([{ attempts: 4, result: { error: { code: 'HTTP_429' } } }]);
  });

  it('gets its tasks back one by one', async () => {
    create(32);
    add(new Source('a', 32));
    while (pool.running.length > 0) await pool.fail(TOLD);
    await clock.advance(62_000);
    expect(pool.running.length).toBeGreaterThanOrEqual(1);
    expect(pool.running.length).toBeLessThanOrEqual(9);
    await clock.advance(6_000);
    expect(pool.running).toHaveLength(32);
  });

  it('is told to batches that come during the pause: they count as waiting', async () => {
    const source = add(new Source('a', 1));
    await pool.fail(TOLD);
    const late = add(new Source('late', 1));
    expect(pool.running).toEqual([]);
    expect(late.pausedUntil).toEqual([source.pausedUntil[0]]);
    await clock.advance(62_000);
    expect(pool.running).toHaveLength(2);
  });

  it('wakes nobody when a drain has begun', async () => {
    add(new Source('a', 6));
    await pool.fail(TOLD);
    dispatcher.pause();
    await pool.succeedAll();
    await clock.advance(70_000);
    expect(pool.running).toEqual([]);
  });
});

describe('a full host', () => {
  it('has a connection free as soon as a source has been read', async () => {
    create(8, 1);
    add(new Source('a', 3));
    expect(runningKeys()).toEqual(['a/0']);
    await pool.read('a/0');
    expect(runningKeys()).toEqual(['a/0', 'a/1']);
    await pool.succeed('a/0');
    expect(runningKeys()).toEqual(['a/1']);
  });

  it('has so many tasks at once over all jobs, and its places go round the jobs', async () => {
    create(8, 2);
    const jobs = ['a', 'b', 'c'].map((job) => add(new Source(job, 4)));
    for (let turn = 0; turn < 12; turn++) await pool.succeed();
    expect(pool.mostAtOnce).toBe(2);
    expect(pool.started.slice(2, 8).map(({ jobId }) => jobId)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
    expect(jobs.map(({ results }) => results.length)).toEqual([4, 4, 4]);
  });

  it('blocks neither other jobs nor the tasks of other hosts in its own job', async () => {
    create(8, 1);
    add(new Source('a', 6, undefined, (position) => (position < 5 ? 'full.test' : 'free.test')));
    add(new Source('b', 1, undefined, () => 'b.test'));
    expect(runningHosts().toSorted()).toEqual(['b.test', 'free.test', 'full.test']);
  });

  it('gives its place on when a task is aborted', async () => {
    create(8, 1);
    const first = add(new Source('a', 3));
    add(new Source('b', 1));
    expect(runningKeys()).toEqual(['a/0']);
    first.abort.abort();
    await settled();
    expect(runningKeys()).toEqual(['b/0']);
  });

  it('keeps to the limit of a job all the same', async () => {
    create(8, 2);
    add(new Source('a', 6, 3, twoHosts));
    expect(pool.running).toHaveLength(3);
    await pool.succeed();
    expect(pool.running).toHaveLength(3);
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
