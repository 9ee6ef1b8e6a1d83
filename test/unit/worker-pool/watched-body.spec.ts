import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { watchedBody } from '../../../src/worker-pool/adapters/watched-body.js';

const signal = new AbortController().signal;
const silent = () => new Readable({ read: () => undefined });

it('A body that sends nothing while it is read fails, and lets its connection go', async () => {
  const source = silent();
  const reading = watchedBody(source, { signal, stallTimeoutMs: 20 }).toArray();
  await expect(reading).rejects.toMatchObject({ code: 'SOURCE_STALLED', disposition: 'retry' });
  expect(source.destroyed).toBe(true);
});

it('A body that is shorter than it said fails', async () => {
  const reading = watchedBody(Readable.from([Buffer.from('abc')]), { size: 4, signal }).toArray();
  await expect(reading).rejects.toMatchObject({ code: 'SIZE_MISMATCH', disposition: 'retry' });
});

it('A body that nobody reads is whole, however long that lasts', async () => {
  const chunk = Buffer.alloc(65_536);
  const body = watchedBody(Readable.from(Array.from({ length: 10 }, () => chunk)), { signal, stallTimeoutMs: 5 });
  let bytes = 0;
  for await (const some of body) {
    bytes += (some as Buffer).length;
    await sleep(15);
  }
  expect(bytes).toBe(10 * chunk.length);
});
