import { beforeEach, expect, it } from '@jest/globals';
import { AppError, StoreError } from '../../../../src/shared/index.js';
import { aBatch, aJob, aPlan, aState } from '../../../support/builders.js';
import { aBatchWorld, BATCH_BEAT_MS, BATCH_MESSAGE } from '../../../support/batch-holder.js';
import { deferred } from '../../../support/deferred.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';

let w: ReturnType<typeof aBatchWorld>;
let me: ReturnType<ReturnType<typeof aBatchWorld>['process']>;

beforeEach(() => {
  w = aBatchWorld();
  me = w.process();
});

const order = (...calls: string[]) => calls.map((call) => w.gate.calls.indexOf(call));
const totals = () => {
  const { completedTasks, failedTasks, bytesProcessed } = w.jobs.get('job-1');
  return [completedTasks, failedTasks, bytesProcessed];
};

onEachClock('Message deleted after the claim, claimed or not', () => {
  it('and before the work', async () => {
    const { run } = await me.begin();
    const [claim, deleted, segment] = order('claim', 'deleteMessage', 'loadSegment');
    expect([claim, deleted, segment]).toEqual([claim, deleted, segment].toSorted((a = 0, b = 0) => a - b));
    expect(claim).toBeGreaterThanOrEqual(0);
    await me.pool.succeedAll();
    await run;
  });

  it('also when nothing was claimed', async () => {
    w.batches.put(aBatch({ status: 'running', claimId: 'of another', lockToken: 1 }));
    await expect(me.receive()).resolves.toBe('dropped');
    expect(w.gate.calls).toContain('deleteMessage');
  });

  it('but left when the claim is unknown', async () => {
    w.gate.next('claim', 'unavailable');
    await expect(me.receive()).rejects.toThrow('unavailable');
    expect(w.gate.calls).not.toContain('deleteMessage');
  });

  it('or not at all, which costs nothing: the lease keeps the batch', async () => {
    w.gate.next('deleteMessage', 'unavailable');
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await expect(run).resolves.toBe('ended');
  });
});

it('A header of the file stands in for that of the job, whatever their case', async () => {
  w = aBatchWorld((segment) => ({
    ...segment,
    headers: { Authorization: 'of the job', 'X-Tenant': 'of the job' },
    tasks: segment.tasks.map((task, position) => (position === 0 ? { ...task, headers: { authorization: 'of the file' } } : task)),
  }));
  me = w.process();
  await me.begin();
  expect(me.pool.started.slice(0, 2).map(({ headers }) => headers)).toEqual([
    { authorization: 'of the file', 'X-Tenant': 'of the job' },
    { Authorization: 'of the job', 'X-Tenant': 'of the job' },
  ]);
});

onEachClock('the end of a batch', () => {
  it('ends the job when its counts add up, and leaves nothing running', async () => {
    const { run } = await me.begin();
    await me.pool.fail({ code: 'HTTP_404', retryable: false, httpStatus: 404 });
    await me.pool.succeedAll();
    await expect(run).resolves.toBe('ended');
    expect(w.batches.get(0)).toMatchObject({ status: 'succeeded', ...aState([1, 2, 3, 4], [0]), resultKeys: { succeeded: { size: 1 } } });
    expect(totals()).toEqual([4, 1, 40]);
    expect(w.jobs.get('job-1').status).toBe('FAILED');
    expect(w.stepFunctions.answers).toHaveLength(1);
    expect(w.clock.sleepers).toBe(0);
  });

  it('gives its place back while the job waits for its answer, for hours if the key of the state machine is unusable', async () => {
    w.stepFunctions.keyUnusable = true;
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await expect(run).resolves.toBe('ended');
    await settled();
    expect([w.jobs.get('job-1').status, me.runBatch.held]).toEqual(['FINALIZING', 0]);
    w.stepFunctions.keyUnusable = false;
    await w.clock.advance(60_000);
    expect(w.jobs.get('job-1').status).toBe('COMPLETED');
  });

  it('leaves a job with other batches to them', async () => {
    w.jobs.put(aJob());
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await run;
    expect(w.jobs.get('job-1')).toMatchObject({ status: 'DOWNLOADING', completedTasks: 5 });
    expect(w.stepFunctions.answers).toEqual([]);
  });

  it('Results before the row says succeeded, and the row before the last count', async () => {
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await run;
    const positions = order('writeResults', 'endBatch', 'count', 'beginFinalizing');
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(positions[0]).toBeGreaterThan(0);
  });

  it('Results before the row says succeeded: a crash between the two leaves a batch whose next holder writes results of its own', async () => {
    w.gate.next('writeResults', () => w.gate.crashAfter(1));
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await w.clock.advance(120_000);
    await expect(run).resolves.toBe('fenced');
    w.gate.restart();
    const left = w.batches.get(0);
    expect(left).toMatchObject({ status: 'running', completed: 0 });
    expect(left).not.toHaveProperty('resultKeys');
    w.batches.put({ ...left, status: 'queued', attempts: 1 });
    const other = w.process('another');
    const again = await other.begin();
    await other.pool.succeedAll();
    await expect(again.run).resolves.toBe('ended');
    expect(w.batches.get(0)).toMatchObject({ status: 'succeeded', resultKeys: { succeeded: { key: 'SUCCEEDED_0_2' } } });
    expect(w.files.results.get('0_2')).toHaveLength(5);
    expect(totals()).toEqual([5, 0, 50]);
  });

  it('A flush never holds the last task: while results are written the job does not add up', async () => {
    const results = deferred();
    w.gate.next('writeResults', () => results.promise);
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await w.clock.advance(3 * BATCH_BEAT_MS);
    expect(w.batches.get(0)).toMatchObject({ status: 'running', completed: 4 });
    expect(totals()).toEqual([4, 0, 40]);
    results.resolve();
    await expect(run).resolves.toBe('ended');
    expect(totals()).toEqual([5, 0, 50]);
  });

  it('writes one result per task in order, with attempts and status', async () => {
    const { run } = await me.begin();
    await me.pool.fail({ code: 'HTTP_404', retryable: false, httpStatus: 404 }, 'file-2');
    await me.pool.succeedAll();
    await run;
    const lines = w.files.results.get('0_1') ?? [];
    expect(lines.map(({ position }) => position)).toEqual([0, 1, 2, 3, 4]);
    expect(lines[2]).toMatchObject({ success: false, code: 'HTTP_404', httpStatus: 404, attempts: 1 });
    expect(lines[0]).toMatchObject({ success: true, size: 10, sha256: 'sha', attempts: 1 });
  });

  it.each(['loadSegment', 'writeResults', 'endBatch', 'count'])('is reached although %s fails for a while', async (step) => {
    w.gate.next(step, 'unavailable', 'unavailable');
    const { run } = await me.begin();
    for (let second = 0; second < 20 && w.batches.get(0).status === 'running'; second++) {
      await me.pool.succeedAll();
      await w.clock.advance(1_000);
    }
    await w.clock.advance(5_000);
    await expect(run).resolves.toBe('ended');
    expect(totals()).toEqual([5, 0, 50]);
  });

  it.each(['endBatch', 'count'].flatMap((step) => (['lost-reply', 'retried'] as const).map((fault) => [step, fault] as const)))(
    'counts each task once when %s meets the fault %s',
    async (step, fault) => {
      w.gate.next(step, fault);
      const { run } = await me.begin();
      await me.pool.succeedAll();
      await w.clock.advance(5_000);
      await expect(run).resolves.toBe('ended');
      expect(totals()).toEqual([5, 0, 50]);
      expect(w.stepFunctions.answers).toHaveLength(1);
    },
  );
});

onEachClock('Checkpoint first, counters second', () => {
  it.each(['checkpoint', 'endBatch'])('a crash right after %s loses nothing and counts nothing twice', async (step) => {
    w.jobs.put(aJob({ plan: aPlan({ totalTasks: 5, batchCount: 1 }) }));
    const { run } = await me.begin();
    if (step === 'checkpoint') for (const key of ['file-0', 'file-1']) await me.pool.succeed(key);
    w.gate.next(step, () => w.gate.crashAfter(1));
    if (step === 'checkpoint') await w.clock.advance(BATCH_BEAT_MS);
    else await me.pool.succeedAll();
    expect(totals()).toEqual([0, 0, 0]);
    await w.clock.advance(120_000);
    await run;

    w.gate.restart();
    const left = w.batches.get(0);
    if (left.status === 'running') w.batches.put({ ...left, status: 'queued', attempts: 1 });
    const other = w.process('another');
    const again = other.receive({ ...BATCH_MESSAGE });
    await settled();
    await other.pool.succeedAll();
    await again;
    expect(totals()).toEqual([5, 0, 50]);
  });
});

onEachClock('a batch taken over', () => {
  it('goes on from the checkpoint, brings the counters up first, and rebuilds the lines of what was done', async () => {
    w.batches.put(aBatch({ ...aState([0, 3], [1]), lockToken: 6, attempts: 1 }));
    const { run } = await me.begin();
    expect(totals()).toEqual([2, 1, 20]);
    expect(me.pool.running.map(({ s3Key }) => s3Key.at(-1))).toEqual(['2', '4']);
    await me.pool.succeedAll();
    await run;
    const lines = w.files.results.get('0_7') ?? [];
    expect(w.files.described).toEqual([0, 3]);
    expect(lines[0]).toMatchObject({ success: true, attempts: null, durationMs: null });
    expect(lines[1]).toEqual({ success: false, position: 1, code: 'HTTP_404', message: null, httpStatus: null, attempts: null });
    expect(lines[2]).toMatchObject({ success: true, attempts: 1 });
    expect(totals()).toEqual([4, 1, 40]);
  });

  it('Result keys carry lockToken: two holders never write the same files', async () => {
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await run;
    w.batches.put(aBatch({ lockToken: 1 }));
    w.jobs.put(aJob({ plan: aPlan({ totalTasks: 5, batchCount: 1 }) }));
    const again = me.receive();
    await settled();
    await me.pool.succeedAll();
    await again;
    expect([...w.files.results.keys()]).toEqual(['0_1', '0_2']);
  });

  it('does not start work for a job that was decided meanwhile', async () => {
    w.gate.next('deleteMessage', () => void w.jobs.put(aJob({ status: 'FINALIZING' })));
    w.batches.put(aBatch(aState([0])));
    await expect(me.receive()).resolves.toBe('job-over');
    expect(me.pool.started).toEqual([]);
  });
});

onEachClock('DestinationRefused: a batch whose lists the destination refuses', () => {
  const CALL = { bucket: 'exports', key: 'results/SUCCEEDED_000000_1.jsonl', permission: 's3:PutObject' };
  const refused = () => Promise.reject(new StoreError(CALL, 'AccessDenied', { mayPass: false }));

  it.each(['writeResults', 'loadSegment'])(
    'ends its job after a handful of tries at %s, with permission and object in the cause',
    async (step) => {
      w.gate.next(step, ...Array.from({ length: 5 }, () => refused));
      const { run } = await me.begin();
      await me.pool.succeedAll();
      await w.clock.advance(60_000);
      await expect(run).resolves.toBe('job-over');
      expect(w.jobs.get('job-1')).toMatchObject({ status: 'FAILED', error: { code: 'DestinationRefused' }, callback: 'failure' });
      expect(w.stepFunctions.answers).toMatchObject([
        { error: 'DestinationRefused', cause: expect.stringContaining(CALL.permission) as unknown },
      ]);
      expect(w.logger.messages('error')).toEqual(['The destination refuses what a batch must write or read there; its job ends']);
      expect(w.batches.get(0).status).toBe('cancelled');
      expect(w.clock.sleepers).toBe(0);
    },
  );

  it('goes on when the refusal was one of a policy that had just been changed', async () => {
    w.gate.next('writeResults', refused, refused);
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await w.clock.advance(10_000);
    await expect(run).resolves.toBe('ended');
    expect(w.jobs.get('job-1').status).toBe('COMPLETED');
  });

  it('insists on what may pass', async () => {
    const busy = () => Promise.reject(new StoreError(CALL, 'SlowDown', { mayPass: true }));
    w.gate.next('writeResults', ...Array.from({ length: 20 }, () => busy));
    const { run } = await me.begin();
    await me.pool.succeedAll();
    await w.clock.advance(60_000);
    await w.clock.advance(60_000);
    await expect(run).resolves.toBe('ended');
  });
});

it('options.failFast: a failure that a batch heartbeat counts ends the job there and then', async () => {
  w.jobs.put(aJob({ failFast: true }));
  const { run } = await me.begin();
  await me.pool.fail({ code: 'HTTP_404', retryable: false, httpStatus: 404 });
  await w.clock.advance(20_000);
  await expect(run).resolves.toBe('lost');
  expect(w.jobs.get('job-1')).toMatchObject({ status: 'FAILED', failedTasks: 1, outcome: { partial: true } });
  expect(w.batches.get(0).status).toBe('cancelled');
});

onEachClock('a batch whose segment is broken for good', () => {
  const broken = () =>
    Promise.reject(new AppError('EXPORT_FILE_BROKEN', 's3://exports/0.jsonl is not there any more', { disposition: 'reject' }));
  const stalled = () => w.logger.messages('error').filter((message) => message === 'Job stalled');

  it('ends its job at once, with the reason and the mend in the cause and in the log', async () => {
    w.gate.next('loadSegment', broken);
    await expect(me.receive()).resolves.toBe('job-over');
    await settled();
    expect(w.jobs.get('job-1')).toMatchObject({ status: 'FAILED', error: { code: 'JobStalled' }, callback: 'failure' });
    const [answer] = w.stepFunctions.answers;
    expect(answer).toMatchObject({ kind: 'failure', error: 'JobStalled' });
    const { message } = JSON.parse(answer?.cause ?? '') as { message: string };
    expect(message).toMatch(/Batch 0 can never run: s3:\/\/exports\/0\.jsonl is not there any more\. .*start a new execution/);
    expect(w.logger.events).toContainEqual({
      level: 'error',
      message: 'Job stalled',
      fields: { jobId: 'job-1', batchNo: 0, reason: 's3://exports/0.jsonl is not there any more' },
    });
    expect(w.batches.get(0).status).toBe('cancelled');
    expect(w.clock.sleepers).toBe(0);
  });

  it('gives its place back while that job waits for its answer', async () => {
    w.stepFunctions.keyUnusable = true;
    w.gate.next('loadSegment', broken);
    await expect(me.receive()).resolves.toBe('job-over');
    await settled();
    expect([w.jobs.get('job-1').status, me.runBatch.held]).toEqual(['FINALIZING', 0]);
    w.stepFunctions.keyUnusable = false;
    await w.clock.advance(60_000);
    expect(w.jobs.get('job-1').status).toBe('FAILED');
  });

  it('or another batch’s', async () => {
    w = aBatchWorld((segment) => ({ ...segment, batchNo: 7 }));
    me = w.process();
    await expect(me.receive()).resolves.toBe('job-over');
    await settled();
    expect(w.jobs.get('job-1').error?.message).toContain('is not the segment of batch 0 with 5 tasks');
  });

  it('is said once of a job that many holders find broken', async () => {
    w.jobs.put(aJob({ plan: aPlan({ totalTasks: 10, batchCount: 2 }) }));
    w.batches.put(aBatch({ batchNo: 1 }));
    w.gate.next('loadSegment', broken, broken);
    await Promise.all([me.receive(), me.receive({ ...BATCH_MESSAGE, batchNo: 1 })]);
    await settled();
    expect(w.jobs.get('job-1').status).toBe('FAILED');
    expect(stalled()).toHaveLength(1);
  });

  it('ends no other run of its job', async () => {
    w.gate.next('loadSegment', () => {
      w.jobs.put(aJob({ run: 2 }));
      return broken();
    });
    await me.receive();
    expect(w.jobs.get('job-1')).toMatchObject({ status: 'DOWNLOADING', run: 2 });
    expect(stalled()).toEqual([]);
  });

  it('is tried again while S3 only cannot be asked', async () => {
    w.gate.next('loadSegment', 'unavailable', 'unavailable');
    const run = me.receive();
    await w.clock.advance(10_000);
    await me.pool.succeedAll();
    await expect(run).resolves.toBe('ended');
    expect(w.jobs.get('job-1').status).toBe('COMPLETED');
  });
});
