import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aDispatcher, FakeTaskSource as Source } from '../../../support/dispatcher.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';

const REFUSED = { code: 'SOURCE_UNREACHABLE', message: 'the host cannot be reached (ECONNREFUSED)', retryable: true };
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

onEachClock('a host that refuses connections', (newClock) => {
  let { clock, logger, pool, dispatcher, add } = aDispatcher();
  beforeEach(() => {
    ({ clock, logger, pool, dispatcher, add } = aDispatcher(8, 8, newClock()));
  });
  afterEach(() => {
    expect(clock.sleepers).toBe(0);
    expect(logger.messages('error')).toEqual([]);
  });

  const refuseAll = async () => {
    while (pool.running.length > 0) await pool.fail(REFUSED);
  };

  /** Refuses every connection for so long, as a host does that restarts. */
  const refuseFor = async (ms: number) => {
    for (const end = clock.monotonicMs() + ms; clock.monotonicMs() < end; await clock.advance(250)) await refuseAll();
    await refuseAll();
  };
  const serveAll = async (source: Source, tasks: number) => {
    for (let turn = 0; turn < 240 && source.results.length < tasks; turn++) {
      await pool.succeedAll();
      await clock.advance(250);
    }
  };
  const codesOf = (source: Source) => source.results.map(({ result }) => (result.success ? 'succeeded' : result.error.code));

  it.each([1, 3, 200])('for four minutes fails none of its %d files, and is asked some hundred times at most', async (tasks) => {
    const source = add(new Source('a', tasks));
    await refuseFor(4 * MINUTE);
    expect(source.results).toEqual([]);
    expect(pool.started.length).toBeLessThan(100);
    expect(dispatcher.waitsForSources).toBe(true);
    await serveAll(source, tasks);
    expect(new Set(codesOf(source))).toEqual(new Set(['succeeded']));
    expect(source.results).toHaveLength(tasks);
  });

  it('for more than five minutes fails what is in hand for it', async () => {
    const source = add(new Source('a', 20));
    await refuseFor(6 * MINUTE);
    expect(codesOf(source)).toEqual(Array.from({ length: 20 }, () => 'SOURCE_SILENT'));
  });

  it('is served again within 16 s of its return', async () => {
    const source = add(new Source('a', 20));
    await refuseFor(MINUTE);
    await serveAll(source, 1);
    const back = clock.monotonicMs();
    await serveAll(source, 20);
    expect(clock.monotonicMs() - back).toBeLessThan(16 * SECOND);
  });

  it('does not keep other hosts waiting', async () => {
    const gone = add(new Source('gone', 50, undefined, () => 'gone.test'));
    await refuseFor(5 * SECOND);
    const other = add(new Source('other', 50, undefined, () => 'other.test'));
    for (let turn = 0; turn < 50 && other.results.length < 50; turn++)
      for (const { url, s3Key } of pool.running) await (url.includes('other') ? pool.succeed(s3Key) : pool.fail(REFUSED, s3Key));
    expect(other.results).toHaveLength(50);
    gone.abort.abort();
    await settled();
  });
});

describe('a host that cannot be reached', () => {
  it('does not count a file that was left alone as an answer of its host', async () => {
    const { clock, pool, add } = aDispatcher(4);
    const source = add(new Source('a', 10));
    const stored = add(new Source('b', 10_000));
    for (let second = 0; second < 240; second++) {
      for (const { s3Key } of pool.running) await (s3Key.startsWith('a/') ? pool.fail(REFUSED, s3Key) : pool.leaveAlone(s3Key));
      await clock.advance(1_000);
    }
    expect(source.results).toEqual([]);
    for (const { abort } of [source, stored]) abort.abort();
    await settled();
  });

  it('charges no file for it that its host had asked for patience before', async () => {
    const { clock, pool, add } = aDispatcher(2);
    const source = add(new Source('a', 2));
    await pool.fail({ code: 'HTTP_429', httpStatus: 429, retryable: true, retryAfterMs: 1_000, retryAfterHost: 'origin.test' }, 'a/0');
    await clock.advance(500);
    await pool.succeed('a/1');
    await clock.advance(5_000);
    for (let second = 0; second < 120; second++) {
      if (pool.running.length > 0) await pool.fail(REFUSED);
      await clock.advance(1_000);
    }
    expect(source.results).toHaveLength(1);
    source.abort.abort();
    await settled();
  });

  it('behind a redirect is the one that is waited for, and not the host that led there', async () => {
    const { clock, logger, pool, add } = aDispatcher(8);
    const gone = add(new Source('gone', 6));
    for (let second = 0; second < 30; second++) {
      while (pool.running.length > 0) await pool.fail({ ...REFUSED, failedHost: 'target.test' });
      await clock.advance(1_000);
    }
    const other = add(new Source('other', 8));
    while (pool.running.some(({ s3Key }) => s3Key.startsWith('other/'))) await pool.succeed('/' + String(other.results.length));
    expect([gone.results.length, other.results.length]).toEqual([0, 8]);
    expect(logger.events.find(({ fields }) => fields['code'] === 'SOURCE_UNREACHABLE')?.fields).toMatchObject({ host: 'target.test' });
    gone.abort.abort();
    await settled();
  });
});

describe('two ports of a name', () => {
  it('are two hosts: what is good is fetched, and what is refused is waited for', async () => {
    const { clock, pool, add } = aDispatcher(8);
    const source = add(new Source('a', 60, undefined, (position) => (position < 50 ? 'origin.test:8081' : 'origin.test:8080')));
    for (let second = 0; second < 60; second++) {
      for (const { url, s3Key } of pool.running) await (url.includes(':8081') ? pool.fail(REFUSED, s3Key) : pool.succeed(s3Key));
      await clock.advance(1_000);
    }
    expect(source.results.map(({ position }) => position).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 10 }, (_, index) => 50 + index),
    );
    source.abort.abort();
    await settled();
  });
});

describe('a host that answers others', () => {
  it('is not to blame for the one file whose connections are refused: it fails after its four tries, and one that its host was pardoned', async () => {
    const { clock, pool, add } = aDispatcher(2);
    const source = add(new Source('a', 400));
    let refused = 0;
    for (let turn = 0; turn < 2_000 && source.results.length < 400; turn++) {
      const others = pool.running.filter(({ s3Key }) => s3Key !== 'a/0');
      for (const { s3Key } of others) await pool.succeed(s3Key);
      if (pool.running.some(({ s3Key }) => s3Key === 'a/0')) {
        await pool.fail(REFUSED, 'a/0');
        refused++;
      }
      await clock.advance(500);
    }
    expect(refused).toBe(5);
    expect(source.results.find(({ position }) => position === 0)?.result).toMatchObject({ error: { code: 'SOURCE_UNREACHABLE' } });
  });
});
