import { beforeEach, expect, it } from '@jest/globals';
import { aBatch } from '../../../support/builders.js';
import { aBatchWorld, BATCH_BEAT_MS } from '../../../support/batch-holder.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';

let w: ReturnType<typeof aBatchWorld>;
let me: ReturnType<ReturnType<typeof aBatchWorld>['process']>;
beforeEach(() => {
  w = aBatchWorld();
  me = w.process();
  w.batches.put(aBatch({ attempts: 3, trialSize: 1 }));
});

/** Positions of the tasks that were started. */
const started = () => me.pool.started.map(({ taskId }) => Number(taskId.split('#')[2]));

onEachClock('a batch whose holders died one after another', () => {
  it('runs its trial first, and twice as many once what survived is written down', async () => {
    const { run } = await me.begin();
    expect(started()).toEqual([0]);
    await me.pool.succeed();
    await settled();
    expect(w.batches.get(0)).toMatchObject({ completed: 1, status: 'running' });
    expect(started()).toEqual([0, 1, 2]);
    await me.pool.succeedAll();
    await settled();
    expect(started()).toEqual([0, 1, 2, 3, 4]);
    await me.pool.succeedAll();
    await expect(run).resolves.toBe('ended');
    expect(w.batches.get(0)).toMatchObject({ status: 'succeeded', completed: 5 });
  });

  it('runs no more before what survived is written down, however often that fails', async () => {
    const { run } = await me.begin();
    w.gate.next('checkpoint', 'unavailable');
    w.gate.next('findBatch', 'unavailable');
    await me.pool.succeed();
    await settled();
    expect(started()).toEqual([0]);
    await w.clock.advance(2 * BATCH_BEAT_MS);
    expect(started()).toEqual([0, 1, 2]);
    await Promise.all([me.drain(0, 1_000), w.clock.advance(2_000)]);
    await expect(run).resolves.toBe('draining');
  });

  it('is handed back by a drain that comes while its first task runs', async () => {
    const { run } = await me.begin();
    await Promise.all([me.drain(0, 1_000), w.clock.advance(2_000)]);
    await expect(run).resolves.toBe('draining');
    expect(w.batches.get(0)).toMatchObject({ status: 'queued', trialSize: 1, attempts: 3 });
    expect(started()).toEqual([0]);
  });
});
