import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aDispatcher, FakeTaskSource as Source } from '../../../support/dispatcher.js';
import { onEachClock } from '../../../support/each-clock.js';

const LOST = { code: 'THREAD_LOST', retryable: true };

onEachClock('files whose thread died', (newClock) => {
  let { clock, logger, pool, add } = aDispatcher();
  beforeEach(() => {
    ({ clock, logger, pool, add } = aDispatcher(4, undefined, newClock()));
  });
  afterEach(() => expect(logger.messages('error')).toEqual([]));

  /** The thread of all that runs dies, and every backoff is waited out. */
  const death = async () => {
    for (const { s3Key } of pool.running) await pool.fail(LOST, s3Key);
    await clock.advance(31_000);
  };
  /** Which of them comes first is left to the jitter of their backoffs. */
  const alone = () => pool.alone.map(({ s3Key }) => s3Key);

  it('are charged for nothing that happened beside others, and run alone, one at a time, once two threads died with them', async () => {
    const source = add(new Source('a', 3));
    await death();
    expect([pool.running.length, alone()]).toEqual([3, []]);
    await death();
    for (let left = 3; left > 0; left--) {
      expect([pool.running.length, alone()]).toEqual([1, [expect.any(String)]]);
      await pool.succeed();
    }
    expect(source.results).toHaveLength(3);
    expect(source.results.map(({ result, attempts }) => [result.success, attempts])).toEqual(source.results.map(() => [true, 3]));
  });

  it('fail when they take their thread down alone, as often as a file is tried', async () => {
    const source = add(new Source('a', 2));
    await death();
    await death();
    let deathsAlone = 0;
    while (source.results.length < 2) {
      const [running] = alone();
      if (running === 'a/0') deathsAlone++;
      if (running === 'a/0') await pool.fail(LOST);
      else if (running !== undefined) await pool.succeed();
      await clock.advance(31_000);
    }
    expect(deathsAlone).toBe(4);
    expect(source.results).toContainEqual(expect.objectContaining({ position: 0, result: expect.objectContaining({ success: false }) }));
    expect(source.results).toContainEqual(expect.objectContaining({ position: 1, result: expect.objectContaining({ success: true }) }));
  });

  it('hold no other file up, of their host or another job', async () => {
    add(new Source('a', 4));
    await death();
    await death();
    expect(alone()).toHaveLength(1);
    const other = add(new Source('b', 6));
    for (let turn = 0; turn < 6; turn++) await pool.succeed(`b/${turn}`);
    expect(other.results).toHaveLength(6);
    await pool.succeedAll();
  });

  it('wait for nobody when the one that runs alone is aborted', async () => {
    const sources = [add(new Source('a', 1)), add(new Source('b', 1))];
    await death();
    await death();
    const [first, second] = sources.toSorted(({ jobId }) => (alone()[0] === `${jobId}/0` ? -1 : 1));
    first?.abort.abort();
    await clock.advance(1);
    expect(alone()).toEqual([`${second?.jobId}/0`]);
    await pool.succeedAll();
    expect(second?.results).toHaveLength(1);
  });
});
