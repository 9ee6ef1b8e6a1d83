import { beforeEach, expect, it } from '@jest/globals';
import { AppError, StoreError } from '../../../../src/shared/index.js';
import { aJob, aJobWithoutPlan, aPlan, aRequest, anOutcome } from '../../../support/builders.js';
import { anIntake } from '../../../support/intake.js';
import { onEachClock } from '../../../support/each-clock.js';
import { deferred } from '../../../support/deferred.js';
import { settled } from '../../../support/fake-clock.js';
import { eventually } from '../../../support/local-aws.js';

let i: ReturnType<typeof anIntake>;
const running = new AbortController().signal;

beforeEach(() => {
  i = anIntake();
  i.jobs.put(aJobWithoutPlan());
  i.manifest.totalTasks = 12;
});

const stays = () => Promise.resolve(false);
const expand = (signal = running) => i.expandJob.expand(aRequest(), signal, stays);
const job = () => i.jobs.get('job-1');

onEachClock('ExpandJobUseCase', () => {
  it('writes segments, totals, rows and messages in that order, and starts downloading', async () => {
    await expand();
    expect(job()).toMatchObject({ status: 'DOWNLOADING', plan: { totalTasks: 12, batchCount: 3, batchSize: 5 } });
    expect([...i.segments.segments.values()].map(({ firstIndex, tasks }) => [firstIndex, tasks.length])).toEqual([
      [0, 5],
      [5, 5],
      [10, 2],
    ]);
    const rows = await i.batches.list('job-1');
    expect(rows.map(({ segmentKey }) => segmentKey)).toEqual([...i.segments.segments.keys()]);
    expect(i.queue.sent).toHaveLength(3);
    const order = ['spool', 'writeSegment', 'recordPlan', 'createBatch', 'send', 'startDownloading'].map((call) =>
      i.gate.calls.indexOf(call),
    );
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(i.manifest.disposed).toBe(1);
  });

  it('writes nothing when the manifest is at fault', async () => {
    const broken = new AppError('MANIFEST_INVALID', 'line 3', { disposition: 'reject' });
    i.gate.next('spool', () => Promise.reject(broken));
    await expect(expand()).rejects.toMatchObject({ code: 'MANIFEST_REJECTED', disposition: 'reject', cause: broken });
    expect(i.segments.segments.size).toBe(0);
    expect(i.queue.sent).toEqual([]);
    expect(job()).toEqual(aJobWithoutPlan());
  });

  it('completes a job of 0 tasks at once', async () => {
    i.manifest.totalTasks = 0;
    await expand();
    await settled();
    expect(job()).toMatchObject({ status: 'COMPLETED', plan: { totalTasks: 0, batchCount: 0 } });
    expect(i.stepFunctions.answers).toMatchObject([{ kind: 'success' }]);
  });

  it('finishes a job whose batches were all counted before it started downloading', async () => {
    i.gate.next('startDownloading', () => {
      i.jobs.put({ ...job(), completedTasks: 12 });
      for (const row of i.batches.rows.values()) i.batches.put({ ...row, status: 'succeeded' });
    });
    await expand();
    await settled();
    expect(job().status).toBe('COMPLETED');
  });

  it.each(['DOWNLOADING', 'FINALIZING', 'COMPLETED', 'CANCELLED'] as const)('has nothing to do for a job in %s', async (status) => {
    i.jobs.put(aJob({ status, outcome: anOutcome() }));
    await expand();
    expect(i.gate.calls).toEqual(['find']);
  });

  it('goes on with the plan that is recorded, without reading the manifest again', async () => {
    i.jobs.put(aJob({ status: 'PROCESSING', plan: aPlan() }));
    await expand();
    expect(i.gate.calls).not.toContain('spool');
    expect((await i.batches.list('job-1')).map(({ segmentKey }) => segmentKey.startsWith(aPlan().segmentPrefix))).toEqual([true, true]);
  });

  it.each(['recordPlan', 'createBatch', 'send', 'startDownloading'])('goes on where a crash left it behind %s', async (step) => {
    i.gate.next(step, 'lost-reply');
    await expect(expand()).rejects.toThrow('lost');
    await expand();
    expect(job()).toMatchObject({ status: 'DOWNLOADING', plan: { totalTasks: 12 } });
    expect((await i.batches.list('job-1')).map(({ totalTasks }) => totalTasks)).toEqual([5, 5, 2]);
    expect(new Set(i.queue.sent.map(({ batchNo }) => batchNo))).toEqual(new Set([0, 1, 2]));
  });

  it('goes on with its own plan that the SDK’s retry met', async () => {
    i.gate.next('recordPlan', 'retried');
    await expand();
    expect(job()).toMatchObject({ status: 'DOWNLOADING', plan: { batchCount: 3 } });
    expect(i.manifest.disposed).toBe(1);
  });
});

onEachClock('two expanders with other batch sizes', () => {
  it('Totals and prefix in one write with one winner: the loser goes on with the winner’s plan', async () => {
    i.gate.next('recordPlan', () => expand());
    await i.expander(3).expand(aRequest(), running, stays);
    const plan = job().plan;
    expect(plan?.batchCount).toBe(3);
    const rows = await i.batches.list('job-1');
    expect(rows).toHaveLength(plan?.batchCount ?? 0);
    expect(rows.reduce((sum, { totalTasks }) => sum + totalTasks, 0)).toBe(12);
    for (const row of rows) {
      expect(row.segmentKey.startsWith(plan?.segmentPrefix ?? 'none')).toBe(true);
      expect(i.segments.segments.get(row.segmentKey)?.tasks).toHaveLength(row.totalTasks);
    }
  });

  it('Random prefix per attempt: neither overwrites a segment of the other', async () => {
    await Promise.all([expand(), i.expander(4).expand(aRequest(), running, stays)]);
    expect(i.segments.segments.size).toBe(3 + 3);
  });
});

it('says in the log for which host its list waits, and until when', async () => {
  const spool = i.manifest.spool.bind(i.manifest);
  i.manifest.spool = (request, reading) => {
    reading.onProgress({ host: 'h.test', forMs: 300_000 });
    reading.onProgress();
    return spool(request, reading);
  };
  await expand();
  const [line, ...others] = i.logger.events.filter(({ message }) => message.startsWith('The host of a list asks for patience'));
  expect(line?.fields).toEqual({ jobId: 'job-1', host: 'h.test', until: '2026-01-01T00:05:00.000Z', forS: 300 });
  expect(others).toEqual([]);
});

onEachClock('an expansion that is not wanted any more', () => {
  it('stops quietly when the job was cancelled while the manifest was read', async () => {
    i.gate.next('recordPlan', () => void i.jobs.put(aJobWithoutPlan({ status: 'CANCELLED' })));
    await expand();
    expect(i.queue.sent).toEqual([]);
    expect(i.manifest.disposed).toBe(1);
  });

  it('ends quietly when the job is cancelled while a long manifest is still read', async () => {
    i.manifest.spool = async (_request, { signal, onProgress }) => {
      while (!signal.aborted) {
        await i.clock.sleep(5_000, signal);
        onProgress();
      }
      throw new Error('the reading was aborted');
    };
    const expansion = expand();
    await i.clock.advance(30_000);
    i.jobs.put(aJobWithoutPlan({ status: 'CANCELLED' }));
    await i.clock.advance(15_000);
    await expect(expansion).resolves.toBeUndefined();
    expect(i.gate.calls).not.toContain('writeSegment');
    expect(i.clock.sleepers).toBe(0);
  });

  it('ends within 10 s of the cancel while the source of its list says nothing, and gives all it had back', async () => {
    const { turns, lists } = i.capacity;
    i.manifest.spool = async (_request, { signal, turn }) => {
      await turn.whileWaiting(() => i.clock.sleep(3_600_000, signal));
      throw new Error('the reading was aborted');
    };
    const source = { kind: 'manifest', uri: 'https://silent.test/list', trusted: false } as const;
    const expansion = i.expandJob.expand(aRequest({ source }), running, stays);
    await i.clock.advance(25_000);
    i.jobs.put(aJobWithoutPlan({ status: 'CANCELLED' }));
    await i.clock.advance(10_000);
    await expect(expansion).resolves.toBeUndefined();
    expect(i.clock.sleepers).toBe(0);
    const entered = Array.from({ length: 64 }, () => lists.enter('silent.test', running, stays));
    await expect(Promise.all(entered)).resolves.toHaveLength(64);
    const line = { whileInLine: <T>(wait: Promise<T>) => wait };
    const others = [1, 2, 3, 4].map(() => turns.run(running, line, () => settled()));
    await expect(Promise.all(others)).resolves.toHaveLength(4);
  });

  it('ends quietly when the job is reopened while its segments are written, and leaves the rest of them', async () => {
    i.manifest.totalTasks = 500;
    i.gate.next('writeSegment', async () => {
      i.jobs.put(aJobWithoutPlan({ run: 2 }));
      await i.clock.advance(10_000);
    });
    await expand();
    expect(i.segments.segments.size).toBeLessThan(20);
    expect(i.gate.calls).not.toContain('recordPlan');
    expect(i.manifest.disposed).toBe(1);
    expect(job()).toEqual(aJobWithoutPlan({ run: 2 }));
  });

  it('yields when it is interrupted, so that the message goes on elsewhere', async () => {
    const stopping = new AbortController();
    i.gate.next('writeSegment', () => stopping.abort());
    await expect(expand(stopping.signal)).rejects.toMatchObject({ disposition: 'yield' });
    expect(job()).not.toHaveProperty('plan');
    expect(i.queue.sent).toEqual([]);
    expect(i.manifest.disposed).toBe(1);
  });

  it('lets no rejection escape when a segment cannot be written while the list is still read: Node would end the process', async () => {
    async function* halfOfTheList() {
      for (let index = 0; index < 5; index++) yield { url: `https://origin.test/${index}`, key: `file-${index}` };
      await new Promise(() => undefined);
    }
    i.manifest.spool = () => Promise.resolve({ totalTasks: 12, repeatedTasks: 0, tasks: halfOfTheList, dispose: () => Promise.resolve() });
    i.gate.next('writeSegment', 'unavailable');
    void expand().catch(() => undefined);
    await settled();
    // Jest fails the test for a rejection that nobody has taken.
    expect(i.segments.segments.size).toBe(0);
  });

  it('fails when a segment cannot be written, and records no plan', async () => {
    i.gate.next('writeSegment', 'unavailable');
    await expect(expand()).rejects.toThrow('unavailable');
    await settled();
    expect(i.manifest.disposed).toBe(1);
    expect(job()).not.toHaveProperty('plan');
  });
});

onEachClock('a bucket that does not take the segments', () => {
  const CALL = { bucket: 'exports', key: 'input/000000.jsonl', permission: 's3:PutObject' };
  const failing = (code: string, mayPass: boolean) => () => Promise.reject(new StoreError(CALL, code, { mayPass }));

  it('DestinationRefused: is asked again for seconds, without a place, and then refuses the job for good', async () => {
    i.manifest.totalTasks = 5;
    i.gate.next('writeSegment', ...Array.from({ length: 5 }, () => failing('AccessDenied', false)));
    const expansion = expect(expand()).rejects.toMatchObject({ code: 'DESTINATION_REFUSED', disposition: 'reject' });
    await eventually(() => i.clock.sleepers > 1);
    const line = { whileInLine: <T>(wait: Promise<T>) => wait };
    let places = 0;
    const enough = deferred();
    const others = [1, 2, 3, 4].map(() => i.capacity.turns.run(running, line, () => (places++, enough.promise)));
    await settled();
    expect(places).toBe(4);
    enough.resolve();
    await Promise.all(others);
    await i.clock.advance(30_000);
    await expansion;
    expect(job()).not.toHaveProperty('plan');
    expect(i.clock.sleepers).toBe(0);
  });

  it('goes on when the refusal was one of a policy that had just been changed', async () => {
    i.gate.next('writeSegment', failing('AccessDenied', false), failing('AccessDenied', false));
    const expansion = expand();
    await eventually(async () => {
      await i.clock.advance(1_000);
      return job().status === 'DOWNLOADING';
    });
    await expansion;
    expect(i.segments.segments.size).toBe(3);
  });

  it('is a setback of this job alone when it may take them later, as is a list that cannot be read', async () => {
    i.gate.next('writeSegment', failing('SlowDown', true));
    await expect(expand()).rejects.toMatchObject({ name: 'JobSetback', code: 'SlowDown' });
    i.gate.next('spool', () => Promise.reject(new AppError('MANIFEST_CHANGED', 'it changed', { disposition: 'retry' })));
    await expect(expand()).rejects.toMatchObject({ name: 'JobSetback', code: 'MANIFEST_CHANGED' });
  });
});

onEachClock('a long manifest', () => {
  it('stamps progress at most every ten seconds, and a failing stamp costs nothing', async () => {
    i.manifest.totalTasks = 100;
    i.gate.next('touchProgress', 'unavailable');
    const expansion = expand();
    while (job().status === 'PROCESSING') await i.clock.advance(1_000);
    await expansion;
    const stamps = i.gate.calls.filter((call) => call === 'touchProgress').length;
    expect(job().status).toBe('DOWNLOADING');
    expect(stamps).toBeGreaterThan(0);
    expect(stamps).toBeLessThanOrEqual(i.clock.monotonicMs() / 10_000);
  });
});
