import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aDispatcher, FakeTaskSource as Source, SLOW } from '../../../support/dispatcher.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import { RestlessClock } from '../../../support/restless-clock.js';

onEachClock('the dispatcher', (newClock) => {
  let { clock, logger, metrics, pool, dispatcher, add } = aDispatcher();
  const create = (places: number, maxConnectionsPerHost?: number) => {
    ({ clock, logger, metrics, pool, dispatcher, add } = aDispatcher(places, maxConnectionsPerHost, newClock()));
  };
  beforeEach(() => create(4));
  afterEach(async () => {
    await pool.succeedAll();
    expect(clock.sleepers).toBe(0);
    expect(logger.messages('error')).toEqual([]);
  });

  const runningKeys = () => pool.running.map(({ s3Key }) => s3Key);

  /** Odd positions are of host `b.test`. */
  const twoHosts = (position: number) => (position % 2 === 0 ? 'a.test' : 'b.test');
  const tellOf = (host: string) => ({ ...SLOW, code: 'HTTP_429', httpStatus: 429, retryAfterMs: 60_000, retryAfterHost: host });
  const TOLD = tellOf('origin.test');
  const runningHosts = () => pool.running.map(({ url }) => new URL(url).hostname);

  describe('a host that asks for patience', () => {
    it('gets no task of any job until its time is over, while other hosts go on', async () => {
      create(2);
      const told = add(new Source('told', 4, undefined, twoHosts));
      await pool.fail(tellOf('a.test'), 'told/0');
      const other = add(new Source('other', 4, undefined, twoHosts));
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

    it('is told in one log line, and counted while files wait for it', async () => {
      const source = add(new Source('a', 8, undefined, twoHosts));
      expect(metrics.last('source_hosts_paused')).toBe(0);
      await pool.fail(tellOf('a.test'), 'a/0');
      await pool.fail(tellOf('a.test'), 'a/2');
      expect(logger.events.filter(({ message }) => message.startsWith('A host asks for patience'))).toMatchObject([
        { level: 'info', fields: { host: 'a.test', forS: 60 } },
      ]);
      expect(metrics.last('source_hosts_paused')).toBe(1);
      expect([...source.pausedHosts]).toEqual(['a.test']);
      source.abort.abort();
      await settled();
      expect(metrics.last('source_hosts_paused')).toBe(0);
    });

    it('is counted no more once its pause is over', async () => {
      add(new Source('a', 8));
      await pool.fail(TOLD);
      await pool.succeedAll();
      expect(metrics.last('source_hosts_paused')).toBe(1);
      await clock.advance(61_000);
      expect(metrics.last('source_hosts_paused')).toBe(0);
      while (pool.running.length > 0) {
        await pool.succeedAll();
        await clock.advance(2_000);
      }
    });

    it('holds no tasks back without bound: past 256 the batch is left unread', async () => {
      const source = add(new Source('a', 1_000));
      await pool.fail(TOLD);
      expect(source.handedOut).toBe(4 + 255);
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

    it('fails a file with its code after a quarter of an hour in which it refused that file and served others', async () => {
      create(1);
      const source = add(new Source('a', 100));
      for (let minute = 0; minute < 15; minute++) {
        await pool.fail(TOLD, 'a/0');
        await clock.advance(62_000);
        // The file that waits goes first, another after it.
        expect(runningKeys()).toEqual(['a/0']);
      }
      expect(source.results).toEqual([]);
      await pool.fail(TOLD, 'a/0');
      await clock.advance(62_000);
      expect(source.results[0]).toMatchObject({
        position: 0,
        result: {
          success: false,
          error: { code: 'HTTP_429', message: expect.stringMatching(/; its host has put this file off for 1[56] minutes$/) },
        },
      });
      source.abort.abort();
      await settled();
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
      await clock.advance(66_000);
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
      for (const three of [pool.started.slice(2, 5), pool.started.slice(5, 8)])
        expect(three.map(({ jobId }) => jobId).toSorted()).toEqual(['a', 'b', 'c']);
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

  describe('a host that redirects lead to', () => {
    const TOLD_BY_TARGET = { ...TOLD, retryAfterHost: 'target.test' };
    const REFUSED_UNASKED = { code: 'SOURCE_PAUSED', retryable: true, retryAfterMs: 50_000, retryAfterHost: 'target.test' };

    it('is the one that is paused, not the one that led there', async () => {
      create(1);
      const source = add(new Source('a', 3, undefined, (position) => (position === 2 ? 'target.test' : 'a.test')));
      await pool.fail(TOLD_BY_TARGET, 'a/0');
      expect(runningKeys()).toEqual(['a/1']);
      await pool.succeed('a/1');
      await clock.advance(59_999);
      expect(runningKeys()).toEqual([]);
      await clock.advance(2_000);
      await pool.succeedAll();
      await clock.advance(1_000);
      await pool.succeedAll();
      expect(source.results.map(({ position }) => position)).toEqual([1, 0, 2]);
    });

    it('is told to tasks that start meanwhile, which wait for it without a charge when they are led there', async () => {
      create(1);
      const source = add(new Source('a', 2, undefined, () => 'a.test'));
      await pool.fail(TOLD_BY_TARGET, 'a/0');
      await clock.advance(10_000);
      expect(pool.running[0]?.pausedHosts).toEqual([{ host: 'target.test', forMs: clock.about(60_000) }]);
      await pool.fail(REFUSED_UNASKED, 'a/1');
      await clock.advance(49_000);
      expect([runningKeys(), Math.max(...source.pausedUntil) >= 60_000]).toEqual([[], true]);
      await clock.advance(10_000);
      await pool.succeed('a/0');
      for (let attempt = 1; attempt <= 3; attempt++) {
        await clock.advance(70_000);
        await pool.fail(TOLD_BY_TARGET, 'a/1');
      }
      expect(source.results).toMatchObject([{ position: 0 }]);
      await clock.advance(70_000);
    });

    it('is told no more when its pause is over', async () => {
      create(1);
      add(new Source('a', 2, undefined, () => 'a.test'));
      await pool.fail(TOLD_BY_TARGET, 'a/0');
      await clock.advance(62_000);
      await pool.succeed('a/1');
      expect(pool.running[0]).not.toHaveProperty('pausedHosts');
    });
  });

  describe('a host that only ever asks for patience', () => {
    /** The host refuses whoever asks, a minute each, for so long. */
    const refuseFor = async (minutes: number) => {
      for (let minute = 0; minute < minutes; minute++) {
        while (pool.running.length > 0) await pool.fail(TOLD);
        await clock.advance(62_000);
      }
    };

    it('fails what is in hand for it after a quarter of an hour, and nothing of other hosts', async () => {
      create(2);
      const source = add(new Source('a', 1_000));
      await refuseFor(15);
      expect(source.results.map(({ result }) => result)).not.toContainEqual(expect.objectContaining({ success: true }));
      expect(source.results.length).toBeLessThan(10);
      const other = add(new Source('b', 1, undefined, () => 'b.test'));
      while (pool.running.some(({ jobId }) => jobId === 'a')) await pool.fail(TOLD, '');
      await pool.succeed('b/0');
      await clock.advance(31_000);
      expect(source.results).toHaveLength(1_000);
      expect(source.results.at(-1)).toMatchObject({ result: { success: false, error: { code: 'SOURCE_REFUSES' } } });
      expect(metrics.total('tasks_total')).toBe(1_001);
      expect(other.results).toMatchObject([{ result: { success: true } }]);
      await clock.advance(62_000);
    });

    it('is asked for what comes later, and fails that with the next refusal', async () => {
      create(1);
      const source = add(new Source('a', 100));
      await refuseFor(15);
      const later = add(new Source('later', 100));
      await pool.fail(TOLD);
      // The first of the later ones had its share at once: it is asked for.
      expect([source.results.length, later.results.length, runningKeys()]).toEqual([100, 0, ['later/0']]);
      await clock.advance(62_000);
      await pool.fail(TOLD);
      await clock.advance(31_000);
      expect(later.results).toHaveLength(100);
    });

    it('has all its patience again once it has served one task, or said why not', async () => {
      for (const serve of [() => pool.succeed(), () => pool.fail({ code: 'HTTP_404', httpStatus: 404, retryable: false })]) {
        create(1);
        const source = add(new Source('a', 50));
        await refuseFor(14);
        await serve();
        const before = source.results.length;
        await refuseFor(14);
        expect(source.results.slice(before).filter(({ result }) => !result.success && result.error.code === 'SOURCE_REFUSES')).toEqual([]);
        source.abort.abort();
        await settled();
      }
    });

    it.each([
      { what: 'a download in progress', serve: async () => pool.progress(1_000) },
      { what: 'a source that was read', serve: async () => pool.read('long/0') },
    ])('is not given up while it serves: $what', async ({ serve }) => {
      create(2);
      const long = add(new Source('long', 1));
      const source = add(new Source('a', 100));
      for (let minute = 0; minute < 20; minute++) {
        while (runningKeys().some((key) => key.startsWith('a/')))
          await pool.fail(
            TOLD,
            runningKeys().find((key) => key.startsWith('a/')),
          );
        if (minute % 10 === 5) await serve();
        await clock.advance(62_000);
      }
      expect(source.results.filter(({ result }) => !result.success && result.error.code === 'SOURCE_REFUSES')).toEqual([]);
      for (const { abort } of [long, source]) abort.abort();
      await settled();
    });

    it('is not given up for what S3 does: a file that was read whole is service', async () => {
      create(1);
      const source = add(new Source('a', 100));
      for (let minute = 0; minute < 20; minute++) {
        await pool.fail(minute % 5 === 0 ? { code: 'UPLOAD_FAILED', retryable: true, bytesProcessed: 10 } : TOLD);
        await clock.advance(62_000);
      }
      expect(source.results.filter(({ result }) => !result.success && result.error.code === 'SOURCE_REFUSES')).toEqual([]);
      source.abort.abort();
      await settled();
    });

    it('fails nothing any more when a drain has begun', async () => {
      const source = add(new Source('a', 100));
      await refuseFor(15);
      dispatcher.pause();
      while (pool.running.length > 0) await pool.fail(TOLD);
      await clock.advance(31_000);
      expect(source.results.length).toBeLessThan(20);
      source.abort.abort();
      await settled();
    });
  });
});

describe('a host that opens between two looks at the clock', () => {
  // A task of another host ends just then: whatever it looks at and in which order, the paused task must start.
  it.each(Array.from({ length: 12 }, (_, looksBefore) => ({ looksBefore })))(
    'gets its task all the same (at look $looksBefore of what happens then)',
    async ({ looksBefore }) => {
      const clock = new RestlessClock();
      const { pool, add, logger } = aDispatcher(2, 32, clock);
      const source = add(new Source('a', 2, undefined, (position) => `${position}.test`));
      await pool.fail({ ...SLOW, retryAfterMs: 1_000, retryAfterHost: '0.test' }, 'a/0');
      clock.approach(looksBefore);
      await pool.succeed('a/1');
      await clock.advance(5);
      expect(pool.running.map(({ s3Key }) => s3Key)).toEqual(['a/0']);
      await pool.succeed('a/0');
      expect([source.results.length, clock.sleepers, logger.messages('error')]).toEqual([2, 0, []]);
    },
  );

  it.each(Array.from({ length: 12 }, (_, looksBefore) => ({ looksBefore })))(
    'gets its task all the same when a batch is taken away just then (at look $looksBefore)',
    async ({ looksBefore }) => {
      const clock = new RestlessClock();
      const { pool, add, logger } = aDispatcher(2, 32, clock);
      const source = add(new Source('a', 1));
      await pool.fail({ ...SLOW, retryAfterMs: 1_000, retryAfterHost: 'origin.test' }, 'a/0');
      const taken = add(new Source('b', 1));
      clock.approach(looksBefore);
      taken.abort.abort();
      await settled();
      await clock.advance(5);
      expect(pool.running.map(({ s3Key }) => s3Key)).toEqual(['a/0']);
      await pool.succeed('a/0');
      expect([source.results.length, clock.sleepers, logger.messages('error')]).toEqual([1, 0, []]);
    },
  );
});
