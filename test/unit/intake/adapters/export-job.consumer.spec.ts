import { beforeEach, expect, it } from '@jest/globals';
import { ExportJobConsumer, type JobsQueue } from '../../../../src/intake/adapters/export-job.consumer.js';
import { VisibilityPort, type ReceivedMessage, type VisibilityOutcome } from '../../../../src/platform/sqs/index.js';
import { AppError } from '../../../../src/shared/index.js';
import { aJob, withoutToken } from '../../../support/builders.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import { anIntake } from '../../../support/intake.js';
import { deferred } from '../../../support/deferred.js';
import { eventually } from '../../../support/local-aws.js';

const LAST_RECEIVE = 5;

/** Hands out what the test puts in, and remembers what became of it. */
class FakeJobsQueue implements JobsQueue {
  readonly url = 'https://sqs.test/jobs';
  readonly deleted: string[] = [];
  readonly sent: string[] = [];
  readonly shownAgain: { receiptHandle: string; timeoutS: number }[] = [];
  private readonly waiting: ReceivedMessage[] = [];
  private deliver: (() => void) | undefined;

  put(body: object, receiveCount = 1): void {
    const id = `m${this.waiting.length}-${receiveCount}`;
    this.waiting.push({ messageId: id, receiptHandle: id, body: JSON.stringify(body), receiveCount, receivedAt: 0 });
    this.deliver?.();
  }

  async receive(max: number, _waitS: number, _visibilityS: number, signal: AbortSignal): Promise<ReceivedMessage[]> {
    if (this.waiting.length === 0)
      await new Promise<void>((resolve) => {
        this.deliver = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    return this.waiting.splice(0, max);
  }

  async delete(receiptHandle: string): Promise<void> {
    this.deleted.push(receiptHandle);
  }

  async send({ body }: { body: string }): Promise<void> {
    this.sent.push(body);
  }

  async attributes(): Promise<{ visibilityTimeoutS: number; approximateMessages: number }> {
    return { visibilityTimeoutS: 60, approximateMessages: 0 };
  }

  async changeVisibilityBatch(changes: readonly { receiptHandle: string; timeoutS: number }[]): Promise<VisibilityOutcome[]> {
    this.shownAgain.push(...changes);
    return changes.map(() => ({ kind: 'changed' }));
  }
}

/** Renewals are answered as the test says. */
class FakeRenewals extends VisibilityPort {
  outcome: VisibilityOutcome = { kind: 'changed' };

  async changeVisibilityBatch(_url: string, changes: readonly unknown[]): Promise<VisibilityOutcome[]> {
    return changes.map(() => this.outcome);
  }
}

const MESSAGE = {
  jobId: 'job-1',
  exportId: 'export-1',
  userId: 'user-1',
  taskToken: 'token-of-the-message',
  source: { files: [{ url: 'https://origin.test/a', key: 'a' }] },
};

onEachClock('ExportJobConsumer', () => {
  let i: ReturnType<typeof anIntake>;
  let queue: FakeJobsQueue;
  let renewals: FakeRenewals;
  let consumer: ExportJobConsumer;

  beforeEach(async () => {
    i = anIntake();
    i.manifest.totalTasks = 1;
    queue = new FakeJobsQueue();
    renewals = new FakeRenewals();
    consumer = new ExportJobConsumer(
      { defaults: { bucket: 'exports', destinationBuckets: ['exports'] }, intakeConcurrency: 2, visibility: { intervalMs: 20_000 } },
      queue,
      renewals,
      i,
      { clock: i.clock, logger: i.logger, metrics: i.metrics },
    );
    await consumer.start();
  });

  /** Waits until so many messages have been deleted or shown again. */
  const handled = (count = 1) => eventually(() => queue.deleted.length + queue.shownAgain.length >= count);
  const begun = (call: string) => eventually(() => i.gate.calls.includes(call));
  const stop = async () => {
    await consumer.quiesce();
    await consumer.drain({ finishBy: 0, handBackBy: 0 });
  };

  it('deletes a message once its job is expanded', async () => {
    queue.put(MESSAGE);
    await handled();
    expect(i.jobs.get('job-1')).toMatchObject({ status: 'DOWNLOADING', plan: { totalTasks: 1 } });
    expect(queue.deleted).toHaveLength(1);
    await stop();
  });

  it('lets a message that failed for our own reasons come again later, and later each time', async () => {
    i.gate.next('createIfAbsent', 'unavailable', 'unavailable');
    queue.put(MESSAGE, 1);
    await handled();
    queue.put(MESSAGE, 3);
    await handled(2);
    expect(queue.shownAgain.map(({ timeoutS }) => timeoutS)).toEqual([10, 30]);
    expect(queue.deleted).toEqual([]);
    await stop();
  });

  it('takes jobs in however many tokens wait for their answer, which an unusable key keeps for hours', async () => {
    i.jobs.put(aJob({ requestHash: 'of another request' }));
    i.stepFunctions.keyUnusable = true;
    for (let message = 0; message < 100; message++) queue.put({ ...MESSAGE, taskToken: `token ${message}` });
    queue.put({ ...MESSAGE, options: { maxConcurrency: 0 } });
    queue.put({ ...MESSAGE, jobId: 'job-2' });
    await handled();
    expect(i.jobs.get('job-2').status).toBe('DOWNLOADING');
    expect(queue.deleted).toHaveLength(1);
    await stop();
    expect(queue.shownAgain).toHaveLength(101);
    expect(i.stepFunctions.answers).toEqual([]);
  });

  it('takes in less and less while nothing can be done for a message: others may be able to', async () => {
    i.gate.next('createIfAbsent', ...Array.from({ length: 100 }, () => 'unavailable' as const));
    for (let receives = 1; receives <= 8; receives++) {
      queue.put({ ...MESSAGE, jobId: `job-${receives}` });
      await eventually(async () => {
        if (queue.shownAgain.length < receives) await i.clock.advance(100);
        return queue.shownAgain.length === receives;
      });
    }
    // A receive that is under way at a failure is not called back: there are three pauses, of half of 1, 2 and 4 s at least.
    expect(i.clock.monotonicMs()).toBeGreaterThanOrEqual(3_500);
    expect(i.logger.messages('error')).toEqual(Array.from({ length: 8 }, () => 'Jobs queue: a handler failed'));
    await stop();
  });

  it('on the last receive fails the job with ExportIntakeFailed', async () => {
    i.gate.next('spool', 'unavailable');
    queue.put(MESSAGE, LAST_RECEIVE);
    await handled();
    expect(i.jobs.get('job-1')).toMatchObject({ status: 'FAILED', error: { code: 'ExportIntakeFailed' } });
    expect(i.stepFunctions.answers).toMatchObject([{ kind: 'failure', error: 'ExportIntakeFailed' }]);
    expect(queue.deleted).toEqual([]);
    await stop();
  });

  it('on the last receive answers the token alone when the job could not even be created', async () => {
    i.gate.next('createIfAbsent', 'unavailable');
    queue.put(MESSAGE, LAST_RECEIVE);
    await handled();
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: MESSAGE.taskToken, kind: 'failure', error: 'ExportIntakeFailed' }]);
    await stop();
  });

  it('on the last receive holds the message until the tables say how its token is to be answered', async () => {
    const away = Array.from({ length: 20 }, () => 'unavailable' as const);
    i.gate.next('createIfAbsent', 'unavailable');
    i.jobs.find = () => i.gate.pass('find', () => undefined);
    i.gate.next('find', ...away);
    queue.put(MESSAGE, LAST_RECEIVE);
    await eventually(() => i.logger.messages('warn').includes('Job message cannot be given up yet'));
    await i.clock.advance(60_000);
    expect(i.stepFunctions.answers).toEqual([]);
    expect(queue.shownAgain).toEqual([]);
    await i.clock.advance(1_000_000);
    await handled();
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: MESSAGE.taskToken, kind: 'failure', error: 'ExportIntakeFailed' }]);
    await stop();
  });

  it('hands a message on that a shutdown finds held like that: another coordinator may reach the tables', async () => {
    i.gate.next('createIfAbsent', 'unavailable');
    i.jobs.find = () => Promise.reject(new Error('the table is away'));
    queue.put(MESSAGE, LAST_RECEIVE);
    await eventually(() => i.logger.messages('warn').includes('Job message cannot be given up yet'));
    await stop();
    expect(queue.sent).toEqual([JSON.stringify(MESSAGE)]);
    expect(i.stepFunctions.answers).toEqual([]);
  });

  it('on the last receive answers the token of a retry that the ended job does not carry', async () => {
    i.jobs.put(withoutToken(aJob({ jobId: 'job-1', status: 'FAILED' })));
    i.gate.next('createIfAbsent', 'unavailable');
    queue.put(MESSAGE, LAST_RECEIVE);
    await handled();
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: MESSAGE.taskToken, kind: 'failure', error: 'ExportIntakeFailed' }]);
    expect(i.jobs.get('job-1').status).toBe('FAILED');
    await stop();
  });

  it('answers the own token, and never fails the job, when that runs under another token', async () => {
    queue.put({ ...MESSAGE, taskToken: 'token-of-the-job' });
    await handled();
    const throttled = { kind: 'unavailable', reason: 'ThrottlingException', maybeApplied: false } as const;
    i.stepFunctions.answerNext(...Array.from({ length: 8 }, () => throttled));
    queue.put(MESSAGE, LAST_RECEIVE);
    await eventually(() => i.stepFunctions.heartbeats.includes(MESSAGE.taskToken));
    await i.clock.advance(60_000);
    await handled(2);
    expect(i.jobs.get('job-1')).toMatchObject({ status: 'DOWNLOADING', taskToken: 'token-of-the-job' });
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: MESSAGE.taskToken, kind: 'failure', error: 'ExportIntakeFailed' }]);
    await stop();
  });

  it('lets a job go on that another delivery has expanded while this one could not read the manifest, on its last receive too', async () => {
    const gone = new AppError('HTTP_403', 'the source answered 403', { disposition: 'reject' });
    i.gate.next('spool', async () => {
      const job = i.jobs.get('job-1');
      await i.jobs.recordPlan(job.jobId, job.run, { totalTasks: 1, batchCount: 1, batchSize: 1, segmentPrefix: 'theirs/' });
      throw gone;
    });
    queue.put(MESSAGE, LAST_RECEIVE);
    await handled();
    expect(i.jobs.get('job-1').status).toBe('PROCESSING');
    expect(i.stepFunctions.answers).toEqual([]);
    expect(queue.shownAgain).toHaveLength(1);
    await stop();
  });

  it('fails a job whose manifest is at fault, keeps a copy and deletes the message', async () => {
    i.gate.next('spool', () => Promise.reject(new AppError('HTTP_404', 'the source answered 404', { disposition: 'reject' })));
    queue.put(MESSAGE);
    await handled();
    expect(i.jobs.get('job-1')).toMatchObject({ status: 'FAILED', error: { code: 'InvalidExportRequest' } });
    expect(i.deadLetters.copies).toMatchObject([{ reason: expect.stringContaining('HTTP_404') as unknown }]);
    expect(queue.deleted).toHaveLength(1);
    await stop();
  });

  it('does not acknowledge a message whose visibility was lost while it was worked on', async () => {
    renewals.outcome = { kind: 'gone', code: 'ReceiptHandleIsInvalid' };
    const read = deferred();
    i.gate.next('spool', () => read.promise);
    queue.put(MESSAGE);
    await begun('saveRequest');
    await i.clock.advance(20_000);
    read.resolve();
    await stop();
    expect(i.logger.messages('warn').some((text) => text.includes('lost while it was worked on'))).toBe(true);
    expect(queue.deleted).toEqual([]);
    expect(queue.shownAgain).toEqual([]);
  });

  it('shows a message at once that a shutdown interrupts', async () => {
    const read = deferred();
    i.gate.next('spool', () => read.promise);
    queue.put(MESSAGE);
    await begun('saveRequest');
    const stopped = stop();
    read.resolve();
    await stopped;
    expect(queue.shownAgain).toMatchObject([{ timeoutS: 0 }]);
    expect(queue.sent).toEqual([]);
  });

  it('sends a copy of a message whose last receive a shutdown interrupts', async () => {
    const read = deferred();
    i.gate.next('spool', () => read.promise);
    queue.put(MESSAGE, LAST_RECEIVE);
    await begun('saveRequest');
    const stopped = stop();
    read.resolve();
    await stopped;
    expect(queue.sent).toEqual([JSON.stringify(MESSAGE)]);
    expect(queue.deleted).toHaveLength(1);
    expect(i.jobs.get('job-1').status).toBe('PROCESSING');
  });

  it('accepts every message of a burst while the first ones are being expanded', async () => {
    const read = deferred();
    i.gate.next('spool', ...Array.from({ length: 200 }, () => () => read.promise));
    for (let index = 0; index < 200; index++) queue.put({ ...MESSAGE, jobId: `job-${index}`, taskToken: `token-${index}` });
    await eventually(async () => {
      await i.clock.advance(50);
      await settled();
      return new Set(i.stepFunctions.heartbeats).size === 200;
    });
    expect(queue.deleted).toEqual([]);
    read.resolve();
    await stop();
  });
});
