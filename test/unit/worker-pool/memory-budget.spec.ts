import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { MemoryBudget } from '../../../src/worker-pool/threads/memory-budget.js';

const live = () => new AbortController().signal;

describe('MemoryBudget', () => {
  it('grants up to its total and no further, first come, first served', async () => {
    const budget = new MemoryBudget(10);
    const granted: string[] = [];
    const take = async (name: string, bytes: number) => {
      const { release } = await budget.take(bytes, live());
      granted.push(name);
      return release;
    };
    const a = await take('a', 6);
    const waiting = [take('b', 6), take('c', 1), take('d', 9)];
    await setImmediate();
    expect(granted).toEqual(['a']);
    a();
    await Promise.all(waiting.slice(0, 2));
    expect(granted).toEqual(['a', 'b', 'c']);
    expect(budget.heldBytes).toBe(7);
    for (const release of await Promise.all(waiting.slice(0, 2))) release();
    (await waiting[2])?.();
    expect(budget.heldBytes).toBe(0);
  });

  it('grants nothing that is more than its total', async () => {
    const budget = new MemoryBudget(10);
    await expect(budget.take(11, live())).rejects.toThrow('more than all 10');
    expect(budget.heldBytes).toBe(0);
  });

  it('takes bytes back once', async () => {
    const budget = new MemoryBudget(10);
    const { release } = await budget.take(5, live());
    await budget.take(5, live());
    release();
    release();
    expect(budget.heldBytes).toBe(5);
  });

  it('lets whoever is aborted go, and those behind him pass', async () => {
    const budget = new MemoryBudget(10);
    await budget.take(5, live());
    const abort = new AbortController();
    const large = budget.take(10, abort.signal);
    const small = budget.take(5, live());
    abort.abort(new Error('no longer'));
    await expect(large).rejects.toThrow('no longer');
    await small;
    expect(budget.heldBytes).toBe(10);
    await expect(budget.take(1, abort.signal)).rejects.toThrow('no longer');
  });

  describe('buffers that are used again', () => {
    const PART = 2 * 1024 * 1024;

    it('gives a large buffer of a size to the next who takes that size, while others are held', async () => {
      const budget = new MemoryBudget(4 * PART);
      await budget.take(1, live());
      const first = await budget.take(PART, live());
      first.release('reuse');
      expect(budget.spareBytes).toBe(PART);
      expect((await budget.take(PART, live())).bytes).toBe(first.bytes);
      expect(budget.spareBytes).toBe(0);
    });

    it('never gives one that may still be read, nor the same one twice', async () => {
      const budget = new MemoryBudget(4 * PART);
      await budget.take(1, live());
      const failed = await budget.take(PART, live());
      failed.release();
      failed.release('reuse');
      const next = await budget.take(PART, live());
      expect(next.bytes).not.toBe(failed.bytes);
      next.release('reuse');
      next.release('reuse');
      const [a, b] = [await budget.take(PART, live()), await budget.take(PART, live())];
      expect(a.bytes).not.toBe(b.bytes);
    });

    it('keeps within the total with all that wait for their next use', async () => {
      const budget = new MemoryBudget(4 * PART);
      const held = [PART, PART, PART].map((bytes) => budget.take(bytes, live()));
      for (const { release } of (await Promise.all(held)).slice(1)) release('reuse');
      await budget.take(2.5 * PART, live());
      expect(budget.heldBytes + budget.spareBytes).toBeLessThanOrEqual(4 * PART);
    });

    it('lets all go when nothing is held any more, and keeps no small ones', async () => {
      const budget = new MemoryBudget(4 * PART);
      const large = await budget.take(PART, live());
      const small = await budget.take(1_000, live());
      small.release('reuse');
      expect(budget.spareBytes).toBe(0);
      large.release('reuse');
      expect(budget.spareBytes).toBe(0);
    });
  });
});
