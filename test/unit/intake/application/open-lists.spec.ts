import { beforeEach, describe, expect, it } from '@jest/globals';
import { OpenLists } from '../../../../src/intake/application/open-lists.js';
import { deferred } from '../../../support/deferred.js';
import { FakeClock, settled } from '../../../support/fake-clock.js';

const never = new AbortController().signal;
let clock: FakeClock;
let lists: OpenLists;

beforeEach(() => {
  clock = new FakeClock();
  lists = new OpenLists(4, clock);
});

/** Waits, unless there is room; `outcome` tells what came of it. */
function enter(host: string, { signal = never, leave = (_place: number) => Promise.resolve(false) } = {}) {
  const entry: { outcome?: boolean | 'interrupted' } = {};
  void lists.enter(host, signal, leave).then(
    (entered) => (entry.outcome = entered),
    () => (entry.outcome = 'interrupted'),
  );
  return entry;
}

describe('the lists that are open', () => {
  it('Half for one host: its lists leave room for those of others', async () => {
    const slow = Array.from({ length: 5 }, () => enter('slow.test'));
    const other = enter('other.test');
    await settled();
    expect(slow.map(({ outcome }) => outcome)).toEqual([true, true, undefined, undefined, undefined]);
    expect(other.outcome).toBe(true);
    expect(lists.waiting).toBe(3);
  });

  it('are no more than the limit in all; who waits is let in by age, as far as its host has room', async () => {
    for (const host of ['a', 'a', 'b', 'b']) enter(host);
    const [a, c, b] = [enter('a'), enter('c'), enter('b')];
    lists.exit('b');
    await settled();
    expect([a.outcome, c.outcome, b.outcome]).toEqual([undefined, true, undefined]);
    lists.exit('b');
    await settled();
    expect([a.outcome, b.outcome]).toEqual([undefined, true]);
    lists.exit('a');
    await settled();
    expect(a.outcome).toBe(true);
    expect(clock.sleepers).toBe(0);
  });

  it('may be one, of whichever host, when that is the limit', async () => {
    lists = new OpenLists(1, clock);
    const [first, second] = [enter('a'), enter('b')];
    await settled();
    expect([first.outcome, second.outcome]).toEqual([true, undefined]);
    lists.exit('a');
    await settled();
    expect(second.outcome).toBe(true);
  });
});

describe('a list that waits to be opened', () => {
  beforeEach(() => {
    for (const host of ['a', 'a', 'b', 'b']) enter(host);
  });

  it('asks after 5 s, and every 5 s from then on, whether its job may leave for elsewhere', async () => {
    const asked: number[] = [];
    const leave = async () => asked.push(clock.monotonicMs()) === 3;
    const waiting = enter('a', { leave });
    await clock.advance(60_000);
    expect(asked).toEqual([5_000, 10_000, 15_000]);
    expect(waiting.outcome).toBe(false);
    expect(lists.waiting).toBe(0);
    expect(clock.sleepers).toBe(0);
  });

  it('The eldest keep their places: it tells its own, so that only those behind many leave', async () => {
    const places: number[][] = [[], []];
    const leave = (mine: number[] | undefined) => async (place: number) => {
      mine?.push(place);
      return false;
    };
    enter('a', { leave: leave(places[0]) });
    enter('b', { leave: leave(places[1]) });
    await clock.advance(5_000);
    lists.exit('a');
    await clock.advance(5_000);
    expect(places).toEqual([[1], [2, 1]]);
  });

  it('gives its room on when it is let in while its job is leaving', async () => {
    const leaving = deferred();
    const first = enter('a', { leave: () => leaving.promise.then(() => true) });
    const second = enter('a');
    await clock.advance(5_000);
    lists.exit('a');
    leaving.resolve();
    await settled();
    expect([first.outcome, second.outcome]).toEqual([false, true]);
  });

  it('leaves the line when it is interrupted, and opens nothing that was interrupted before', async () => {
    const interrupt = new AbortController();
    const waiting = enter('a', { signal: interrupt.signal });
    await clock.advance(1_000);
    interrupt.abort();
    await settled();
    expect(waiting.outcome).toBe('interrupted');
    expect([lists.waiting, clock.sleepers]).toEqual([0, 0]);
    lists.exit('a');
    const late = enter('a', { signal: interrupt.signal });
    await settled();
    expect(late.outcome).toBe('interrupted');
  });
});
