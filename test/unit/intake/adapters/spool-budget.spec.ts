import { beforeEach, describe, expect, it } from '@jest/globals';
import { SpoolBudget, type SpoolShare } from '../../../../src/intake/adapters/spool-budget.js';
import { settled } from '../../../support/fake-clock.js';

const FREE = 10;
const never = new AbortController().signal;
let budget: SpoolBudget;

beforeEach(() => {
  budget = new SpoolBudget(100, FREE);
});

/** Grows, and waits for room if it must; `hasRoom` tells whether it has it. */
function grow(share: SpoolShare, bytes: number, signal = never) {
  const growth = { hasRoom: true };
  const room = share.grow(bytes);
  if (room === undefined) return growth;
  growth.hasRoom = false;
  void room(signal).then(() => (growth.hasRoom = !signal.aborted));
  return growth;
}

describe('the budget of spooled bytes', () => {
  it('Small lists never wait, however full it is', () => {
    expect(grow(budget.share(), 1_000).hasRoom).toBe(true);
    for (let list = 0; list < 100; list++) expect(grow(budget.share(), FREE).hasRoom).toBe(true);
    expect(grow(budget.share(), FREE + 1).hasRoom).toBe(false);
  });

  it('The eldest long list never waits: lists that fill it together come to their ends one after the other', async () => {
    const shares = [1, 2, 3, 4].map(() => budget.share());
    for (const share of shares) expect(grow(share, FREE + 25).hasRoom).toBe(true);
    const more = shares.map((share) => grow(share, 50));
    expect(more.map(({ hasRoom }) => hasRoom)).toEqual([true, false, false, false]);
    for (const [index, share] of shares.entries()) {
      share.release();
      await settled();
      expect(more[index + 1]?.hasRoom ?? true).toBe(true);
    }
    expect(grow(budget.share(), FREE + 100).hasRoom).toBe(true);
  });

  it('lets those in line go on as far as there is room', async () => {
    const [eldest, second, long, short] = [budget.share(), budget.share(), budget.share(), budget.share()];
    grow(eldest, FREE + 50);
    grow(second, FREE + 50);
    const [waitsLong, waitsShort] = [grow(long, FREE + 80), grow(short, FREE + 30)];
    second.release();
    await settled();
    expect([waitsLong.hasRoom, waitsShort.hasRoom]).toEqual([false, true]);
    eldest.release();
    await settled();
    // It is the eldest now.
    expect(waitsLong.hasRoom).toBe(true);
  });

  it('gives nothing to whoever was interrupted while it waited', async () => {
    const [eldest, other] = [budget.share(), budget.share()];
    grow(eldest, FREE + 100);
    const interrupt = new AbortController();
    const waiting = grow(other, FREE + 100, interrupt.signal);
    interrupt.abort();
    await settled();
    expect(waiting.hasRoom).toBe(false);
    eldest.release();
    other.release();
    const [first, second] = [budget.share(), budget.share()];
    grow(first, FREE + 1);
    expect(grow(second, FREE + 99).hasRoom).toBe(true);
  });
});
