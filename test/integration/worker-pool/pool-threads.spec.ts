import { afterEach, describe, expect, it } from '@jest/globals';
import { Metrics } from '../../../src/shared/index.js';
import { SilentLogger } from '../../support/silent-logger.js';
import { PoolManagerService, type PoolOptions, type TaskOutcome, type TransferTask } from '../../../src/worker-pool/index.js';
import { eventually, poolSettings, type SettingsOverrides } from './pool-support.js';

const MISBEHAVING = new URL('./fixtures/misbehaving-thread.ts', import.meta.url);
const STILLBORN = new URL('./fixtures/stillborn-thread.ts', import.meta.url);
/** A thread that obeys must do so within the grace on a busy machine, too. */
const QUICK = { abortGraceMs: 1_500, stopGraceMs: 200, restartBackoff: { baseMs: 10, capMs: 50 } };

class Gauges extends Metrics {
  readonly values: Record<string, number> = {};
  increment(name: string): void {
    this.values[name] = (this.values[name] ?? 0) + 1;
  }
  gauge(name: string, value: number): void {
    this.values[name] = value;
  }
  observe(): void {}
}

describe('the worker pool', () => {
  const pools: PoolManagerService[] = [];
  const metrics = new Gauges();
  let tasks = 0;

  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.stop()));
  });

  function create(pool: SettingsOverrides['pool'] = {}, options: PoolOptions = {}): PoolManagerService {
    const settings = poolSettings({ pool: { size: 1, tasksPerWorker: 3, ...pool } });
    const created = new PoolManagerService(settings, new SilentLogger(), {
      threadUrl: MISBEHAVING,
      metrics,
      ...options,
      timings: { ...QUICK, ...options.timings },
    });
    pools.push(created);
    return created;
  }

  async function started(...args: Parameters<typeof create>): Promise<PoolManagerService> {
    const pool = create(...args);
    await pool.start();
    return pool;
  }

  /** A task that runs once its progress has been told; `abort` aborts it. */
  async function running(pool: PoolManagerService, what: 'wait' | 'read' | 'silent' | 'silent, heard' | 'disobey', taskId?: string) {
    const controller = new AbortController();
    let outcome: Promise<TaskOutcome> | undefined;
    await new Promise<void>((resolve) => {
      outcome = pool.run(task(what, taskId), { signal: controller.signal, onProgress: () => resolve() });
    });
    return { outcome, abort: () => controller.abort() };
  }

  function task(what: string, taskId = `task-${tasks++}`): TransferTask {
    return { taskId, jobId: 'job', url: what, s3Bucket: 'bucket', s3Key: 'key', attempt: 1 };
  }

  function run(pool: PoolManagerService, what: string, taskId?: string): Promise<TaskOutcome> {
    return pool.run(task(what, taskId), { signal: new AbortController().signal });
  }

  const lost = { success: false, error: { code: 'THREAD_LOST', retryable: true } };
  const aborted = { success: false, error: { code: 'ABORTED', retryable: true } };
  const succeeded = { success: true, etag: 'etag' };

  it('is as large as threads × tasks per worker; it starts with its first thread, and the others follow', async () => {
    const pool = await started({ size: 2, tasksPerWorker: 3 });
    expect(pool.capacity).toBe(6);
    expect(metrics.values).toMatchObject({ worker_pool_busy: 0, worker_pool_queued: 0 });
    await eventually(() => metrics.values['worker_pool_threads'] === 2);
  });

  it('runs whatever it is given at once, beyond its capacity too, and spreads it', async () => {
    const pool = await started({ size: 2, tasksPerWorker: 2 });
    const all = await Promise.all(Array.from({ length: 12 }, () => running(pool, 'wait')));
    expect(metrics.values).toMatchObject({ worker_pool_busy: 12, worker_pool_queued: 0 });
    expect(await run(pool, 'exit')).toMatchObject(lost);
    await eventually(() => metrics.values['worker_pool_busy'] === 6);
    for (const { abort } of all) abort();
  });

  it('gives tasks over the share of its first thread to the threads that boot with it', async () => {
    const pool = await started({ size: 2, tasksPerWorker: 2 });
    const all = Array.from({ length: 4 }, () => running(pool, 'wait'));
    expect(metrics.values).toMatchObject({ worker_pool_threads: 1, worker_pool_queued: 2 });
    for (const { abort } of await Promise.all(all)) abort();
  });

  it('counts what has been read and what is silent for no source that is read', async () => {
    const pool = await started({ size: 1, tasksPerWorker: 4 });
    const all = await Promise.all((['wait', 'read', 'silent', 'silent, heard'] as const).map((what) => running(pool, what)));
    expect(metrics.values).toMatchObject({ worker_pool_busy: 4, worker_pool_reading: 2, worker_pool_silent: 1 });
    for (const { abort } of all) abort();
    await eventually(() => metrics.values['worker_pool_busy'] === 0);
    expect(metrics.values).toMatchObject({ worker_pool_reading: 0, worker_pool_silent: 0 });
  });

  it('gives a task to the thread that reads least, whose silent sources do not count', async () => {
    const pool = await started({ size: 2, tasksPerWorker: 2 });
    await eventually(() => metrics.values['worker_pool_threads'] === 2);
    const [silent, waiting] = [await running(pool, 'silent'), await running(pool, 'wait')];
    const other = await running(pool, 'silent');
    expect(await run(pool, 'exit')).toMatchObject(lost);
    for (const { outcome } of [silent, other]) expect(await outcome).toMatchObject(lost);
    expect(metrics.values).toMatchObject({ worker_pool_busy: 1, worker_pool_reading: 1 });
    waiting.abort();
  });

  it('tells of silence and of its end, and of neither once the source has been read', async () => {
    const pool = await started();
    const told: string[] = [];
    const options = { signal: new AbortController().signal, onSilent: () => told.push('silent'), onHeard: () => told.push('heard') };
    expect(await pool.run(task('all signs'), { ...options, onRead: () => told.push('read') })).toMatchObject(succeeded);
    expect(told).toEqual(['silent', 'heard', 'read']);
  });

  it('spreads the tasks over its threads, those that have been read included', async () => {
    const pool = await started({ size: 2, tasksPerWorker: 2 });
    await eventually(() => metrics.values['worker_pool_threads'] === 2);
    const [one, other] = [await running(pool, 'read'), await running(pool, 'read')];
    expect(metrics.values).toMatchObject({ worker_pool_busy: 2, worker_pool_reading: 0 });
    expect(await run(pool, 'exit')).toMatchObject(lost);
    expect(await Promise.race([one.outcome, other.outcome])).toMatchObject(lost);
    expect(metrics.values['worker_pool_busy']).toBe(1);
    for (const { abort } of [one, other]) abort();
  });

  it('aborts one task and lets its neighbours go on', async () => {
    const pool = await started();
    const [one, other] = [await running(pool, 'wait'), await running(pool, 'wait')];
    one.abort();
    expect(await one.outcome).toMatchObject({ ...aborted, error: { message: 'obeyed' } });
    expect(await run(pool, 'succeed')).toMatchObject(succeeded);
    expect(metrics.values['worker_pool_busy']).toBe(1);
    other.abort();
    expect(await other.outcome).toMatchObject(aborted);
  });

  it('aborts a task that still waits for a thread, and one whose signal was aborted before', async () => {
    const pool = create();
    const abort = new AbortController();
    const waiting = pool.run(task('succeed'), { signal: abort.signal });
    await eventually(() => metrics.values['worker_pool_queued'] === 1);
    abort.abort();
    expect(await waiting).toMatchObject(aborted);
    expect(await pool.run(task('succeed'), { signal: AbortSignal.abort() })).toMatchObject(aborted);
  });

  it('ends a thread that keeps an aborted task, fails its other tasks as retryable, and replaces it', async () => {
    const pool = await started();
    const [stubborn, neighbour] = [await running(pool, 'disobey'), await running(pool, 'wait')];
    stubborn.abort();
    expect(await stubborn.outcome).toMatchObject({ ...aborted, bytesProcessed: 3 });
    expect(await neighbour.outcome).toMatchObject({ ...lost, bytesProcessed: 3 });
    expect(await run(pool, 'succeed')).toMatchObject(succeeded);
  });

  it.each(['exit', 'throw', 'out-of-heap', 'babble'])('fails only the tasks of a thread that does “%s”, and replaces it', async (what) => {
    const pool = await started({ size: 2, tasksPerWorker: 1 });
    const elsewhere = await running(pool, 'wait');
    const restarts = metrics.values['worker_pool_restarts_total'] ?? 0;
    expect(await run(pool, what)).toMatchObject(lost);
    expect(await run(pool, 'succeed')).toMatchObject(succeeded);
    expect(metrics.values['worker_pool_restarts_total']).toBe(restarts + 1);
    elsewhere.abort();
    expect(await elsewhere.outcome).toMatchObject(aborted);
  });

  it('replaces a thread that hangs', async () => {
    const pool = await started({}, { timings: { pingIntervalMs: 500 } });
    expect(await run(pool, 'hang')).toMatchObject(lost);
    expect(await run(pool, 'succeed')).toMatchObject(succeeded);
  });

  it('gives up a thread that dies whenever it boots, and says so at the start', async () => {
    const pool = create({}, { threadUrl: STILLBORN });
    await expect(pool.start()).rejects.toMatchObject({ code: 'POOL_BROKEN', disposition: 'fatal' });
    expect(pool.capacity).toBe(0);
    expect(await run(pool, 'succeed')).toMatchObject(lost);
  });

  it('runs a task again only after its former run has ended', async () => {
    const pool = await started();
    const former = await running(pool, 'wait', 'same');
    const again = run(pool, 'succeed', 'same');
    former.abort();
    expect(await former.outcome).toMatchObject(aborted);
    expect(await again).toMatchObject(succeeded);
  });

  it('refuses a task that the protocol cannot carry', async () => {
    const pool = await started();
    const broken = { ...task('succeed'), checksum: { algorithm: 'md5' as const, value: 'NOT HEX' } };
    expect(await pool.run(broken, { signal: new AbortController().signal })).toMatchObject({
      success: false,
      error: { code: 'TASK_INVALID', message: expect.stringContaining('checksum.value'), retryable: false },
    });
  });

  it('stops with tasks in hand and in the queue, and with a thread that hangs', async () => {
    const pool = await started({ size: 2, tasksPerWorker: 1 });
    const hanging = [run(pool, 'hang'), run(pool, 'wait'), run(pool, 'wait')];
    expect(metrics.values['worker_pool_queued']).toBe(2);
    await pool.stop();
    for (const outcome of await Promise.all(hanging)) expect(outcome).toMatchObject(lost);
    expect(await run(pool, 'succeed')).toMatchObject(lost);
  });

  it('stops before it was started, while it starts, and twice', async () => {
    const never = create();
    await never.stop();
    await never.stop();
    await expect(never.start()).rejects.toMatchObject({ code: 'POOL_STOPPED' });
    const starting = create();
    const start = starting.start();
    const [outcome] = await Promise.allSettled([start, starting.stop()]);
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'POOL_STOPPED' } });
  });
});
