import { describe, expect, it } from '@jest/globals';
import { ExpansionTurns, type ExpansionTurn } from '../../../../src/intake/application/expansion-turns.js';
import { deferred } from '../../../support/deferred.js';
import { settled } from '../../../support/fake-clock.js';

const never = new AbortController().signal;

/** Counts who stands in line. */
class CountingLine {
  length = 0;

  async whileInLine<T>(wait: Promise<T>): Promise<T> {
    this.length++;
    return wait.finally(() => this.length--);
  }
}

/** Expansions that note what they work on. */
function aPlace(places = 1) {
  const turns = new ExpansionTurns(places);
  const line = new CountingLine();
  const worked: string[] = [];
  const run = (work: (turn: ExpansionTurn) => Promise<unknown>, signal = never) => turns.run(signal, line, work);
  const units = (name: string, count: number) =>
    run(async (turn) => {
      for (let unit = 1; unit <= count; unit++) {
        worked.push(`${name}${unit}`);
        await turn.yield();
      }
    });
  return { run, units, worked, line };
}

describe('a place to work on lists', () => {
  it('is given back while its list waits for the source, and taken again before the work goes on', async () => {
    const { run, units, worked } = aPlace();
    const [source, other] = [deferred(), deferred()];
    const slow = run(async (turn) => {
      await turn.whileWaiting(() => source.promise);
      worked.push('slow');
    });
    await units('quick', 2);
    expect(worked).toEqual(['quick1', 'quick2']);
    const busy = run(() => other.promise);
    source.resolve();
    await settled();
    expect(worked).not.toContain('slow');
    other.resolve();
    await Promise.all([slow, busy]);
    expect(worked).toContain('slow');
  });

  it('goes to those in line after each unit: a small list is done after as many units of a huge one as it has itself', async () => {
    const { units, worked } = aPlace();
    const huge = units('huge', 1_000);
    await units('small', 3);
    expect(worked.slice(0, 6)).toEqual(['huge1', 'small1', 'huge2', 'small2', 'huge3', 'small3']);
    await huge;
  });

  it('is shared in the order of the line among more lists than places', async () => {
    const { units, worked } = aPlace(2);
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => units(name, 3)));
    for (const round of [0, 5, 10]) expect(worked.slice(round, round + 5).map((unit) => unit[0])).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('is free again after work that failed, and after a wait that failed', async () => {
    const { run } = aPlace();
    await expect(run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    await expect(run((turn) => turn.whileWaiting(() => Promise.reject(new Error('cut'))))).rejects.toThrow('cut');
    await expect(run(() => Promise.resolve('next'))).resolves.toBe('next');
  });

  it('is not given to work that was interrupted in line, whether it had begun or not', async () => {
    const { run, line } = aPlace();
    const [source, other] = [deferred(), deferred()];
    const interrupt = new AbortController();
    const begun = run((turn) => turn.whileWaiting(() => source.promise), interrupt.signal);
    const busy = run(() => other.promise);
    const unbegun = run(() => Promise.reject(new Error('it was run')), interrupt.signal);
    source.resolve();
    await settled();
    expect(line.length).toBe(2);
    interrupt.abort();
    await expect(begun).rejects.toMatchObject({ code: 'EXPANSION_INTERRUPTED', disposition: 'yield' });
    await expect(unbegun).rejects.toMatchObject({ code: 'EXPANSION_INTERRUPTED', disposition: 'yield' });
    expect(line.length).toBe(0);
    other.resolve();
    await busy;
    await expect(run(() => Promise.resolve('free'))).resolves.toBe('free');
  });

  it('is held once by a list whose parser reads ahead, and is free when the list ends amid a wait', async () => {
    const { run, units, worked } = aPlace();
    const waits = [deferred(), deferred(), deferred()];
    const busy = deferred();
    await run(async (turn) => {
      const first = turn.whileWaiting(() => waits[0]?.promise ?? Promise.resolve());
      const other = run(() => busy.promise);
      waits[0]?.resolve();
      await settled();
      const second = turn.whileWaiting(() => waits[1]?.promise ?? Promise.resolve());
      busy.resolve();
      await Promise.all([first, other]);
      waits[1]?.resolve();
      await second;
      void turn.whileWaiting(() => waits[2]?.promise ?? Promise.resolve()).catch(() => undefined);
    });
    waits[2]?.resolve();
    await settled();
    await units('next', 1);
    expect(worked).toEqual(['next1']);
  });
});
