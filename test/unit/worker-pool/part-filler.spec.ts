import { describe, expect, it } from '@jest/globals';
import { crc32 } from 'node:zlib';
import { MIN_PART_BYTES } from '../../../src/worker-pool/domain/part-plan.js';
import { MemoryBudget } from '../../../src/worker-pool/threads/memory-budget.js';
import { fillParts } from '../../../src/worker-pool/threads/part-filler.js';

async function* body(total: number, chunkBytes: number): AsyncGenerator<Buffer, void> {
  for (let sent = 0; sent < total; sent += chunkBytes) yield Buffer.alloc(Math.min(chunkBytes, total - sent), sent & 0xff);
}

async function parts(total: number, size: number | undefined, budget = new MemoryBudget(64 * MIN_PART_BYTES)) {
  const filled: { number: number; bytes: number; last: boolean }[] = [];
  for await (const part of fillParts(body(total, 1_000_003), { size, budget, crc32: true, signal: new AbortController().signal })) {
    filled.push({ number: part.number, bytes: part.bytes.length, last: part.last });
    part.release();
  }
  return filled;
}

const P = MIN_PART_BYTES;

describe('fillParts', () => {
  it.each([
    { total: 0, cut: [0] },
    { total: 5, cut: [5] },
    { total: P, cut: [P] },
    { total: P + 1, cut: [P, 1] },
    { total: 2 * P, cut: [P, P] },
    { total: 2 * P + 7, cut: [P, P, 7] },
  ])('cuts $total bytes into $cut, of known and of unknown length, and knows which is the last', async ({ total, cut }) => {
    const expected = cut.map((bytes, index) => ({ number: index + 1, bytes, last: index === cut.length - 1 }));
    expect(await parts(total, total)).toEqual(expected);
    expect(await parts(total, undefined)).toEqual(expected);
  });

  it('tells the CRC-32 of each part as its bytes came, where it is wanted', async () => {
    const budget = new MemoryBudget(64 * P);
    const options = { size: undefined, budget, signal: new AbortController().signal };
    for await (const part of fillParts(body(2 * P + 7, 1_000_003), { ...options, crc32: true })) expect(part.crc32).toBe(crc32(part.bytes));
    for await (const part of fillParts(body(5, 1), { ...options, crc32: false })) expect(part.crc32).toBeUndefined();
  });

  it('asks for no more memory than a file of known size has', async () => {
    const budget = new MemoryBudget(64 * P);
    const filling = fillParts(body(5, 1), { size: 5, budget, crc32: true, signal: new AbortController().signal });
    const part = await filling.next();
    expect(budget.heldBytes).toBe(5);
    part.value?.release();
  });

  it('gives its buffer back when the body fails', async () => {
    const budget = new MemoryBudget(64 * P);
    async function* failing(): AsyncGenerator<Buffer, void> {
      yield Buffer.alloc(10);
      throw new Error('cut');
    }
    const filling = fillParts(failing(), { size: undefined, budget, crc32: true, signal: new AbortController().signal });
    await expect(filling.next()).rejects.toThrow('cut');
    expect(budget.heldBytes).toBe(0);
  });

  it.each([
    {
      lie: 'that is more than the memory allows',
      size: 400e9,
      text: 'the file has 400,000,000,000 bytes, more than the 335,544,320,000 that TRANSFER_MEMORY_MB=64 allows: raise it to 77',
    },
    { lie: 'of 20 TB', size: 20e12, text: 'raise it to 3815' },
    { lie: 'over any object', size: 60e12, text: 'more than the 53,687,091,200,000 of an S3 object' },
  ])('refuses a length $lie before a byte is read or allocated, for good', async ({ size, text }) => {
    const budget = new MemoryBudget(8 * P);
    const unread = body(P, 1);
    const filling = fillParts(unread, { size, budget, crc32: true, signal: new AbortController().signal });
    await expect(filling.next()).rejects.toMatchObject({
      code: 'TOO_LARGE',
      disposition: 'reject',
      message: expect.stringContaining(text),
    });
    expect(budget.heldBytes).toBe(0);
    expect((await unread.next()).value?.[0]).toBe(0);
  });

  it('takes a file whose parts are just half of the memory', async () => {
    const budget = new MemoryBudget(8 * P);
    const filling = fillParts(body(5 * P, P), { size: 10_000 * 4 * P, budget, crc32: true, signal: new AbortController().signal });
    expect(await filling.next()).toMatchObject({ value: { number: 1, last: false } });
    expect(budget.heldBytes).toBe(4 * P);
  });
});
