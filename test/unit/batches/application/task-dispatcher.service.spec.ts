import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { aDispatcher, FakeTaskSource as Source, SLOW } from '../../../support/dispatcher.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';

const asked = (retryAfterMs: number) => ({ retryAfterMs, retryAfterHost: 'origin.test' });
const MISMATCH = { code: 'CHECKSUM_MISMATCH', retryable: true };

onEachClock('the dispatcher', (newClock) => {
  let { clock, logger, metrics, pool, signs, dispatcher, add } = aDispatcher();
  const create = (places: number) => {
    ({ clock, logger, metrics, pool, signs, dispatcher, add } = aDispatcher(places, undefined, newClock()));
  };
  beforeEach(() => create(4));
  afterEach(async () => {
    await pool.succeedAll();
    expect(clock.sleepers).toBe(0);
    expect(logger.messages('error')).toEqual([]);
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

    it('are shared fairly: a small job has its share at once, beside a huge one that holds every place', async () => {
      add(new Source('huge', 100));
      const small = add(new Source('small', 6));
      expect(pool.running.map(({ jobId }) => jobId)).toEqual(['huge', 'huge', 'huge', 'huge', 'small', 'small']);
      await pool.succeed('huge/0');
      await pool.succeed('huge/1');
      expect(pool.running.map(({ jobId }) => jobId).toSorted()).toEqual(['huge', 'huge', 'small', 'small']);
      await pool.succeedAll();
      expect(small.results).toHaveLength(6);
    });

    it('are held by no job beyond its share for longer than its files take: long ones do not crowd out short ones', async () => {
      add(new Source('long', 100));
      const short = add(new Source('short', 40));
      for (let turn = 0; turn < 40; turn++) await pool.succeed(runningKeys().find((key) => key.startsWith('short')));
      expect(short.results).toHaveLength(40);
    });

    it('are not held by tasks whose source is silent, until it is heard again', async () => {
      create(2);
      add(new Source('a', 10));
      expect(runningKeys()).toEqual(['a/0', 'a/1']);
      await pool.silent('a/0');
      await pool.silent('a/1');
      expect(runningKeys()).toEqual(['a/0', 'a/1', 'a/2', 'a/3']);
      await pool.heard('a/0');
      await pool.succeed('a/2');
      expect(runningKeys()).toEqual(['a/0', 'a/1', 'a/3']);
      await pool.succeed('a/0');
      expect(runningKeys()).toEqual(['a/1', 'a/3', 'a/4']);
    });

    it('are given to a new job although the sources of another answer nothing', async () => {
      create(2);
      add(new Source('hung', 1_000));
      for (let task = 0; task < 300; task++) {
        if (!runningKeys().includes(`hung/${task}`)) break;
        await pool.silent(`hung/${task}`);
      }
      // Eight are silent, and one more has just been asked.
      expect(runningKeys()).toHaveLength(9);
      add(new Source('new', 2));
      expect(runningKeys()).toEqual(expect.arrayContaining(['new/0', 'new/1']));
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

    it('are held by no task that waits out the shortest backoff that there is', async () => {
      const random = jest.spyOn(Math, 'random').mockReturnValue(0);
      try {
        create(1);
        add(new Source('a', 3));
        await pool.fail(SLOW);
        expect(runningKeys()).toEqual(['a/1']);
        await backoff();
        await pool.succeedAll();
      } finally {
        random.mockRestore();
      }
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
      await pool.fail({ ...SLOW, ...asked(120_000) });
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
    expect([...source.inHand]).toEqual([[0, 1_000]]);
  });

  describe('bytes_total', () => {
    const total = () => metrics.total('bytes_total');

    it('grows while files arrive, and counts none of their bytes twice', async () => {
      add(new Source('a', 2));
      pool.progress(4);
      expect(total()).toBe(8);
      pool.progress(9);
      await pool.succeed();
      await pool.succeed();
      expect(total()).toBe(20);
    });

    it('counts what has arrived, also of tries that came to nothing, and goes on with the next byte', async () => {
      const lost = add(new Source('a', 1));
      pool.progress(6);
      await pool.fail({ ...SLOW, bytesProcessed: 6 });
      expect(lost.inHand.size).toBe(0);
      await clock.advance(1_000);
      pool.progress(4);
      expect(total()).toBe(10);
      lost.abort.abort();
      await settled();
      add(new Source('a', 1));
      pool.progress(8);
      expect(total()).toBe(18);
      await pool.succeed();
      expect(total()).toBe(20);
    });
  });

  describe('signs of work', () => {
    const signedAt = () => signs.last?.at;

    it('are given by progress and by ends, and by nothing else', async () => {
      add(new Source('a', 6));
      await clock.advance(10_000);
      expect(signedAt()).toBeUndefined();
      pool.progress(1);
      expect(signs.last).toEqual({ at: clock.about(10_000), atIso: '2026-01-01T00:00:10.000Z' });
      await clock.advance(10_000);
      await pool.succeed();
      expect(signedAt()).toEqual(clock.about(20_000));
      await clock.advance(10_000);
      await pool.fail({ code: 'HTTP_404', retryable: false });
      expect(signedAt()).toEqual(clock.about(30_000));
      await clock.advance(60_000);
      expect([signedAt(), dispatcher.runningTasks]).toEqual([clock.about(30_000), 4]);
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
      await pool.fail({ ...SLOW, ...asked(600_000) });
      await clock.advance(599_999);
      expect(dispatcher.waitsForSources).toBe(true);
      await clock.advance(1_001);
      expect([dispatcher.waitsForSources, dispatcher.runningTasks]).toEqual([false, 1]);
    });

    it('are missed when the wait is for threads that are all lost', async () => {
      add(new Source('a', 1));
      await pool.fail({ ...SLOW, ...asked(600_000) });
      pool.capacity = 0;
      expect(dispatcher.waitsForSources).toBe(false);
      pool.capacity = 1;
      await clock.advance(601_000);
    });

    it('end with the wait of a task that is aborted', async () => {
      const source = add(new Source('a', 1));
      await pool.fail({ ...SLOW, ...asked(600_000) });
      source.abort.abort();
      await settled();
      expect(dispatcher.waitsForSources).toBe(false);
    });
  });

  describe('a file that is not ready', () => {
    const NOT_READY = { code: 'HTTP_202', httpStatus: 202, retryable: true, retryAfterMs: 60_000 };

    it('waits alone for as long as its source says, without a charge', async () => {
      create(1);
      const source = add(new Source('a', 2));
      for (let time = 0; time < 8; time++) {
        await pool.fail(NOT_READY, 'a/0');
        if (time === 0) await pool.succeed('a/1');
        expect(pool.running).toEqual([]);
        expect(source.pausedUntil.at(-1)).toBeGreaterThanOrEqual(60_000);
        await clock.advance(60_000);
      }
      await pool.succeed('a/0');
      expect(source.results.map(({ result }) => result.success)).toEqual([true, true]);
    });

    it('fails with its code after a quarter of an hour', async () => {
      const source = add(new Source('a', 1));
      for (let minute = 0; minute < 15; minute++) {
        await pool.fail(NOT_READY);
        await clock.advance(60_001);
      }
      expect(source.results).toEqual([]);
      await pool.fail(NOT_READY);
      expect(source.results).toMatchObject([{ result: { error: { code: 'HTTP_202' } } }]);
    });
  });

  describe('a destination that refuses', () => {
    const REFUSED = { code: 'DESTINATION_REFUSED', message: 's3:PutObject on exports', retryable: false, bytesProcessed: 10 };

    it('is told as an error with the first file, gets one file at a time from then on, and ends the job with the fifth', async () => {
      const source = add(new Source('a', 100));
      const later = add(new Source('a', 100));
      // Four were under way together: they tell of one moment, be it that a policy was just changed.
      for (let task = 0; task < 4; task++) {
        await clock.advance(10);
        await pool.fail(REFUSED);
      }
      for (const pauseMs of [1_000, 2_000, 4_000, 8_000]) {
        expect(source.destinationRefusals).toEqual([]);
        await clock.advance(pauseMs - 100);
        expect(pool.running).toEqual([]);
        await clock.advance(110);
        expect(pool.running).toHaveLength(1);
        await pool.fail(REFUSED);
      }
      expect([source, later].map(({ destinationRefusals }) => destinationRefusals.length > 0)).toEqual([true, true]);
      expect(logger.events.filter(({ level }) => level === 'error')).toMatchObject([
        { fields: { jobId: 'a', bucket: 'exports', reason: 's3:PutObject on exports' } },
      ]);
      logger.events.length = 0;
      for (const { abort } of [source, later]) abort.abort();
      await settled();
    });

    it('costs no file when it takes them after all within seconds, as with a role that S3 does not know yet everywhere', async () => {
      const source = add(new Source('a', 20));
      for (let task = 0; task < 4; task++) await pool.fail(REFUSED);
      await clock.advance(1_010);
      await pool.fail(REFUSED);
      await clock.advance(2_010);
      await pool.succeedAll();
      expect(source.results.filter(({ result }) => result.success)).toHaveLength(20);
      logger.events.length = 0;
    });

    it('fails what it refuses once it has taken another file', async () => {
      const source = add(new Source('a', 4));
      await pool.fail(REFUSED, 'a/0');
      await pool.succeed('a/1');
      await pool.fail(REFUSED, 'a/0');
      await pool.succeedAll();
      expect(source.results.find(({ position }) => position === 0)?.result).toMatchObject({ error: { code: 'DESTINATION_REFUSED' } });
      expect(source.results).toHaveLength(4);
      logger.events.length = 0;
    });

    it('does not keep another job waiting', async () => {
      const refused = add(new Source('a', 100));
      await pool.fail(REFUSED);
      const other = add(new Source('b', 2));
      await pool.succeed('b/0');
      await pool.succeed('b/1');
      expect(other.results).toHaveLength(2);
      logger.events.length = 0;
      refused.abort.abort();
      await settled();
    });

    it.each(['in this process', 'before'])(
      'does not end the job with a prefix of twenty files when others were stored %s',
      async (when) => {
        const source = new Source('a', 100);
        source.hasStored = when === 'before';
        add(source);
        if (when === 'in this process') await pool.succeed();
        for (let task = 0; task < 20; task++) {
          await clock.advance(8_010);
          await pool.fail(REFUSED);
        }
        await clock.advance(8_010);
        await pool.succeedAll();
        expect(source.destinationRefusals).toEqual([]);
        expect(source.results).toHaveLength(100);
        logger.events.length = 0;
      },
    );
  });

  describe('failed tries', () => {
    it('are counted one by one, and the first of a kind for a job and host is told with what comes next', async () => {
      add(new Source('a', 4));
      await pool.fail({ code: 'HEADERS_TIMEOUT', retryable: true }, 'a/0');
      await pool.fail({ code: 'HEADERS_TIMEOUT', retryable: true }, 'a/1');
      await pool.fail({ code: 'HTTP_404', httpStatus: 404, retryable: false }, 'a/2');
      await pool.succeed('a/3');
      expect(
        logger.events.filter(({ level }) => level === 'warn').map(({ fields }) => [fields['code'], fields['host'], fields['next']]),
      ).toEqual([
        ['HEADERS_TIMEOUT', 'origin.test', expect.stringContaining('tried again after')],
        ['HTTP_404', 'origin.test', 'the file is recorded as failed'],
      ]);
      expect(metrics.increments.filter(({ name }) => name === 'task_tries_total').map(({ labels }) => labels)).toEqual([
        { outcome: 'failed', code: 'HEADERS_TIMEOUT' },
        { outcome: 'failed', code: 'HEADERS_TIMEOUT' },
        { outcome: 'failed', code: 'HTTP_404' },
        { outcome: 'succeeded', code: '' },
      ]);
      await backoff();
    });

    it('are told again of the next run of the job', async () => {
      for (const run of [1, 2]) {
        const source = new Source('a', 1);
        source.run = run;
        add(source);
        await pool.fail({ code: 'HTTP_404', httpStatus: 404, retryable: false });
      }
      expect(logger.messages('warn')).toHaveLength(2);
    });

    it('of a host that answers nobody are told as such', async () => {
      add(new Source('a', 4));
      for (let task = 0; task < 4; task++) await pool.fail({ code: 'HEADERS_TIMEOUT', retryable: true });
      expect(logger.events.at(-1)?.fields).toMatchObject({ host: 'origin.test', next: expect.stringContaining('answers nobody') });
      await backoff();
      await clock.advance(60_000);
    });
  });

  describe('a host that answers again after a silence', () => {
    const silence = async () => {
      for (let turn = 0; turn < 8; turn++) {
        while (pool.running.length > 0) await pool.fail({ code: 'HEADERS_TIMEOUT', retryable: true });
        await clock.advance(15_010);
      }
    };

    it.each([
      ['its first bytes', async () => pool.progress(10)],
      ['the head of its answer', () => pool.heard()],
    ])('gets all of its connections at once with %s', async (_what, answer) => {
      create(8);
      const source = add(new Source('a', 200));
      await silence();
      expect(pool.running).toHaveLength(1);
      await answer();
      await settled();
      expect(pool.running).toHaveLength(8);
      source.abort.abort();
      await settled();
    });
  });

  describe('a host that is given up', () => {
    it('is told once for each job, with what fails', async () => {
      add(new Source('a', 20));
      add(new Source('b', 20));
      for (let turn = 0; turn < 24; turn++) {
        while (pool.running.length > 0) await pool.fail({ code: 'CONNECT_TIMEOUT', retryable: true });
        await clock.advance(15_010);
      }
      const told = logger.events.filter(({ message }) => message.includes('given up'));
      expect(new Set(told.map(({ fields }) => fields['jobId']))).toEqual(new Set(['a', 'b']));
      expect(told[0]).toMatchObject({ level: 'warn', fields: { host: 'origin.test', code: 'SOURCE_SILENT' } });
      expect(told).toHaveLength(2);
    });
  });

  describe('a job waits', () => {
    it('while none of its tasks runs because of a host or a backoff, and not while one runs', async () => {
      add(new Source('a', 2));
      expect(dispatcher.isWaiting('a')).toBe(false);
      await pool.fail({ ...SLOW, ...asked(60_000) });
      expect(dispatcher.isWaiting('a')).toBe(false);
      await pool.fail({ ...SLOW, ...asked(60_000) });
      expect(dispatcher.isWaiting('a')).toBe(true);
      await clock.advance(70_000);
      expect(dispatcher.isWaiting('a')).toBe(false);
      expect(dispatcher.isWaiting('unknown')).toBe(false);
    });
  });

  describe('the watchdog', () => {
    it('says as an error that tasks wait although they could run, and lets them run', async () => {
      create(0);
      add(new Source('a', 2));
      await clock.advance(30_000);
      expect(logger.messages('error')).toEqual([]);
      // Threads came back and nobody was told: nothing else would start the tasks.
      pool.capacity = 2;
      await clock.advance(10_000);
      expect(runningKeys()).toEqual(['a/0', 'a/1']);
      expect(logger.events.filter(({ level }) => level === 'error')).toMatchObject([{ fields: { started: 2 } }]);
      logger.events.length = 0;
    });
  });
});
