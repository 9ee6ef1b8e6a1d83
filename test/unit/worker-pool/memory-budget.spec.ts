import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { MemoryBudget } from '../../../src/worker-pool/threads/memory-budget.js';

const live = () => new AbortController().signal;

describe('MemoryBudget', () => {
  it('grants up to its total and no further, first come, first served', async () => {
    const budget = new MemoryBudget(10);
    const granted: string[] = [];
    const take = async (name: string, bytes: number) => {
      const release = await budget.take(bytes, live());
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
    const release = await budget.take(5, live());
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
});
