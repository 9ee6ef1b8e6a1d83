import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ABORTED, LOST, MisbehavingPools, SUCCEEDED } from './misbehaving-pools.js';
import { eventually } from './pool-support.js';

const STILLBORN = new URL('./fixtures/stillborn-thread.ts', import.meta.url);

describe('the worker pool', () => {
  let pools: MisbehavingPools;

  beforeEach(() => void (pools = new MisbehavingPools()));
  afterEach(() => pools.close());

  it('is as large as threads × tasks per worker; it starts with its first thread, and the others follow', async () => {
    const pool = await pools.started({ size: 2, tasksPerWorker: 3 });
    expect(pool.capacity).toBe(6);
    expect(pools.values).toMatchObject({ worker_pool_busy: 0, worker_pool_queued: 0 });
    await eventually(() => pools.values['worker_pool_threads'] === 2);
  });

  it('aborts one task and lets its neighbours go on', async () => {
    const pool = await pools.started();
    const [one, other] = [await pools.running(pool, 'wait'), await pools.running(pool, 'wait')];
    one.abort();
    expect(await one.outcome).toMatchObject({ ...ABORTED, error: { message: 'obeyed' } });
    expect(await pools.run(pool, 'succeed')).toMatchObject(SUCCEEDED);
    expect(pools.values['worker_pool_busy']).toBe(1);
    other.abort();
    expect(await other.outcome).toMatchObject(ABORTED);
  });

  it('aborts a task that still waits for a thread, and one whose signal was aborted before', async () => {
    const pool = pools.create();
    const abort = new AbortController();
    const waiting = pool.run(pools.task('succeed'), { signal: abort.signal });
    await eventually(() => pools.values['worker_pool_queued'] === 1);
    abort.abort();
    expect(await waiting).toMatchObject(ABORTED);
    expect(await pool.run(pools.task('succeed'), { signal: AbortSignal.abort() })).toMatchObject(ABORTED);
  });

  it('ends a thread that keeps an aborted task, fails its other tasks as retryable, and replaces it', async () => {
    const pool = await pools.started();
    const [stubborn, neighbour] = [await pools.running(pool, 'disobey'), await pools.running(pool, 'wait')];
    stubborn.abort();
    expect(await stubborn.outcome).toMatchObject({ ...ABORTED, bytesProcessed: 3 });
    expect(await neighbour.outcome).toMatchObject({ ...LOST, bytesProcessed: 3 });
    expect(await pools.run(pool, 'succeed')).toMatchObject(SUCCEEDED);
  });

  it.each(['exit', 'throw', 'out-of-heap', 'babble'])('fails only the tasks of a thread that does “%s”, and replaces it', async (what) => {
    const pool = await pools.started({ size: 2, tasksPerWorker: 1 });
    const elsewhere = await pools.running(pool, 'wait');
    const restarts = pools.values['worker_pool_restarts_total'] ?? 0;
    expect(await pools.run(pool, what)).toMatchObject(LOST);
    expect(await pools.run(pool, 'succeed')).toMatchObject(SUCCEEDED);
    expect(pools.values['worker_pool_restarts_total']).toBe(restarts + 1);
    elsewhere.abort();
    expect(await elsewhere.outcome).toMatchObject(ABORTED);
  });

  it.each(['exit', 'out-of-heap'])(
    'runs a task alone that does “%s”: it takes no other along, and the thread is gone when no task is left for it',
    async (what) => {
      const pool = await pools.started();
      const neighbour = await pools.running(pool, 'wait');
      const suspects = [what, 'succeed', what, 'succeed'].map((task) => pools.runAlone(pool, task));
      expect(await Promise.all(suspects)).toMatchObject([LOST, SUCCEEDED, LOST, SUCCEEDED]);
      await eventually(() => pools.values['worker_pool_busy'] === 1);
      neighbour.abort();
      expect(await neighbour.outcome).toMatchObject(ABORTED);
    },
  );

  it('aborts tasks that run alone, or wait to, and ends them when it stops', async () => {
    const pool = await pools.started();
    const abort = new AbortController();
    const running = pool.run(pools.task('wait'), { signal: abort.signal, alone: true });
    const waiting = pool.run(pools.task('succeed'), { signal: abort.signal, alone: true });
    await eventually(() => pools.values['worker_pool_busy'] === 1 && pools.values['worker_pool_queued'] === 1);
    abort.abort();
    expect(await Promise.all([running, waiting])).toMatchObject([ABORTED, ABORTED]);
    const left = ['wait', 'succeed'].map((task) => pools.runAlone(pool, task));
    await eventually(() => pools.values['worker_pool_busy'] === 1);
    await pool.stop();
    expect(await Promise.all(left)).toMatchObject([{ success: false }, { success: false }]);
  });

  it('replaces a thread that hangs', async () => {
    const pool = await pools.started({}, { timings: { pingIntervalMs: 500 } });
    expect(await pools.run(pool, 'hang')).toMatchObject(LOST);
    expect(await pools.run(pool, 'succeed')).toMatchObject(SUCCEEDED);
  });

  it('gives up a thread that dies whenever it boots, and says so at the start', async () => {
    const pool = pools.create({}, { threadUrl: STILLBORN });
    await expect(pool.start()).rejects.toMatchObject({ code: 'POOL_BROKEN', disposition: 'fatal' });
    expect(pool.capacity).toBe(0);
    expect(await pools.run(pool, 'succeed')).toMatchObject(LOST);
  });

  it('runs a task again only after its former run has ended', async () => {
    const pool = await pools.started();
    const former = await pools.running(pool, 'wait', 'same');
    const again = pools.run(pool, 'succeed', 'same');
    former.abort();
    expect(await former.outcome).toMatchObject(ABORTED);
    expect(await again).toMatchObject(SUCCEEDED);
  });

  it('refuses a task that the protocol cannot carry', async () => {
    const pool = await pools.started();
    const broken = { ...pools.task('succeed'), checksum: { algorithm: 'md5' as const, value: 'NOT HEX' } };
    expect(await pool.run(broken, { signal: new AbortController().signal })).toMatchObject({
      success: false,
      error: { code: 'TASK_INVALID', message: expect.stringContaining('checksum.value'), retryable: false },
    });
  });

  it('stops with tasks in hand and in the queue, and with a thread that hangs', async () => {
    const pool = await pools.started({ size: 2, tasksPerWorker: 1 });
    const hanging = [pools.run(pool, 'hang'), pools.run(pool, 'wait'), pools.run(pool, 'wait')];
    expect(pools.values['worker_pool_queued']).toBe(2);
    await pool.stop();
    for (const outcome of await Promise.all(hanging)) expect(outcome).toMatchObject(LOST);
    expect(await pools.run(pool, 'succeed')).toMatchObject(LOST);
  });

  it('stops before it was started, while it starts, and twice', async () => {
    const never = pools.create();
    await never.stop();
    await never.stop();
    await expect(never.start()).rejects.toMatchObject({ code: 'POOL_STOPPED' });
    const starting = pools.create();
    const start = starting.start();
    const [outcome] = await Promise.allSettled([start, starting.stop()]);
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'POOL_STOPPED' } });
  });
});
