import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { MIN_PART_BYTES } from '../../../src/worker-pool/domain/part-plan.js';
import { MemoryBudget } from '../../../src/worker-pool/threads/memory-budget.js';
import { BEGINNING_BYTES, fillParts } from '../../../src/worker-pool/threads/part-filler.js';

async function* body(total: number, chunkBytes: number): AsyncGenerator<Buffer, void> {
  for (let sent = 0; sent < total; sent += chunkBytes) yield Buffer.alloc(Math.min(chunkBytes, total - sent), sent & 0xff);
}

async function parts(total: number, size: number | undefined, budget = new MemoryBudget(64 * MIN_PART_BYTES)) {
  const filled: { number: number; bytes: number; last: boolean }[] = [];
  for await (const part of fillParts(body(total, 1_000_003), {
    size,
    jobId: JOB,
    budget,
    crc32: true,
    signal: new AbortController().signal,
  })) {
    filled.push({ number: part.number, bytes: part.bytes.length, last: part.last });
    part.release();
  }
  return filled;
}

const P = MIN_PART_BYTES;
const B = BEGINNING_BYTES;
const JOB = 'job';

describe('fillParts', () => {
  it.each([
    { total: 0, cut: [0] },
    { total: 5, cut: [5] },
    { total: B, cut: [B] },
    { total: B + 1, cut: [B + 1] },
    { total: P, cut: [P] },
    { total: P + 1, cut: [P, 1] },
    { total: 2 * P, cut: [P, P] },
    { total: 2 * P + 7, cut: [P, P, 7] },
    { total: 2 * P + B + 1, cut: [P, P, B + 1] },
  ])('cuts $total bytes into $cut, of known and of unknown length, and knows which is the last', async ({ total, cut }) => {
    const expected = cut.map((bytes, index) => ({ number: index + 1, bytes, last: index === cut.length - 1 }));
    expect(await parts(total, total)).toEqual(expected);
    expect(await parts(total, undefined)).toEqual(expected);
  });

  it('tells the CRC-32 of each part as its bytes came, where it is wanted', async () => {
    const budget = new MemoryBudget(64 * P);
    const options = { size: undefined, jobId: JOB, budget, signal: new AbortController().signal };
    for await (const part of fillParts(body(2 * P + 7, 1_000_003), { ...options, crc32: true })) expect(part.crc32).toBe(crc32(part.bytes));
    for await (const part of fillParts(body(5, 1), { ...options, crc32: false })) expect(part.crc32).toBeUndefined();
  });

  it('keeps every byte in its place, however the body is cut into chunks', async () => {
    const whole = randomBytes(2 * P + B + 77);
    for (const chunkBytes of [1_000, 65_536, B - 1, B, B + 1, P, P + 1]) {
      async function* chunks(): AsyncGenerator<Buffer, void> {
        for (let from = 0; from < whole.length; from += chunkBytes) yield whole.subarray(from, from + chunkBytes);
      }
      const options = { size: undefined, jobId: JOB, budget: new MemoryBudget(8 * P), crc32: true, signal: new AbortController().signal };
      const bytes: Buffer[] = [];
      for await (const part of fillParts(chunks(), options)) bytes.push(part.bytes);
      expect(Buffer.concat(bytes).equals(whole)).toBe(true);
    }
  });

  it('keeps every byte in its place in parts that are smaller than what they begin in', async () => {
    const whole = randomBytes(100);
    async function* chunks(): AsyncGenerator<Buffer, void> {
      yield whole;
    }
    const options = { size: undefined, jobId: JOB, budget: new MemoryBudget(2 * 10), crc32: true, signal: new AbortController().signal };
    const bytes: Buffer[] = [];
    for await (const part of fillParts(chunks(), options)) bytes.push(part.bytes);
    expect(bytes).toHaveLength(10);
    expect(Buffer.concat(bytes).equals(whole)).toBe(true);
  });

  it.each([{ size: B }, { size: 5 }, { size: undefined }])(
    'begins without any memory of the budget, which a body of size $size that is small does not wait for',
    async ({ size }) => {
      const budget = new MemoryBudget(2 * P);
      const signal = new AbortController().signal;
      for (const jobId of ['a', 'a', 'b']) await budget.take(P, jobId, signal);
      const held = budget.heldBytes;
      const filling = fillParts(body(size ?? B, 100), { size, jobId: JOB, budget, crc32: true, signal });
      const { value: part } = await filling.next();
      expect(part).toMatchObject({ number: 1, last: true });
      expect(part?.bytes.buffer.byteLength).toBe(size ?? B);
      expect(budget.heldBytes).toBe(held);
    },
  );

  it.each([10 * P, undefined])('takes memory for a part when more has come than it begins in, of a body of %p bytes', async (size) => {
    const budget = new MemoryBudget(8 * P);
    const heldAtByte = new Map<number, number>();
    async function* watched(): AsyncGenerator<Buffer, void> {
      for (let sent = 0; sent < 2 * P; sent += B / 2) {
        heldAtByte.set(sent, budget.heldBytes);
        yield Buffer.alloc(B / 2);
      }
    }
    const filling = fillParts(watched(), { size, jobId: JOB, budget, crc32: true, signal: new AbortController().signal });
    await filling.next();
    const second = filling.next();
    expect(await second).toMatchObject({ value: { number: 2 } });
    const held = (byte: number) => heldAtByte.get(byte);
    expect([held(0), held(B / 2), held(B), held(B + B / 2), held(P)]).toEqual([0, 0, 0, P, P]);
    // The first part is still held: the second begins anew.
    expect([held(P + B / 2), held(P + B), held(P + B + B / 2)]).toEqual([P, P, 2 * P]);
  });

  it('takes memory for what a file of known size has, and no more', async () => {
    const budget = new MemoryBudget(64 * P);
    const options = { size: B + 5, jobId: JOB, budget, crc32: true, signal: new AbortController().signal };
    const { value: part } = await fillParts(body(B + 5, 1_000), options).next();
    expect(budget.heldBytes).toBe(B + 5);
    part?.release();
    expect(budget.heldBytes).toBe(0);
  });

  it('gives its buffer back when the body fails', async () => {
    const budget = new MemoryBudget(64 * P);
    async function* failing(): AsyncGenerator<Buffer, void> {
      yield Buffer.alloc(B);
      yield Buffer.alloc(1);
      expect(budget.heldBytes).toBe(P);
      throw new Error('cut');
    }
    const filling = fillParts(failing(), { size: undefined, jobId: JOB, budget, crc32: true, signal: new AbortController().signal });
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
    const filling = fillParts(unread, { size, jobId: JOB, budget, crc32: true, signal: new AbortController().signal });
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
    const options = { size: 10_000 * 4 * P, jobId: JOB, budget, crc32: true, signal: new AbortController().signal };
    const filling = fillParts(body(5 * P, P), options);
    expect(await filling.next()).toMatchObject({ value: { number: 1, last: false } });
    expect(budget.heldBytes).toBe(4 * P);
  });
});
