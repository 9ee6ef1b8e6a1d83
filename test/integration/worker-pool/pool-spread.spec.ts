import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LOST, MisbehavingPools, SUCCEEDED } from './misbehaving-pools.js';
import { eventually } from './pool-support.js';

describe('the worker pool', () => {
  let pools: MisbehavingPools;

  beforeEach(() => void (pools = new MisbehavingPools()));
  afterEach(() => pools.close());

  it('runs whatever it is given at once, beyond its capacity too, and spreads it', async () => {
    const pool = await pools.started({ size: 2, tasksPerWorker: 2 });
    const all = await Promise.all(Array.from({ length: 12 }, () => pools.running(pool, 'wait')));
    expect(pools.values).toMatchObject({ worker_pool_busy: 12, worker_pool_queued: 0 });
    expect(await pools.run(pool, 'exit')).toMatchObject(LOST);
    await eventually(() => pools.values['worker_pool_busy'] === 6);
    for (const { abort } of all) abort();
  });

  it('gives tasks over the share of its first thread to the threads that boot with it', async () => {
    const pool = await pools.started({ size: 2, tasksPerWorker: 2 });
    const all = Array.from({ length: 4 }, () => pools.running(pool, 'wait'));
    expect(pools.values).toMatchObject({ worker_pool_threads: 1, worker_pool_queued: 2 });
    for (const { abort } of await Promise.all(all)) abort();
  });

  it('counts what has been read and what is silent for no source that is read', async () => {
    const pool = await pools.started({ size: 1, tasksPerWorker: 4 });
    const all = await Promise.all((['wait', 'read', 'silent', 'silent, heard'] as const).map((what) => pools.running(pool, what)));
    expect(pools.values).toMatchObject({ worker_pool_busy: 4, worker_pool_reading: 2, worker_pool_silent: 1 });
    for (const { abort } of all) abort();
    await eventually(() => pools.values['worker_pool_busy'] === 0);
    expect(pools.values).toMatchObject({ worker_pool_reading: 0, worker_pool_silent: 0 });
  });

  it('gives a task to the thread that reads least, whose silent sources do not count', async () => {
    const pool = await pools.started({ size: 2, tasksPerWorker: 2 });
    await eventually(() => pools.values['worker_pool_threads'] === 2);
    const [silent, waiting] = [await pools.running(pool, 'silent'), await pools.running(pool, 'wait')];
    const other = await pools.running(pool, 'silent');
    expect(await pools.run(pool, 'exit')).toMatchObject(LOST);
    for (const { outcome } of [silent, other]) expect(await outcome).toMatchObject(LOST);
    expect(pools.values).toMatchObject({ worker_pool_busy: 1, worker_pool_reading: 1 });
    waiting.abort();
  });

  it('counts what waits for memory, until its thread ends', async () => {
    const pool = await pools.started({ size: 2, tasksPerWorker: 1 });
    await eventually(() => pools.values['worker_pool_threads'] === 2);
    const all = [await pools.running(pool, 'awaits memory'), await pools.running(pool, 'awaits memory')];
    expect(pools.values).toMatchObject({ worker_pool_reading: 2, worker_pool_awaiting_memory: 2 });
    expect(await pools.run(pool, 'exit')).toMatchObject(LOST);
    await eventually(() => pools.values['worker_pool_awaiting_memory'] === 1);
    for (const { abort } of all) abort();
  });

  it('tells of silence and of its end, and of neither once the source has been read', async () => {
    const pool = await pools.started();
    const told: string[] = [];
    const options = { signal: new AbortController().signal, onSilent: () => told.push('silent'), onHeard: () => told.push('heard') };
    expect(await pool.run(pools.task('all signs'), { ...options, onRead: () => told.push('read') })).toMatchObject(SUCCEEDED);
    expect(told).toEqual(['silent', 'heard', 'read']);
  });

  it('spreads the tasks over its threads, those that have been read included', async () => {
    const pool = await pools.started({ size: 2, tasksPerWorker: 2 });
    await eventually(() => pools.values['worker_pool_threads'] === 2);
    const [one, other] = [await pools.running(pool, 'read'), await pools.running(pool, 'read')];
    expect(pools.values).toMatchObject({ worker_pool_busy: 2, worker_pool_reading: 0 });
    expect(await pools.run(pool, 'exit')).toMatchObject(LOST);
    expect(await Promise.race([one.outcome, other.outcome])).toMatchObject(LOST);
    expect(pools.values['worker_pool_busy']).toBe(1);
    for (const { abort } of [one, other]) abort();
  });
});
