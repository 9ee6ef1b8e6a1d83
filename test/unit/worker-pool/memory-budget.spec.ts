import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { MemoryBudget } from '../../../src/worker-pool/threads/memory-budget.js';

const live = () => new AbortController().signal;
const JOB = 'job';

describe('MemoryBudget', () => {
  it('grants a job up to its total and no further, first come, first served', async () => {
    const budget = new MemoryBudget(10);
    const granted: string[] = [];
    const take = async (name: string, bytes: number) => {
      const { release } = await budget.take(bytes, JOB, live());
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
    await expect(budget.take(11, JOB, live())).rejects.toThrow('more than all 10');
    expect(budget.heldBytes).toBe(0);
  });

  it('takes bytes back once', async () => {
    const budget = new MemoryBudget(10);
    const { release } = await budget.take(5, JOB, live());
    await budget.take(5, JOB, live());
    release();
    release();
    expect(budget.heldBytes).toBe(5);
  });

  it('lets whoever is aborted go, and those behind him pass', async () => {
    const budget = new MemoryBudget(10);
    await budget.take(5, JOB, live());
    const abort = new AbortController();
    const large = budget.take(10, JOB, abort.signal);
    const small = budget.take(5, JOB, live());
    abort.abort(new Error('no longer'));
    await expect(large).rejects.toThrow('no longer');
    await small;
    expect(budget.heldBytes).toBe(10);
    await expect(budget.take(1, JOB, abort.signal)).rejects.toThrow('no longer');
  });

  describe('among jobs', () => {
    /** Who was granted what, in order; each release by its name. */
    function lines(budget: MemoryBudget) {
      const granted: string[] = [];
      const releases = new Map<string, () => void>();
      const take = (name: string, bytes: number, signal = live()) =>
        void (async () => {
          const { release } = await budget.take(bytes, name.charAt(0), signal);
          granted.push(name);
          releases.set(name, release);
        })().catch(() => {});
      const release = async (...names: string[]) => {
        for (const name of names) releases.get(name)?.();
        await setImmediate();
      };
      return { granted, take, release };
    }

    it('serves the one that holds least first, however many of another came before', async () => {
      const { granted, take, release } = lines(new MemoryBudget(8));
      for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'a5', 'a6', 'b2', 'b3']) take(name, 2);
      await setImmediate();
      expect(granted.splice(0)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
      // a5 had the turn before b came.
      await release('a1', 'a2');
      expect(granted.splice(0)).toEqual(['a5', 'b2']);
      await release('a3', 'a4');
      expect(granted.splice(0)).toEqual(['b3', 'a6']);
    });

    it('keeps the turn for a large part, however many small ones come after it', async () => {
      const { granted, take, release } = lines(new MemoryBudget(8));
      for (const name of ['a1', 'a2', 'b1']) take(name, 2);
      for (const name of ['c1', 'd1']) take(name, 1);
      take('b-large', 4);
      take('c2', 1);
      await setImmediate();
      await release('a1');
      expect(granted.splice(0)).toEqual(['a1', 'a2', 'b1', 'c1', 'd1']);
      await release('a2');
      expect(granted).toEqual(['b-large']);
    });

    it('has a quarter more for jobs that hold nothing, one buffer each', async () => {
      const budget = new MemoryBudget(8);
      const { granted, take, release } = lines(budget);
      for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) take(name, 2);
      for (const name of ['b1', 'b2', 'c1', 'd1']) take(name, 1);
      await setImmediate();
      expect(granted.splice(0)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'c1']);
      expect(budget.heldBytes).toBe(10);
      await release('b1');
      // Longer in line than d.
      expect(granted.splice(0)).toEqual(['b2']);
      await release('c1');
      expect(granted.splice(0)).toEqual(['d1']);
      expect(budget.heldBytes).toBe(10);
    });

    it('lets jobs that hold the same take turns', async () => {
      const { granted, take, release } = lines(new MemoryBudget(8));
      take('a1', 8);
      for (const name of ['b1', 'b2', 'b3', 'c1', 'c2']) take(name, 2);
      await setImmediate();
      expect(granted.splice(0)).toEqual(['a1', 'b1']);
      await release('b1');
      await release('c1');
      await release('b2');
      await release('c2');
      expect(granted).toEqual(['c1', 'b2', 'c2', 'b3']);
    });

    it('lets no jobs that come and go pass one that waits', async () => {
      const { granted, take, release } = lines(new MemoryBudget(8));
      take('a1', 6);
      take('x1', 2);
      take('x2', 2);
      for (const name of ['y1', 'z1']) take(name, 2);
      await setImmediate();
      await release('x1');
      for (let round = 2; round < 20 && !granted.includes('x2'); round++) {
        await release(`y${round - 1}`, `z${round - 1}`);
        for (const name of ['y', 'z']) take(`${name}${round}`, 2);
        await setImmediate();
      }
      expect(granted.length).toBeLessThan(8);
      expect(granted).toContain('x2');
    });

    it('lends a buffer larger than that alone', async () => {
      const budget = new MemoryBudget(8);
      const { granted, take, release } = lines(budget);
      for (const name of ['a1', 'a2', 'a3', 'a4']) take(name, 2);
      take('b-large', 4);
      take('c1', 1);
      await setImmediate();
      expect(granted.splice(0)).toEqual(['a1', 'a2', 'a3', 'a4', 'b-large']);
      expect(budget.heldBytes).toBe(12);
      take('d-large', 4);
      await release('b-large');
      expect(granted.splice(0)).toEqual(['c1']);
      await release('c1');
      expect(granted).toEqual(['d-large']);
    });

    it('does not count what was lent as memory of all, nor lends the same twice', async () => {
      const budget = new MemoryBudget(8);
      const { granted, take, release } = lines(budget);
      for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'a5']) take(name, 2);
      await setImmediate();
      await release('a1');
      expect(granted.splice(0)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'a5']);
      for (const name of ['a6', 'c1']) take(name, 2);
      await release('b1');
      expect(granted).toEqual(['c1']);
      await release('c1');
      take('d1', 2);
      await setImmediate();
      expect(granted).toEqual(['c1', 'd1']);
      expect(budget.heldBytes).toBe(10);
    });

    it('tells how many wait, and nothing where nobody does', async () => {
      const told: number[] = [];
      const abort = new AbortController();
      const { take, release } = lines(new MemoryBudget(8, (tasks) => told.push(tasks)));
      for (const name of ['a1', 'a2', 'b1']) take(name, 4);
      await setImmediate();
      expect(told).toEqual([]);
      take('a3', 4);
      take('a4', 4, abort.signal);
      expect(told.splice(0)).toEqual([1, 2]);
      abort.abort();
      expect(told.splice(0)).toEqual([1]);
      await release('a1');
      expect(told).toEqual([0]);
    });

    it('gives every job what it asks for, whoever holds and asks what', async () => {
      const budget = new MemoryBudget(16);
      let random = 7;
      const upTo = (most: number) => {
        random = (random * 48_271) % 2_147_483_647;
        return 1 + (random % most);
      };
      /** As a body does: it asks for the next part while those before it are sent. */
      const body = async (jobId: string) => {
        const sending: Promise<void>[] = [];
        for (let part = 0; part < 20; part++) {
          const { release } = await budget.take(upTo(8), jobId, live());
          expect(budget.heldBytes).toBeLessThanOrEqual(24);
          const turns = upTo(5);
          sending.push(
            (async () => {
              for (let turn = 0; turn < turns; turn++) await setImmediate();
              release();
            })(),
          );
        }
        await Promise.all(sending);
      };
      await Promise.all(Array.from({ length: 30 }, (_, index) => body(`job ${index % 7}`)));
      expect(budget.heldBytes).toBe(0);
    });
  });

  describe('buffers that are used again', () => {
    const PART = 2 * 1024 * 1024;

    it('gives a large buffer of a size to the next who takes that size, while others are held', async () => {
      const budget = new MemoryBudget(4 * PART);
      await budget.take(1, JOB, live());
      const first = await budget.take(PART, JOB, live());
      first.release('reuse');
      expect(budget.spareBytes).toBe(PART);
      expect((await budget.take(PART, JOB, live())).bytes).toBe(first.bytes);
      expect(budget.spareBytes).toBe(0);
    });

    it('never gives one that may still be read, nor the same one twice', async () => {
      const budget = new MemoryBudget(4 * PART);
      await budget.take(1, JOB, live());
      const failed = await budget.take(PART, JOB, live());
      failed.release();
      failed.release('reuse');
      const next = await budget.take(PART, JOB, live());
      expect(next.bytes).not.toBe(failed.bytes);
      next.release('reuse');
      next.release('reuse');
      const [a, b] = [await budget.take(PART, JOB, live()), await budget.take(PART, JOB, live())];
      expect(a.bytes).not.toBe(b.bytes);
    });

    it('keeps within the total with all that wait for their next use', async () => {
      const budget = new MemoryBudget(4 * PART);
      const held = [PART, PART, PART].map((bytes) => budget.take(bytes, JOB, live()));
      for (const { release } of (await Promise.all(held)).slice(1)) release('reuse');
      await budget.take(2.5 * PART, JOB, live());
      expect(budget.heldBytes + budget.spareBytes).toBeLessThanOrEqual(4 * PART);
    });

    it('keeps none beside what is lent, and lets those go that would be too many', async () => {
      const budget = new MemoryBudget(4 * PART);
      const take = (bytes: number, jobId: string) => budget.take(bytes, jobId, live());
      await take(2.75 * PART, 'a');
      (await take(PART, 'a')).release('reuse');
      const lent = take(1.5 * PART, 'b');
      expect((await lent).bytes.length).toBe(1.5 * PART);
      expect(budget.heldBytes + budget.spareBytes).toBe(4.25 * PART);
    });

    it('lets all go when nothing is held any more, and keeps no small ones', async () => {
      const budget = new MemoryBudget(4 * PART);
      const large = await budget.take(PART, JOB, live());
      const small = await budget.take(1_000, JOB, live());
      small.release('reuse');
      expect(budget.spareBytes).toBe(0);
      large.release('reuse');
      expect(budget.spareBytes).toBe(0);
    });
  });
});
