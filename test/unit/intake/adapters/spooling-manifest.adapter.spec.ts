import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SpoolingManifestAdapter } from '../../../../src/intake/adapters/spooling-manifest.adapter.js';
import { ExpansionTurns } from '../../../../src/intake/application/expansion-turns.js';
import type { ManifestReading } from '../../../../src/intake/application/manifest.port.js';
import { SystemClock, type Clock } from '../../../../src/shared/index.js';
import type { OpenSourceOptions } from '../../../../src/worker-pool/index.js';
import { aRequest } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { UnsharedTurn } from '../../../support/fakes/fake-intake-ports.js';
import { eventually } from '../../../support/local-aws.js';

type Open = (options: OpenSourceOptions) => Promise<Readable>;

const request = aRequest({ source: { kind: 'manifest', uri: 'https://host.test/list', trusted: false } });
const silent = () => new Readable({ read: () => undefined });

describe('a manifest that is spooled', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'spooling-spec-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** From a source that opens as the test says. */
  function spool(open: Open, { timeoutMs = 60_000, ...reading }: Partial<ManifestReading> & { timeoutMs?: number } = {}) {
    return spoolWith(anAdapter(open, { timeoutMs }), reading);
  }

  function anAdapter(
    open: Open,
    { timeoutMs = 60_000, maxSpoolBytes = 2 ** 30, clock }: { timeoutMs?: number; maxSpoolBytes?: number; clock?: Clock } = {},
  ) {
    const sources = { openSource: async (_url: string, options: OpenSourceOptions) => ({ body: await open(options) }) };
    const s3 = new S3Client({ region: 'eu-west-1' });
    return new SpoolingManifestAdapter(
      sources,
      s3,
      { exportBucket: 'exports', folder, timeoutMs, maxSpoolBytes },
      clock ?? new SystemClock(),
    );
  }

  function spoolWith(adapter: SpoolingManifestAdapter, reading: Partial<ManifestReading> = {}) {
    const unshared = { signal: new AbortController().signal, turn: new UnsharedTurn(), onProgress: () => undefined };
    return adapter.spool(request, { ...unshared, ...reading });
  }

  const expectNoFiles = async () => expect(await readdir(folder)).toEqual([]);

  it('is refused after the time a file may take when it drips for ever, and leaves no file', async () => {
    async function* dripping() {
      for (let line = 0; ; line++) {
        yield Buffer.from(`{"url":"https://host/${line}.pdf"}\n`);
        await sleep(5);
      }
    }
    const reading = spool(async () => Readable.from(dripping()), { timeoutMs: 50 });
    await expect(reading).rejects.toMatchObject({ code: 'MANIFEST_TIMEOUT', disposition: 'reject' });
    await expectNoFiles();
  });

  it('Its source’s time alone counts: it is read to its end although it stood in line for longer', async () => {
    const clock = new FakeClock();
    class LateTurn extends UnsharedTurn {
      override async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
        const waited = await super.whileWaiting(wait);
        await clock.advance(3_600_000);
        return waited;
      }
    }
    const adapter = anAdapter(async () => Readable.from([Buffer.from('https://host/a.pdf\n')]), { clock });
    const spooled = await spoolWith(adapter, { turn: new LateTurn() });
    expect([spooled.totalTasks, clock.sleepers]).toEqual([1, 0]);
    await spooled.dispose();
  });

  it('Waits for room on the disk without a place, and goes on once another list was disposed of', async () => {
    // 20 MB: more than what each list may have beside the budget.
    const text = Array.from({ length: 20_000 }, (_, line) => `https://host/${line}.pdf?${'q'.repeat(1_000)}\n`).join('');
    const adapter = anAdapter(async () => Readable.from([Buffer.from(text)]), { maxSpoolBytes: 1 });
    const first = await spoolWith(adapter);
    let lines = 0;
    class CountingTurn extends UnsharedTurn {
      override whileInLine<T>(wait: () => Promise<T>): Promise<T> {
        lines++;
        return super.whileInLine(wait);
      }
    }
    let isRead = false;
    const second = spoolWith(adapter, { turn: new CountingTurn() }).finally(() => (isRead = true));
    await eventually(() => lines === 1);
    await sleep(50);
    expect(isRead).toBe(false);
    await first.dispose();
    const spooled = await second;
    expect([spooled.totalTasks, lines]).toEqual([20_000, 1]);
    await spooled.dispose();
    await expectNoFiles();
  });

  it('holds a file once that the list has twice, and says so', async () => {
    const spooled = await spool(async () => Readable.from([Buffer.from('https://host/a\nhttps://host/b\nhttps://host/a\n')]));
    const keys: string[] = [];
    for await (const { key } of spooled.tasks()) keys.push(key);
    expect([spooled.totalTasks, spooled.repeatedTasks, keys]).toEqual([2, 1, ['a', 'b']]);
    await spooled.dispose();
  });

  it('that the disk has no space for says where, and what helps, and may be tried again', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    await expect(spool(() => Promise.reject(full))).rejects.toMatchObject({
      code: 'SPOOL_FULL',
      disposition: 'retry',
      message: expect.stringContaining(`no space left in ${folder} `) as unknown,
    });
    await expectNoFiles();
  });

  it('holds tasks as they went in, whatever their strings hold, until it is disposed of', async () => {
    const tasks = [
      { url: 'https://host/a\u2028b.pdf', key: 'a\u2028b\u2029c.pdf' },
      { url: 'https://host/ä.pdf', key: 'ä\u2029.pdf', size: 12 },
    ];
    const manifest = tasks.map((task) => `${JSON.stringify(task)}\r\n`).join('');
    const spooled = await spool(async () => Readable.from([Buffer.from(manifest)]));
    expect(spooled.totalTasks).toBe(2);
    await expect(Readable.from(spooled.tasks()).toArray()).resolves.toEqual(tasks);
    await spooled.dispose();
    await expectNoFiles();
  });

  it.each<[what: string, open: Open]>([
    ['says nothing', async () => silent()],
    [
      'has begun and says nothing more',
      async () => {
        const body = silent();
        body.push('https://host/a.pdf\n'.repeat(10_000).replaceAll(/a\.pdf/g, () => `${Math.random()}.pdf`));
        return body;
      },
    ],
    [
      'asked for patience',
      ({ signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })),
    ],
  ])('Aborted in any wait: ends at once when its source %s, and leaves neither a file nor its connection', async (_what, open) => {
    const abort = new AbortController();
    const bodies: Readable[] = [];
    const opening = deferred();
    const reading = spool(
      async (options) => {
        opening.resolve();
        const body = await open(options);
        bodies.push(body);
        return body;
      },
      { signal: abort.signal },
    );
    await opening.promise;
    await sleep(20);
    abort.abort();
    await expect(reading).rejects.toThrow();
    expect(bodies.every(({ destroyed }) => destroyed)).toBe(true);
    await expectNoFiles();
  });

  it('Waits without a place: another list is read to its end while its source opens, and while it drips', async () => {
    const turns = new ExpansionTurns(1);
    const never = new AbortController().signal;
    const line = { whileInLine: <T>(wait: Promise<T>) => wait };
    const read = (open: Open) => turns.run(never, line, (turn) => spool(open, { turn }));
    const opened = deferred();
    const body = silent();
    const slow = read(async () => {
      await opened.promise;
      return body;
    });
    const quick = async () => {
      const spooled = await read(async () => Readable.from([Buffer.from('https://host/a.pdf\n')]));
      await spooled.dispose();
      return spooled.totalTasks;
    };
    await expect(quick()).resolves.toBe(1);
    opened.resolve();
    // Over 64 KiB: what the format is sniffed from has been read, and the next chunk is waited for.
    for (let line = 0; line < 3_000; line++) body.push(`https://host.test/a/file/${line}.pdf\n`);
    await eventually(() => body.readableLength === 0);
    await expect(quick()).resolves.toBe(1);
    body.push(null);
    const spooled = await slow;
    expect(spooled.totalTasks).toBe(3_000);
    await spooled.dispose();
  });

  it('tells its progress with each piece that comes, however far it is from a whole list', async () => {
    let pieces = 0;
    const body = silent();
    const reading = spool(async () => body, { onProgress: () => pieces++ });
    for (let piece = 1; piece <= 3; piece++) {
      body.push(`https://host/${piece}.pdf\n`);
      await eventually(() => pieces === piece);
    }
    body.push(null);
    await (await reading).dispose();
  });
});
