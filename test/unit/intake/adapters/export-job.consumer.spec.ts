import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ExportJobConsumer, type JobsQueue } from '../../../../src/intake/adapters/export-job.consumer.js';
import { JobHandOn } from '../../../../src/intake/adapters/job-hand-on.js';
import {
  VisibilityPort,
  type OutgoingMessage,
  type QueueAttributes,
  type ReceivedMessage,
  type VisibilityOutcome,
} from '../../../../src/platform/sqs/index.js';
import { JobSetback } from '../../../../src/intake/application/job-setback.js';
import { AppError, StoreError } from '../../../../src/shared/index.js';
import { TransferError } from '../../../../src/worker-pool/index.js';
import { aJob, withoutToken } from '../../../support/builders.js';
import { HAIR_MS, onEachClock } from '../../../support/each-clock.js';
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
  readonly copies: OutgoingMessage[] = [];
  maxReceiveCount = LAST_RECEIVE;
  readonly shownAgain: { receiptHandle: string; timeoutS: number }[] = [];
  private readonly waiting: ReceivedMessage[] = [];
  private puts = 0;
  private deliver: (() => void) | undefined;

  /** As after its wait: with what is there, be it nothing. */
  endPoll(): void {
    this.deliver?.();
  }

  put(body: object, receiveCount = 1, attributes: Record<string, string> = {}): void {
    const id = `m${++this.puts}`;
    this.waiting.push({ messageId: id, receiptHandle: id, body: JSON.stringify(body), receiveCount, receivedAt: 0, attributes });
    this.endPoll();
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

  async send(message: OutgoingMessage): Promise<void> {
    this.sent.push(message.body);
    this.copies.push(message);
  }

  async attributes(): Promise<QueueAttributes> {
    return { visibilityTimeoutS: 60, approximateMessages: 0, maxReceiveCount: this.maxReceiveCount };
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

const PUT = { bucket: 'exports', key: 'k', permission: 's3:PutObject' };
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
  let coordinators: string[];

  beforeEach(async () => {
    i = anIntake({ maxOpenLists: 2 });
    i.manifest.totalTasks = 1;
    queue = new FakeJobsQueue();
    renewals = new FakeRenewals();
    coordinators = ['self'];
    consumer = aConsumer();
    await consumer.start();
  });

  function aConsumer(): ExportJobConsumer {
    const handOn = new JobHandOn(queue, { list: () => coordinators }, i.logger);
    return new ExportJobConsumer(
      { defaults: { bucket: 'exports', destinationBuckets: ['exports'] }, visibility: { intervalMs: 20_000 } },
      queue,
      renewals,
      { ...i, handOn },
      { clock: i.clock, logger: i.logger, metrics: i.metrics },
    );
  }

  /** Waits until so many messages have been deleted or shown again. */
  const handled = (count = 1) => eventually(() => queue.deleted.length + queue.shownAgain.length >= count);
  const begun = (call: string) => eventually(() => i.gate.calls.includes(call));
  const stop = async () => {
    consumer.quiesce();
    queue.endPoll();
    await consumer.drain({ finishBy: i.clock.monotonicMs() + 15_000, handBackBy: 0 });
  };

  it('deletes a message once its job is expanded', async () => {
    queue.put(MESSAGE);
    await handled();
    expect(i.jobs.get('job-1')).toMatchObject({ status: 'DOWNLOADING', plan: { totalTasks: 1 } });
    expect(queue.deleted).toHaveLength(1);
    await stop();
  });

  it('answers a request at once whose bucket does not exist, although nothing can be written there', async () => {
    i.destinations.found = 'missing';
    i.results.failsWith = new StoreError({ bucket: 'exports', key: 'k', permission: 's3:PutObject' }, 'NoSuchBucket', { mayPass: false });
    queue.put(MESSAGE);
    await eventually(async () => {
      await i.clock.advance(1_000);
      return queue.deleted.length === 1;
    });
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: MESSAGE.taskToken, error: 'InvalidExportRequest' }]);
    expect(JSON.parse(i.stepFunctions.answers[0]?.cause ?? '')).toMatchObject({
      message: expect.stringContaining('destination.bucket exports does not exist') as unknown,
    });
    expect(i.jobs.get('job-1')).toMatchObject({ status: 'FAILED', callback: 'failure', resultsNotWritten: { code: 'NoSuchBucket' } });
    expect(i.deadLetters.copies).toEqual([]);
    await stop();
  });

  it('DestinationRefused: ends a job at once whose bucket takes no request, names the permission, and keeps no copy', async () => {
    i.results.failsWith = new StoreError({ bucket: 'exports', key: 'k', permission: 's3:PutObject' }, 'AccessDenied', { mayPass: false });
    queue.put(MESSAGE);
    await eventually(async () => {
      await i.clock.advance(1_000);
      return queue.deleted.length === 1;
    });
    expect(i.clock.monotonicMs()).toBeLessThan(30_000);
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: MESSAGE.taskToken, error: 'DestinationRefused' }]);
    expect(JSON.parse(i.stepFunctions.answers[0]?.cause ?? '')).toMatchObject({
      message: expect.stringContaining('s3:PutObject on s3://exports/k failed: AccessDenied. Create the bucket or grant') as unknown,
    });
    expect(i.logger.messages('error')).toContain('The destination refuses what the intake of a job must write there; its job ends');
    expect([i.deadLetters.copies, queue.shownAgain]).toEqual([[], []]);
    await stop();
  });

  it('accepts a burst of jobs at once although the buckets of more jobs than are accepted at a time refuse them', async () => {
    const save = i.results.saveRequest.bind(i.results);
    const refusal = new StoreError({ bucket: 'closed', key: 'k', permission: 's3:PutObject' }, 'AccessDenied', { mayPass: false });
    i.results.saveRequest = (job, json) => (job.exportId === 'closed' ? Promise.reject(refusal) : save(job, json));
    for (let index = 0; index < 200; index++) queue.put({ ...MESSAGE, exportId: 'closed', jobId: `job-${index}`, taskToken: `t-${index}` });
    queue.put({ ...MESSAGE, jobId: 'healthy' });
    await handled();
    expect(i.jobs.get('healthy').status).toBe('DOWNLOADING');
    // The shortest wait for a bucket that refuses.
    expect(i.clock.monotonicMs()).toBeLessThan(250);
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
    expect(i.logger.messages('error')).toEqual(Array.from({ length: 8 }, () => 'Jobs queue: a message could not be handled'));
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

  it('maxReceiveCount is the queue’s own: with 2, the second receive is the last one, and the job says what kept it out', async () => {
    await stop();
    queue.maxReceiveCount = 2;
    consumer = aConsumer();
    await consumer.start();
    i.gate.next('spool', () =>
      Promise.reject(new JobSetback(new AppError('HTTP_503', 'the source answered 503', { disposition: 'retry' }))),
    );
    queue.put(MESSAGE, 2);
    await handled();
    const error = { code: 'ExportIntakeFailed', message: expect.stringContaining('HTTP_503') as unknown };
    expect(i.jobs.get('job-1')).toMatchObject({ status: 'FAILED', error });
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
    await eventually(() => i.logger.messages('error').some((message) => message.startsWith('the last receive of a job message failed')));
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
    await eventually(() => i.logger.messages('error').some((message) => message.startsWith('the last receive of a job message failed')));
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
    expect(i.logger.messages('error')).toEqual([]);
    await stop();
  });

  it.each([
    ['is answered, and no copy is kept', MESSAGE, 'failure', 0, ['Job ended: FAILED']],
    [
      'has no token: a copy is kept, since nobody could be answered',
      { ...MESSAGE, taskToken: undefined },
      'none',
      1,
      ['Job ended: FAILED'],
    ],
  ])('a job whose manifest is at fault fails, its message is deleted, and it %s', async (_, message, callback, copies, warnings) => {
    i.gate.next('spool', () => Promise.reject(new AppError('HTTP_404', 'the source answered 404', { disposition: 'reject' })));
    queue.put(message);
    await handled();
    expect(i.jobs.get('job-1')).toMatchObject({ status: 'FAILED', callback, error: { code: 'InvalidExportRequest' } });
    expect(i.deadLetters.copies).toHaveLength(copies);
    expect(i.logger.messages('error')).toHaveLength(copies);
    expect(i.logger.messages('warn')).toEqual(warnings);
    const ended = i.logger.events.find((event) => event.message === 'Job ended: FAILED');
    expect(ended?.fields).toMatchObject({ jobId: 'job-1', reason: expect.stringContaining('HTTP_404') as unknown });
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

  it('The last poll ends by itself: hands nothing back before that, because that poll would take it', async () => {
    const read = deferred();
    i.gate.next('spool', () => read.promise);
    queue.put(MESSAGE);
    await begun('saveRequest');
    consumer.quiesce();
    const drained = consumer.drain({ finishBy: i.clock.monotonicMs() + 15_000, handBackBy: 0 });
    read.resolve();
    for (let turn = 0; turn < 290; turn++) await i.clock.advance(10);
    expect(queue.shownAgain).toEqual([]);
    queue.put({ ...MESSAGE, jobId: 'job-2' });
    await drained;
    expect(queue.shownAgain).toEqual([
      { receiptHandle: 'm2', timeoutS: 0 },
      { receiptHandle: 'm1', timeoutS: 0 },
    ]);
    expect(await i.jobs.find('job-2')).toBeUndefined();
  });

  it('hands back by its deadline what it holds, although its last poll does not end', async () => {
    const read = deferred();
    i.gate.next('spool', () => read.promise);
    queue.put(MESSAGE);
    await begun('saveRequest');
    consumer.quiesce();
    const drained = consumer.drain({ finishBy: i.clock.monotonicMs() + 2_000, handBackBy: 0 });
    read.resolve();
    await i.clock.advance(2_000);
    await drained;
    expect(queue.shownAgain).toEqual([{ receiptHandle: 'm1', timeoutS: 0 }]);
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

  describe('a job whose list cannot be opened here', () => {
    const LIST = { jobId: 'job-2', exportId: 'export-1', userId: 'user-1', source: { manifest: 'https://slow.test/list' } };
    let read: ReturnType<typeof deferred<void>>;

    beforeEach(() => {
      read = deferred();
    });
    afterEach(async () => {
      read.resolve();
      await stop();
    });

    /** The host's one list of two is open, and the job's own waits. */
    async function putBehindAnother(message: object, receiveCount = 1, attributes: Record<string, string> = {}): Promise<void> {
      i.gate.next('spool', () => read.promise);
      queue.put({ ...LIST, jobId: 'slow-job' });
      await begun('saveRequest');
      queue.put(message, receiveCount, attributes);
      await eventually(() => i.capacity.lists.waiting === 1);
    }

    it('Copy first, then delete: goes to another coordinator after 5 s, and spends no receive', async () => {
      coordinators = ['self', 'idle'];
      await putBehindAnother(LIST, LAST_RECEIVE);
      await i.clock.advance(5_000);
      await handled();
      expect(queue.copies).toEqual([{ body: JSON.stringify(LIST), delayS: 0, attributes: { handOns: '1' } }]);
      expect(queue.deleted).toEqual(['m2']);
      expect(i.jobs.get('job-2').status).toBe('PROCESSING');
      expect(i.capacity.lists.waiting).toBe(0);
    });

    it('Stamped before it leaves: a job that finds no room anywhere is not taken for one that stands still', async () => {
      coordinators = ['self', 'busy'];
      await putBehindAnother(LIST);
      for (let visit = 1; visit <= 3; visit++) {
        await i.clock.advance(5_000 + HAIR_MS);
        await handled(visit);
        expect(Date.parse(i.clock.nowIso()) - Date.parse(i.jobs.get('job-2').lastProgressAt)).toBeLessThanOrEqual(2 * HAIR_MS);
        queue.put(LIST);
        await eventually(() => i.capacity.lists.waiting === 1);
      }
    });

    it('does not leave when it is over: nobody else need have it', async () => {
      coordinators = ['self', 'idle'];
      await putBehindAnother(LIST);
      i.jobs.put({ ...i.jobs.get('job-2'), status: 'CANCELLED' });
      await i.clock.advance(5_000 + HAIR_MS);
      await handled();
      expect([queue.copies, queue.deleted]).toEqual([[], ['m2']]);
    });

    it('is not deleted when its copy cannot be sent: it waits, and is offered again', async () => {
      coordinators = ['self', 'idle'];
      await putBehindAnother(LIST, LAST_RECEIVE);
      const send = queue.send.bind(queue);
      queue.send = () => Promise.reject(new Error('the queue is away'));
      await i.clock.advance(5_000);
      expect([queue.deleted, queue.shownAgain]).toEqual([[], []]);
      expect(i.capacity.lists.waiting).toBe(1);
      queue.send = send;
      await i.clock.advance(5_000);
      await handled();
      expect(queue.copies).toHaveLength(1);
    });

    it('waits where there is no other coordinator, is stamped meanwhile, and goes on when there is room', async () => {
      await putBehindAnother(LIST);
      await i.clock.advance(3_600_000);
      expect(Date.parse(i.clock.nowIso()) - Date.parse(i.jobs.get('job-2').lastProgressAt)).toBeLessThanOrEqual(10_000 + HAIR_MS);
      expect(queue.copies).toEqual([]);
      read.resolve();
      await handled(2);
      expect(i.jobs.get('job-2').status).toBe('DOWNLOADING');
    });

    it('waits once it has been handed on ten times, whatever a sender wrote into its message', async () => {
      coordinators = ['self', 'busy'];
      await putBehindAnother(LIST, 1, { handOns: '10' });
      await i.clock.advance(30_000);
      expect(queue.copies).toEqual([]);
      queue.put({ ...LIST, jobId: 'job-3' }, 1, { handOns: '-1e99' });
      await eventually(() => i.capacity.lists.waiting === 2);
      await i.clock.advance(5_000);
      await eventually(() => queue.copies.length === 1);
      expect(queue.copies[0]?.attributes).toEqual({ handOns: '1' });
    });

    it('keeps no list of files from being taken in', async () => {
      await putBehindAnother(LIST);
      queue.put(MESSAGE);
      await handled();
      expect(i.jobs.get('job-1').status).toBe('DOWNLOADING');
    });

    it('lets go of its message when it is cancelled while it waits', async () => {
      await putBehindAnother(LIST);
      i.jobs.put({ ...i.jobs.get('job-2'), status: 'CANCELLED' });
      await i.clock.advance(10_000);
      await handled();
      expect(i.capacity.lists.waiting).toBe(0);
      expect(queue.deleted).toHaveLength(1);
    });
  });

  it.each<[what: string, step: string, failure: Error]>([
    ['whose source says nothing', 'spool', new TransferError('HEADERS_TIMEOUT', 'no answer in time', { retryable: true })],
    ['whose list changed', 'spool', new AppError('MANIFEST_CHANGED', 'changed while it was read', { disposition: 'retry' })],
    ['whose own list S3 does not give', 'spool', Object.assign(new Error('Access Denied'), { name: 'AccessDenied' })],
    ['whose bucket takes no request now', 'saveRequest', new StoreError(PUT, 'SlowDown', { mayPass: true })],
    ['whose bucket takes no segment now', 'writeSegment', new StoreError(PUT, 'SlowDown', { mayPass: true })],
  ])('One job’s fault slows no receive: one %s is logged, and others are taken in at once', async (_what, step, failure) => {
    for (let job = 1; job <= 10; job++) {
      i.gate.next(step, () => Promise.reject(failure));
      queue.put({ ...MESSAGE, jobId: `job-${job}` }, 2);
      await handled(job);
      await settled();
      // The poll loop has met no failure, after which it would pause.
      expect(i.logger.events.filter(({ message }) => message.includes('could not be handled'))).toEqual([]);
    }
    expect(queue.shownAgain).toEqual(Array.from({ length: 10 }, () => expect.objectContaining({ timeoutS: 60 }) as unknown));
    const told = i.logger.events.find(({ message }) => message === 'The list or the bucket of a job cannot be used now');
    expect(told).toMatchObject({ level: 'warn', fields: { jobId: 'job-1', receiveCount: 2, next: 'its message comes again in 60 s' } });
    queue.put({ ...MESSAGE, jobId: 'job-11' });
    await handled(11);
    expect(i.clock.monotonicMs()).toBeLessThan(10);
    await stop();
  });
});
