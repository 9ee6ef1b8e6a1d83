import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import type { PoolManagerService, TaskOutcome, TransferTask } from '../../../src/worker-pool/index.js';
import { CHUNKED, REFUSED_ANSWERS, sized, under, WHOLE_ANSWERS, writeTo, type Wire } from '../../support/raw-answers.js';
import { head } from '../../support/raw-origin.js';
import { BUCKET, eventually, run, TransferBench } from './pool-support.js';

/*
 * Every answer here is what an origin wrote on the wire, and what must become of it: the object that it meant, or a failure and no object.
 * Whatever it was, the next file from the same origin comes.
 */
describe('an answer on the wire', () => {
  let bench: TransferBench;
  let pool: PoolManagerService;

  beforeAll(async () => {
    bench = await TransferBench.start();
    pool = await bench.pool();
  });
  afterAll(async () => {
    const left = bench.endpoint.openUploads(BUCKET);
    await bench.close();
    expect(left).toEqual([]);
  });

  const answered = (wire: Wire) => bench.origin.on('/raw', (socket) => writeTo(socket, wire));

  async function expectObject(task: TransferTask, outcome: TaskOutcome, meant: string): Promise<void> {
    expect(outcome).toMatchObject({ success: true, bytesProcessed: meant.length });
    expect((await bench.object(task)).toString('latin1')).toBe(meant);
  }

  async function expectFailure(task: TransferTask, outcome: TaskOutcome, error: object): Promise<void> {
    expect(outcome).toMatchObject({ success: false, error });
    expect(await bench.keys()).not.toContain(task.s3Key);
  }

  async function expectNextToCome(): Promise<void> {
    const next = bench.task(bench.origin.file('/next', Buffer.from('next')));
    await expectObject(next, await run(pool, next), 'next');
  }

  it.each(WHOLE_ANSWERS)('that %s is the object', async (_name, wire, meant) => {
    const task = bench.task(answered(wire));
    await expectObject(task, await run(pool, task), meant);
    await expectNextToCome();
  });

  it.each(REFUSED_ANSWERS)('that %s is a failure and no object', async (_name, wire, error) => {
    const task = bench.task(answered(wire));
    await expectFailure(task, await run(pool, task), error);
    await expectNextToCome();
  });

  it('that is in another transfer coding is refused even where the task knows the size, and let go', async () => {
    const task = bench.task(answered(under('gzip', '3\r\nhel\r\n0\r\n\r\n')), { size: 3 });
    await expectFailure(task, await run(pool, task), { code: 'TRANSFER_CODING', retryable: false });
    await eventually(() => bench.origin.connections <= 1);
  });

  describe('that is cut', () => {
    it.each([
      { framing: 'with a length', text: sized(5), head: sized(5, '') },
      { framing: 'in chunks', text: `${CHUNKED}2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nx-sum: 3\r\n\r\n`, head: CHUNKED },
    ])('$framing after any of its bytes, by an end or a reset, is a failure that may pass and no object', async ({ text, head: start }) => {
      const cuts = Array.from({ length: text.length }, (_, at) => [at, 'end'] as const);
      const all = [...cuts, ...cuts.map(([at]) => [at, 'resetAndDestroy'] as const)];
      const outcomes = all.map(async ([at, how]) => {
        const url = bench.origin.on(`/${how}/${at}`, (socket) => {
          if (at === 0) socket[how]();
          else socket.write(text.slice(0, at), 'latin1', () => socket[how]());
        });
        const task = bench.task(url);
        return { at, how, task, outcome: await run(pool, task) };
      });
      for (const { at, how, outcome } of await Promise.all(outcomes)) {
        const code = at >= start.length && start !== CHUNKED ? 'SIZE_MISMATCH' : 'SOURCE_CONNECTION';
        expect({ at, how, outcome }).toMatchObject({ at, how, outcome: { success: false, error: { code, retryable: true } } });
      }
      const keys = await bench.keys();
      for (const { task } of await Promise.all(outcomes)) expect(keys).not.toContain(task.s3Key);
      await expectNextToCome();
    });

    it('before it began is asked for three times at once, and is then worth another try', async () => {
      const url = bench.origin.on('/reset', (socket) => void socket.resetAndDestroy());
      const task = bench.task(url);
      await expectFailure(task, await run(pool, task), { code: 'SOURCE_CONNECTION', retryable: true });
      expect(bench.origin.requests.filter(({ path }) => path === '/reset')).toHaveLength(3);
    });
  });

  it.each([
    { framing: 'with a length', text: sized(5) },
    { framing: 'in chunks', text: `${CHUNKED}2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nx-sum: 3\r\n\r\n` },
  ])('that comes byte by byte, $framing, is the object', async ({ text }) => {
    const url = bench.origin.on('/bytes', (socket) => {
      void (async () => {
        for (const byte of text) {
          socket.write(byte, 'latin1');
          await setImmediate();
        }
      })();
    });
    const task = bench.task(url);
    await expectObject(task, await run(pool, task), 'hello');
  });

  it('ends where its length says: what comes after is no answer to the next request', async () => {
    const one = await bench.pool({ pool: { maxConnectionsPerHost: 1 } });
    const surplus = answered(sized(5) + sized(5, 'wrong'));
    const tasks = [bench.task(surplus), bench.task(bench.origin.file('/world', Buffer.from('world')))];
    const outcomes = await Promise.all(tasks.map((task) => run(one, task)));
    for (const [index, meant] of ['hello', 'world'].entries())
      await expectObject(tasks[index] as TransferTask, outcomes[index] as TaskOutcome, meant);
  });

  it('is stored without what S3 could not take of its headers, and with what it can', async () => {
    const headers = { 'content-length': '3', 'content-type': 'text/plain; name="\u00c3\u00bc"', 'content-encoding': 'gzip, aws-chunked' };
    const task = bench.task(answered(`${head(200, headers)}hel`));
    await expectObject(task, await run(pool, task), 'hel');
    const { ContentType, ContentEncoding } = await bench.head(task);
    expect(ContentType ?? '').not.toContain('name');
    expect(ContentEncoding).toBe('gzip');
  });

  it('leads to a path in raw UTF-8, byte by byte', async () => {
    bench.origin.file('/%C3%BC.pdf', Buffer.from('hello'));
    const task = bench.task(answered(head(302, { location: '/\u00c3\u00bc.pdf', 'content-length': '0' })));
    await expectObject(task, await run(pool, task), 'hello');
  });
});
