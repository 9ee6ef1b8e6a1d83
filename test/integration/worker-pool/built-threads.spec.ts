import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deferred } from '../../support/deferred.js';
import { RecordingMetrics } from '../../support/fakes/recording-metrics.js';
import { REFUSED_ANSWERS, WHOLE_ANSWERS, writeTo, type Wire } from '../../support/raw-answers.js';
import { chunk, head } from '../../support/raw-origin.js';
import { BUCKET, eventually, MIB, pattern, run, TransferBench } from './pool-support.js';

/** Threads run built JavaScript. */
const threadUrl = new URL('../../../dist/src/worker-pool/threads/worker-thread.js', import.meta.url);

describe('the built worker threads', () => {
  let bench: TransferBench;
  beforeEach(async () => {
    bench = await TransferBench.start();
  });
  afterEach(() => bench.close());

  it('transfer small and large files side by side, as many as they are given', async () => {
    const pool = await bench.pool({ pool: { size: 2, tasksPerWorker: 3 } }, { threadUrl });
    let open = 0;
    let peak = 0;
    const full = deferred();
    const bodies = Array.from({ length: 14 }, (_, index) => pattern(index === 0 ? 9 * MIB : index * 100));
    const tasks = bodies.map((bytes, index) =>
      bench.task(
        bench.origin.on(`/${index}`, (socket) => {
          peak = Math.max(peak, ++open);
          if (open === 14) full.resolve();
          socket.write(head(200, { 'content-length': String(bytes.length) }));
          void full.promise.then(() => socket.write(bytes, () => (open -= 1)));
        }),
      ),
    );
    for (const outcome of await Promise.all(tasks.map((task) => run(pool, task)))) expect(outcome).toMatchObject({ success: true });
    for (const [index, task] of tasks.entries()) expect((await bench.object(task)).equals(bodies[index] ?? Buffer.alloc(0))).toBe(true);
    expect(peak).toBe(14);
  });

  it('tell of progress, obey an abort, leave no upload and end when the pool stops', async () => {
    const pool = await bench.pool({ pool: { size: 1 } }, { threadUrl });
    const url = bench.origin.on('/drip', (socket) => {
      socket.write(head(200, { 'transfer-encoding': 'chunked' }));
      socket.write(chunk(pattern(9 * MIB)));
      const drip = setInterval(() => socket.write(chunk(pattern(16))), 50);
      socket.on('close', () => clearInterval(drip));
    });
    const abort = new AbortController();
    let progress = 0;
    const outcome = pool.run(bench.task(url), { signal: abort.signal, onProgress: (bytes) => (progress = bytes) });
    await eventually(() => progress > 9 * MIB && bench.operations().includes('UploadPart'));
    abort.abort();
    expect(await outcome).toMatchObject({ success: false, error: { code: 'ABORTED', retryable: true } });
    expect(bench.endpoint.openUploads(BUCKET)).toEqual([]);
    await pool.stop();
    await eventually(() => bench.origin.connections === 0);
  });

  it('abort one task while its neighbours in the thread go on, and tell of progress once a second at most', async () => {
    const pool = await bench.pool({ pool: { size: 1, tasksPerWorker: 3 } }, { threadUrl });
    const finish = deferred();
    const body = pattern(16);
    const drip = (path: string) =>
      bench.origin.on(path, (socket) => {
        socket.write(head(200, { 'transfer-encoding': 'chunked' }));
        const timer = setInterval(() => socket.write(chunk(body)), 20);
        socket.on('close', () => clearInterval(timer));
        const end = () => {
          clearInterval(timer);
          return socket.write('0\r\n\r\n');
        };
        void finish.promise.then(end);
      });
    const toldAt: number[] = [];
    const neighbours = [
      pool.run(bench.task(drip('/one')), { signal: new AbortController().signal, onProgress: () => toldAt.push(performance.now()) }),
      run(pool, bench.task(drip('/two'))),
    ];
    const abort = new AbortController();
    const aborted = pool.run(bench.task(drip('/aborted')), { signal: abort.signal });
    await eventually(() => toldAt.length > 0);
    abort.abort();
    expect(await aborted).toMatchObject({ success: false, error: { code: 'ABORTED' } });
    const before = toldAt.length;
    await eventually(() => toldAt.length >= before + 2);
    finish.resolve();
    for (const outcome of await Promise.all(neighbours)) expect(outcome).toMatchObject({ success: true });
    const seconds = ((toldAt.at(-1) ?? 0) - (toldAt[0] ?? 0)) / 1_000;
    // The messages cross threads: the first one may come late, and then the intervals look shorter
    // than they were.
    expect(toldAt.length - 1).toBeLessThanOrEqual(seconds + 1);
  });

  it('get through every answer that an origin may give, without losing a life', async () => {
    const metrics = new RecordingMetrics();
    const pool = await bench.pool({ pool: { size: 1 } }, { threadUrl, metrics });
    const at = (path: string, wire: Wire) => bench.task(bench.origin.on(path, (socket) => writeTo(socket, wire)));
    const refused = REFUSED_ANSWERS.map(([, wire, error], index) => ({ task: at(`/refused/${index}`, wire), error }));
    const whole = WHOLE_ANSWERS.map(([, wire, meant], index) => ({ task: at(`/whole/${index}`, wire), meant }));
    const outcomes = Promise.all(refused.map(({ task }) => run(pool, task)));
    for (const outcome of await Promise.all(whole.map(({ task }) => run(pool, task)))) expect(outcome).toMatchObject({ success: true });
    expect(await outcomes).toMatchObject(refused.map(({ error }) => ({ success: false, error })));
    for (const { task, meant } of whole) expect((await bench.object(task)).toString('latin1')).toBe(meant);
    expect((await bench.keys()).sort()).toEqual(whole.map(({ task }) => task.s3Key).sort());
    expect(metrics.total('worker_pool_restarts_total')).toBe(0);
  });
});
