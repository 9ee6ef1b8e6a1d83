import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  PollLoop,
  type OutgoingMessage,
  type PollLoopOptions,
  type ReceivedMessage,
  type VisibilityChange,
  type VisibilityOutcome,
} from '../../../../src/platform/sqs/index.js';
import { AppError } from '../../../../src/shared/index.js';
import { RecordingLogger } from '../../../support/fakes/recording-logger.js';
import { SilentLogger } from '../../../support/silent-logger.js';
import { HAIR_MS, newClock, onEachClock } from '../../../support/each-clock.js';
import { settled, type FakeClock } from '../../../support/fake-clock.js';

const MAX_RECEIVES = 5;
/** How long a stop has for the last poll. */
const PATIENCE_MS = 15_000;

const message = (messageId: string, receiveCount = 1): ReceivedMessage => ({
  messageId,
  receiptHandle: `handle of ${messageId}`,
  body: `body of ${messageId}`,
  receiveCount,
  receivedAt: 0,
  attributes: {},
});

interface Poll {
  max: number;
  waitS: number;
  visibilityS: number;
  signal: AbortSignal;
  arrive: (messages: ReceivedMessage[]) => void;
  fail: (error: unknown) => void;
}

/** Each poll waits until the test lets messages arrive, or the poll is aborted. */
class FakeQueue {
  readonly polls: Poll[] = [];
  readonly changes: VisibilityChange[] = [];
  readonly sent: OutgoingMessage[] = [];
  readonly deleted: string[] = [];

  receive(max: number, waitS: number, visibilityS: number, signal: AbortSignal): Promise<ReceivedMessage[]> {
    return new Promise((arrive, fail) => {
      this.polls.push({ max, waitS, visibilityS, signal, arrive, fail });
      signal.addEventListener('abort', () => fail(new Error('aborted')), { once: true });
    });
  }

  changeVisibilityBatch(changes: readonly VisibilityChange[]): Promise<VisibilityOutcome[]> {
    this.changes.push(...changes);
    return Promise.resolve(changes.map(() => ({ kind: 'changed' })));
  }

  async send(outgoing: OutgoingMessage): Promise<void> {
    this.sent.push(outgoing);
  }

  async delete(receiptHandle: string): Promise<void> {
    this.deleted.push(receiptHandle);
  }

  get last(): Poll {
    const last = this.polls.at(-1);
    if (last === undefined) throw new Error('no poll');
    return last;
  }
}

class RecordedLogger extends SilentLogger {
  readonly events: string[] = [];
  override info(message?: string): void {
    this.events.push(`info ${message}`);
  }
  override warn(message?: string): void {
    this.events.push(`warn ${message}`);
  }
  override error(message?: string): void {
    this.events.push(`error ${message}`);
  }
}

/** Handlers that run until the test ends them. */
class Handlers {
  readonly started: string[] = [];
  readonly #ends = new Map<string, (error?: Error) => void>();

  readonly handle = (received: ReceivedMessage): Promise<void> => {
    this.started.push(received.messageId);
    return new Promise((resolve, reject) => {
      this.#ends.set(received.messageId, (error) => (error === undefined ? resolve() : reject(error)));
    });
  };

  async end(messageId: string, error?: Error): Promise<void> {
    this.#ends.get(messageId)?.(error);
    await settled();
  }
}

const loops: { loop: PollLoop; clock: FakeClock }[] = [];

function setUp(options: Partial<PollLoopOptions> = {}) {
  const clock = newClock();
  const queue = new FakeQueue();
  const logger = new RecordedLogger();
  const handlers = new Handlers();
  const loop = new PollLoop({
    name: 'Jobs',
    queue,
    maxReceiveCount: MAX_RECEIVES,
    capacity: () => 3,
    handle: handlers.handle,
    visibilityTimeoutS: 60,
    clock,
    logger,
    ...options,
  });
  loops.push({ loop, clock });
  /** A stop that has no time. */
  const cutOff = () => stopNow(loop, clock);
  return { clock, queue, logger, handlers, loop, cutOff };
}

async function stopNow(loop: PollLoop, clock: FakeClock): Promise<void> {
  const stopped = loop.stop(clock.monotonicMs());
  await clock.advance(1);
  await stopped;
}

afterEach(async () => {
  for (const { loop, clock } of loops.splice(0)) {
    await stopNow(loop, clock);
    expect(clock.sleepers).toBe(0);
  }
});

onEachClock('a poll loop', () => {
  it('long-polls for as many messages as there is room, and says so when it starts and stops', async () => {
    const { queue, logger, loop, cutOff } = setUp();
    loop.start();
    expect(queue.last).toMatchObject({ max: 3, waitS: 3, visibilityS: 60 });
    await cutOff();
    expect(logger.events).toEqual(['info Jobs poll loop started (wait: 3 s, visibility: 60 s)', 'info Jobs poll loop stopped']);
  });

  it('says that it turned at each answer of the queue, be it empty, and not while it waits', async () => {
    const onTurn = jest.fn();
    const { queue, clock, loop } = setUp({ onTurn });
    loop.start();
    await clock.advance(60_000);
    expect(onTurn).not.toHaveBeenCalled();
    queue.last.arrive([]);
    await settled();
    expect(onTurn).toHaveBeenCalledTimes(1);
    queue.last.fail(new Error('no network'));
    await clock.advance(30_000);
    expect(onTurn).toHaveBeenCalledTimes(1);
    queue.last.arrive([message('1'), message('2'), message('3')]);
    await clock.advance(600_000);
    expect(onTurn).toHaveBeenCalledTimes(2);
  });

  it('never asks for more than 10', async () => {
    const { queue, loop } = setUp({ capacity: () => 64 });
    loop.start();
    expect(queue.last.max).toBe(10);
  });

  it('runs handlers side by side, asks only for the room that is left, and waits while there is none', async () => {
    const { queue, handlers, loop } = setUp();
    loop.start();
    queue.last.arrive([message('a'), message('b')]);
    await settled();
    expect(handlers.started).toEqual(['a', 'b']);
    expect(queue.last.max).toBe(1);
    queue.last.arrive([message('c')]);
    await settled();
    expect(queue.polls).toHaveLength(2);
    await handlers.end('b');
    expect(queue.polls).toHaveLength(3);
    expect(queue.last.max).toBe(1);
    await handlers.end('a');
    await handlers.end('c');
  });

  it('waits at capacity 0 until it is woken', async () => {
    let capacity = 0;
    const { queue, loop } = setUp({ capacity: () => capacity });
    loop.start();
    loop.wake();
    await settled();
    expect(queue.polls).toHaveLength(0);
    capacity = 2;
    loop.wake();
    await settled();
    expect(queue.last.max).toBe(2);
  });

  it.each([
    ['comes again: a warning', new AppError('TABLE_UNAVAILABLE', 'away', { disposition: 'retry' }), 1, 'warn', /^it comes again$/],
    [
      'was received for the last time: an error',
      new AppError('AWAY', 'away', { disposition: 'retry' }),
      MAX_RECEIVES,
      'error',
      /last receive/,
    ],
    ['met a mistake in the code: an error', new TypeError('undefined is no function'), 1, 'error', /^it comes again$/],
  ])('says of which job, which batch and what comes next when a message %s', async (_, failure, receiveCount, level, next) => {
    const recorded = new RecordingLogger();
    const body = JSON.stringify({ jobId: 'job-1', batchNo: 3, taskToken: 'secret' });
    const { queue, loop } = setUp({ handle: () => Promise.reject(failure), logger: recorded });
    loop.start();
    queue.last.arrive([{ ...message('m'), body, receiveCount }]);
    await settled();
    await loop.idle();
    const [event] = recorded.events.filter(({ message: text }) => text === 'Jobs: a message could not be handled');
    expect(event?.level).toBe(level);
    const fields = { jobId: 'job-1', batchNo: 3, messageId: 'm', receiveCount, maxReceiveCount: MAX_RECEIVES };
    expect(event?.fields).toMatchObject({ ...fields, next: expect.stringMatching(next) as unknown });
    expect(JSON.stringify(recorded.events)).not.toContain('secret');
  });

  it('outlives a handler that throws, at once or later', async () => {
    const { clock, queue, handlers, logger, loop } = setUp({
      handle: (received) => {
        if (received.messageId === 'sync') throw new Error('at once');
        return handlers.handle(received);
      },
    });
    loop.start();
    queue.last.arrive([message('sync'), message('later')]);
    await settled();
    await handlers.end('later', new Error('later'));
    await loop.idle();
    expect(logger.events.filter((event) => event === 'error Jobs: a message could not be handled')).toHaveLength(2);
    await clock.advance(1_000);
    queue.last.arrive([message('next')]);
    await settled();
    expect(handlers.started).toEqual(['later', 'next']);
    await handlers.end('next');
  });

  it('leaves a second delivery of a message in hand alone', async () => {
    const { queue, handlers, logger, loop } = setUp();
    loop.start();
    queue.last.arrive([message('a')]);
    await settled();
    queue.last.arrive([message('a')]);
    await settled();
    expect(handlers.started).toEqual(['a']);
    expect(queue.changes).toEqual([]);
    expect(logger.events).toContain('warn Jobs: a message in hand was delivered again');
    await handlers.end('a');
    queue.last.arrive([message('a')]);
    await settled();
    expect(handlers.started).toEqual(['a', 'a']);
    await handlers.end('a');
  });

  it('backs off from 1 s to 30 s while receiving fails, and starts over after a success', async () => {
    const { clock, queue, loop } = setUp();
    loop.start();
    for (const limitMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      queue.last.fail(new Error('no network'));
      await settled();
      const waitMs = clock.nextWakeInMs ?? 0;
      expect(waitMs).toBeGreaterThanOrEqual(limitMs / 2);
      expect(waitMs).toBeLessThanOrEqual(limitMs);
      await clock.advance(waitMs);
    }
    queue.last.arrive([]);
    await settled();
    queue.last.fail(new Error('no network'));
    await settled();
    expect(clock.nextWakeInMs).toBeLessThanOrEqual(1_000);
  });

  it('receives ever more slowly while handlers fail, so that a process cut off from its tables hides no message from others', async () => {
    const { clock, queue, handlers, loop } = setUp();
    loop.start();
    for (const [index, limitMs] of [1_000, 2_000, 4_000].entries()) {
      queue.last.arrive([message(`${index}`)]);
      await settled();
      // The receive that was under way while it failed still takes a message.
      await handlers.end(`${index}`, new Error('no tables'));
      queue.last.arrive([message(`${index} too`)]);
      await settled();
      await handlers.end(`${index} too`, new Error('no tables'));
      const polls = queue.polls.length;
      const waitMs = clock.nextWakeInMs ?? 0;
      expect(waitMs).toBeGreaterThanOrEqual(limitMs / 2);
      expect(waitMs).toBeLessThanOrEqual(limitMs);
      await clock.advance(waitMs);
      expect(queue.polls).toHaveLength(polls + 1);
    }
    queue.last.arrive([message('better')]);
    await settled();
    await handlers.end('better');
    queue.last.arrive([]);
    await settled();
    expect(clock.nextWakeInMs).toBeUndefined();
  });

  describe('with a pace', () => {
    const LOOK = { waitSeconds: 1, pauseMs: 1_000 };
    const LONG = { waitSeconds: 20, pauseMs: 0 };

    it('polls as short as it says, and pauses before the next poll', async () => {
      const { clock, queue, loop } = setUp({ pace: () => LOOK });
      loop.start();
      expect(queue.last.waitS).toBe(1);
      queue.last.arrive([]);
      await clock.advance(999);
      expect(queue.polls).toHaveLength(1);
      await clock.advance(1 + HAIR_MS);
      expect(queue.polls).toHaveLength(2);
    });

    it('ends the pause when a handler ends, or it is woken', async () => {
      const { queue, handlers, loop } = setUp({ pace: () => LOOK });
      loop.start();
      queue.last.arrive([message('a')]);
      await settled();
      expect(queue.polls).toHaveLength(1);
      await handlers.end('a');
      expect(queue.polls).toHaveLength(2);
      queue.last.arrive([]);
      await settled();
      loop.wake();
      await settled();
      expect(queue.polls).toHaveLength(3);
    });

    it('does not pause after a poll that brought all that was asked for: there is nobody to leave the rest to', async () => {
      const { queue, handlers, loop } = setUp({ capacity: () => 12, pace: () => LOOK });
      loop.start();
      const messages = Array.from({ length: 10 }, (_, index) => message(`${index}`));
      queue.last.arrive(messages);
      await settled();
      expect(queue.last.max).toBe(2);
      for (const { messageId } of messages) await handlers.end(messageId);
    });

    it('asks for it before each poll, and does not pause when there is no reason any more', async () => {
      let pace = LOOK;
      const { queue, loop } = setUp({ pace: () => pace });
      loop.start();
      pace = LONG;
      queue.last.arrive([]);
      await settled();
      expect(queue.last.waitS).toBe(20);
    });

    it('looks again after a pause whether there is room, though nobody wakes it', async () => {
      let capacity = 0;
      const { clock, queue, loop } = setUp({ capacity: () => capacity, pace: () => LOOK });
      loop.start();
      await clock.advance(2_500);
      expect(queue.polls).toHaveLength(0);
      capacity = 2;
      await clock.advance(500 + HAIR_MS);
      expect(queue.last.max).toBe(2);
    });

    it('is ended in its pause by a stop', async () => {
      const { clock, queue, loop } = setUp({ pace: () => LOOK });
      loop.start();
      queue.last.arrive([]);
      await settled();
      await loop.stop(clock.monotonicMs() + PATIENCE_MS);
      expect([queue.polls.length, clock.sleepers]).toEqual([1, 0]);
    });
  });

  it('outlives a capacity that throws', async () => {
    const capacities = [() => { throw new Error('broken'); }, () => 1]; // prettier-ignore
    const { clock, queue, loop } = setUp({ capacity: () => (capacities.shift() ?? (() => 1))() });
    loop.start();
    await clock.advance(1_000);
    expect(queue.polls).toHaveLength(1);
  });
});

onEachClock('stopping a poll loop', () => {
  /** A stop that has time, and whether it has ended. */
  function stopping({ loop, clock }: ReturnType<typeof setUp>) {
    const progress = { over: false };
    const stopped = loop.stop(clock.monotonicMs() + PATIENCE_MS).then(() => void (progress.over = true));
    return { progress, stopped };
  }

  it('The last poll ends by itself: waits for it, begins no other, and says when the end has come', async () => {
    const a = setUp();
    const { clock, queue, logger, loop } = a;
    loop.start();
    loop.quiesce();
    let ended = false;
    void loop.ended.then(() => (ended = true));
    const { progress, stopped } = stopping(a);
    await clock.advance(2_900);
    expect([queue.last.signal.aborted, progress.over, ended]).toEqual([false, false, false]);
    queue.last.arrive([]);
    await stopped;
    expect([queue.polls.length, ended, clock.sleepers]).toEqual([1, true, 0]);
    expect(logger.events.filter((event) => event.startsWith('warn'))).toEqual([]);
  });

  it('aborts a poll that has not ended by the deadline, silently', async () => {
    const a = setUp();
    a.loop.start();
    const { progress, stopped } = stopping(a);
    await a.clock.advance(PATIENCE_MS - 1_000);
    expect(progress.over).toBe(false);
    await a.clock.advance(2_000);
    await stopped;
    expect(a.queue.last.signal.aborted).toBe(true);
    expect(a.logger.events.filter((event) => event.startsWith('warn'))).toEqual([]);
  });

  it.each(['before', 'after'])(
    'The last poll ends by itself: waits out one that has failed just %s the stop, because SQS may still have it',
    async (when) => {
      const a = setUp();
      a.loop.start();
      if (when === 'before') a.queue.last.fail(new Error('cut'));
      await settled();
      const { progress, stopped } = stopping(a);
      if (when === 'after') a.queue.last.fail(new Error('cut'));
      await a.clock.advance(2_500);
      expect(progress.over).toBe(false);
      await a.clock.advance(1_000);
      await stopped;
      expect(a.queue.polls).toHaveLength(1);
    },
  );

  it('makes messages visible again that the last poll brings, and runs no handler for them', async () => {
    const a = setUp();
    a.loop.start();
    const { stopped } = stopping(a);
    a.queue.last.arrive([message('a'), message('b', MAX_RECEIVES - 1)]);
    await stopped;
    expect(a.handlers.started).toEqual([]);
    expect(a.queue.changes).toEqual([
      { receiptHandle: 'handle of a', timeoutS: 0 },
      { receiptHandle: 'handle of b', timeoutS: 0 },
    ]);
    expect(a.queue.sent).toEqual([]);
  });

  it('A shutdown spends no last receive: sends a copy of a message whose receives are spent, because SQS would dead-letter it', async () => {
    const a = setUp();
    a.loop.start();
    const { stopped } = stopping(a);
    a.queue.last.arrive([message('a'), { ...message('b', MAX_RECEIVES), groupId: 'job-1', attributes: { handOns: '2' } }]);
    await stopped;
    expect(a.queue.changes).toEqual([{ receiptHandle: 'handle of a', timeoutS: 0 }]);
    expect(a.queue.sent).toEqual([{ body: 'body of b', groupId: 'job-1', attributes: { handOns: '2' } }]);
    expect(a.queue.deleted).toEqual(['handle of b']);
  });

  it.each<[string, (queue: FakeQueue) => void]>([
    ['cannot', (queue) => (queue.changeVisibilityBatch = () => Promise.reject(new Error('no network')))],
    ['could not this time', (queue) => (queue.changeVisibilityBatch = async () => [{ kind: 'failed', cause: new Error('throttled') }])],
  ])('is not held up by messages that %s be made visible again', async (_how, fail) => {
    const a = setUp();
    fail(a.queue);
    a.loop.start();
    const { stopped } = stopping(a);
    a.queue.last.arrive([message('a')]);
    await stopped;
    expect(a.logger.events).toContain('warn Jobs: messages come back only after their visibility timeout');
    expect(a.clock.sleepers).toBe(0);
  });

  it('ends a wait for capacity and a back-off', async () => {
    const full = setUp({ capacity: () => 0 });
    full.loop.start();
    await stopping(full).stopped;
    const failing = setUp();
    failing.loop.start();
    failing.queue.last.fail(new Error('no network'));
    await settled();
    await failing.cutOff();
    expect(failing.clock.sleepers).toBe(0);
  });

  it('leaves running handlers alone, and idle waits for them', async () => {
    const { queue, handlers, loop, cutOff } = setUp();
    loop.start();
    queue.last.arrive([message('a')]);
    await settled();
    await cutOff();
    let idle = false;
    const waiting = loop.idle().then(() => (idle = true));
    await settled();
    expect(idle).toBe(false);
    await handlers.end('a');
    await waiting;
    expect(queue.polls).toHaveLength(2);
  });

  it('is legal before a start, twice at a time, and before another start', async () => {
    const { queue, loop, cutOff } = setUp();
    loop.quiesce();
    await loop.ended;
    await cutOff();
    loop.start();
    loop.start();
    expect(queue.polls).toHaveLength(1);
    await Promise.all([cutOff(), cutOff()]);
    loop.start();
    expect(queue.polls).toHaveLength(2);
    await loop.idle();
  });
});
