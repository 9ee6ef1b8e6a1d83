import { afterEach, describe, expect, it } from '@jest/globals';
import { VisibilityHeartbeats, VisibilityPort, type VisibilityChange, type VisibilityOutcome } from '../../../../src/platform/sqs/index.js';
import { AppError, Metrics, SystemClock } from '../../../../src/shared/index.js';
import { RestlessClock } from '../../../support/restless-clock.js';
import { SilentLogger } from '../../../support/silent-logger.js';
import { HAIR_MS, newClock, onEachClock } from '../../../support/each-clock.js';
import { settled, type FakeClock } from '../../../support/fake-clock.js';

const INTERVAL_MS = 20_000;
const TIMEOUT_S = 60;
const QUEUE = 'https://sqs.test/jobs';

interface Call {
  atMs: number;
  queueUrl: string;
  changes: readonly VisibilityChange[];
  signal: AbortSignal;
}

/** Answers each call as the test says; a call without an answer hangs until it is answered or aborted. */
class FakeVisibility extends VisibilityPort {
  readonly calls: Call[] = [];
  answer: ((call: Call) => Promise<VisibilityOutcome[]>) | undefined = async ({ changes }) => changes.map(() => ({ kind: 'changed' }));
  readonly #hanging: ((outcome: VisibilityOutcome) => void)[] = [];

  constructor(private readonly clock: FakeClock) {
    super();
  }

  changeVisibilityBatch(queueUrl: string, changes: readonly VisibilityChange[], signal: AbortSignal): Promise<VisibilityOutcome[]> {
    const call = { atMs: this.clock.monotonicMs(), queueUrl, changes, signal };
    this.calls.push(call);
    if (this.answer !== undefined) return this.answer(call);
    return new Promise((resolve, reject) => {
      this.#hanging.push((outcome) => resolve(changes.map(() => outcome)));
      signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
    });
  }

  answerHanging(outcome: VisibilityOutcome): void {
    for (const answer of this.#hanging.splice(0)) answer(outcome);
  }

  get callTimes(): number[] {
    return this.calls.map(({ atMs }) => atMs);
  }
}

class RecordedMetrics extends Metrics {
  readonly outcomes: (string | undefined)[] = [];
  increment(_name: string, labels?: Record<string, string>): void {
    this.outcomes.push(labels?.['outcome']);
  }
  gauge(): void {}
  observe(): void {}
}

class RecordedWarnings extends SilentLogger {
  readonly warnings: string[] = [];
  override warn(message?: string): void {
    this.warnings.push(message ?? '');
  }
}

function setUp(settings = { intervalMs: INTERVAL_MS, timeoutS: TIMEOUT_S }, clock = newClock()) {
  const port = new FakeVisibility(clock);
  const metrics = new RecordedMetrics();
  const logger = new RecordedWarnings();
  const heartbeats = new VisibilityHeartbeats(port, settings, { clock, logger, metrics });
  const hold = (receiptHandle = 'handle', queueUrl = QUEUE) =>
    heartbeats.forMessage({ queueUrl, receiptHandle, receivedAt: clock.monotonicMs() });
  clocks.push(clock);
  return { clock, port, metrics, logger, heartbeats, hold };
}

const clocks: FakeClock[] = [];
const failed: VisibilityOutcome = { kind: 'failed', cause: new Error('throttled') };
const gone: VisibilityOutcome = { kind: 'gone', code: 'ReceiptHandleIsInvalid' };

afterEach(() => {
  for (const clock of clocks.splice(0)) expect(clock.sleepers).toBe(0);
});

onEachClock('a visibility heartbeat', () => {
  it('renews an interval after the receive, then an interval after each answer', async () => {
    const { clock, port, metrics, hold } = setUp();
    const heartbeat = hold();
    heartbeat.start();
    expect(heartbeat.running).toBe(true);
    await clock.advance(INTERVAL_MS - 1);
    expect(port.calls).toHaveLength(0);
    await clock.advance(HAIR_MS + 2 * INTERVAL_MS);
    expect(port.callTimes).toEqual([20_000, 40_000, 60_000].map((at) => clock.about(at)));
    expect(port.calls[0]).toMatchObject({ queueUrl: QUEUE, changes: [{ receiptHandle: 'handle', timeoutS: TIMEOUT_S }] });
    await heartbeat.stop();
    await clock.advance(10 * INTERVAL_MS);
    expect(port.calls).toHaveLength(3);
    expect(heartbeat).toMatchObject({ running: false, error: undefined, signal: { aborted: false } });
    expect(metrics.outcomes).toEqual(['renewed', 'renewed', 'renewed']);
  });

  it('counts the first interval from the receive, however late the start', async () => {
    const { clock, port, hold } = setUp();
    const heartbeat = hold();
    await clock.advance(15_000);
    heartbeat.start();
    await clock.advance(5_000 + HAIR_MS);
    expect(port.callTimes).toEqual([clock.about(20_000)]);
    await heartbeat.stop();
  });

  it('has never two renewals of a message in flight, and counts the next interval from the answer', async () => {
    const { clock, port, hold } = setUp();
    port.answer = undefined;
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(35_000);
    expect(port.callTimes).toEqual([clock.about(20_000)]);
    port.answerHanging({ kind: 'changed' });
    await clock.advance(INTERVAL_MS + HAIR_MS);
    expect(port.callTimes).toEqual([clock.about(20_000), clock.about(55_000)]);
    port.answerHanging({ kind: 'changed' });
    await heartbeat.stop();
  });

  it('starts once: a start while running is nothing', async () => {
    const { clock, port, hold } = setUp();
    const heartbeat = hold();
    heartbeat.start();
    heartbeat.start();
    await clock.advance(INTERVAL_MS);
    expect(port.calls).toHaveLength(1);
    expect(port.calls[0]?.changes).toHaveLength(1);
    await heartbeat.stop();
  });

  it.each<[string, VisibilityOutcome[]]>([
    ['the entry', [failed]],
    ['no answer for it', []],
  ])('tries again sooner than an interval after a failure of %s, without an error', async (_, outcomes) => {
    const { clock, port, metrics, hold } = setUp();
    const answers = [outcomes, outcomes];
    port.answer = async ({ changes }) => answers.shift() ?? changes.map(() => ({ kind: 'changed' }));
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(40_000);
    expect(port.calls.length).toBeGreaterThanOrEqual(3);
    expect(metrics.outcomes.slice(0, 3)).toEqual(['failed', 'failed', 'renewed']);
    expect(heartbeat).toMatchObject({ running: true, error: undefined });
    await heartbeat.stop();
  });

  it('treats a call that fails as a whole, or hangs for an interval, as a failure of each entry', async () => {
    const { clock, port, hold } = setUp();
    port.answer = undefined;
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(2 * INTERVAL_MS + HAIR_MS);
    expect(port.calls[0]?.signal.aborted).toBe(true);
    port.answer = async ({ changes }) => changes.map(() => ({ kind: 'changed' }));
    await clock.advance(INTERVAL_MS / 2);
    expect(port.calls).toHaveLength(2);
    expect(heartbeat).toMatchObject({ running: true, error: undefined });
    await heartbeat.stop();
  });

  it('is lost when no renewal succeeded before the known expiry, with the first failure as the cause', async () => {
    const { clock, port, metrics, hold } = setUp();
    let number = 0;
    port.answer = async () => Promise.reject(new Error(`failure ${++number}`));
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(TIMEOUT_S * 1_000 - 1);
    expect(heartbeat.running).toBe(true);
    await clock.advance(1);
    expect(heartbeat).toMatchObject({
      running: false,
      error: { code: 'VISIBILITY_LOST', disposition: 'yield', cause: { message: 'failure 1' } },
      signal: { aborted: true },
    });
    expect(metrics.outcomes.at(-1)).toBe('lost');
    const { length } = port.calls;
    await clock.advance(10 * INTERVAL_MS);
    expect(port.calls).toHaveLength(length);
  });

  it('counts the expiry from before the call that renewed, not from its answer', async () => {
    const { clock, port, hold } = setUp();
    port.answer = undefined;
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(INTERVAL_MS + 15_000);
    port.answerHanging({ kind: 'changed' });
    port.answer = async () => Promise.reject(new Error('no network'));
    await clock.advance(INTERVAL_MS + TIMEOUT_S * 1_000 - clock.monotonicMs() - 1);
    expect(heartbeat.running).toBe(true);
    await clock.advance(HAIR_MS);
    expect(heartbeat.running).toBe(false);
  });

  it('is lost at its known expiry even while a call hangs', async () => {
    const { clock, port, hold } = setUp();
    port.answer = () => new Promise(() => undefined);
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(TIMEOUT_S * 1_000);
    expect(heartbeat).toMatchObject({ running: false, error: { code: 'VISIBILITY_LOST' }, signal: { aborted: true } });
  });

  it('is lost at once when the message is gone, keeps that first error and aborts its signal with it', async () => {
    const { clock, port, logger, hold } = setUp();
    port.answer = async () => [gone];
    const heartbeat = hold();
    const { signal } = heartbeat;
    heartbeat.start();
    await clock.advance(10 * INTERVAL_MS);
    expect(port.calls).toHaveLength(1);
    expect(heartbeat.error).toBeInstanceOf(AppError);
    expect(heartbeat.error?.message).toBe('The message is not ours any more (ReceiptHandleIsInvalid)');
    expect(signal.reason).toBe(heartbeat.error);
    expect(logger.warnings).toEqual(['A message in hand was lost']);
  });

  it('begins anew after a stop: no error, a signal that is not aborted', async () => {
    const { clock, port, hold } = setUp();
    port.answer = async () => [gone];
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(INTERVAL_MS);
    await heartbeat.stop();
    port.answer = async () => [{ kind: 'changed' }];
    heartbeat.start();
    expect(heartbeat).toMatchObject({ running: true, error: undefined, signal: { aborted: false } });
    await clock.advance(INTERVAL_MS);
    expect(heartbeat).toMatchObject({ running: true, error: undefined });
    await heartbeat.stop();
  });
});

onEachClock('the timer of visibility heartbeats', () => {
  const timersHoldingTheProcess = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

  it('never holds the process', async () => {
    const before = timersHoldingTheProcess();
    const clock = new SystemClock();
    const tools = { clock, logger: new SilentLogger(), metrics: new RecordedMetrics() };
    const heartbeats = new VisibilityHeartbeats(new FakeVisibility(newClock()), { intervalMs: INTERVAL_MS, timeoutS: TIMEOUT_S }, tools);
    const heartbeat = heartbeats.forMessage({ queueUrl: QUEUE, receiptHandle: 'handle', receivedAt: clock.monotonicMs() });
    heartbeat.start();
    expect(timersHoldingTheProcess()).toBe(before);
    await heartbeat.stop();
  });
});

onEachClock('stopping a visibility heartbeat', () => {
  it('waits for the call in flight, so that no change can follow a delete', async () => {
    const { clock, port, hold } = setUp();
    port.answer = undefined;
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(INTERVAL_MS);
    let stopped = false;
    const stop = heartbeat.stop().then(() => (stopped = true));
    await settled();
    expect(stopped).toBe(false);
    port.answerHanging({ kind: 'changed' });
    await stop;
  });

  it('lets the call in flight still say that the message was lost', async () => {
    const { clock, port, hold } = setUp();
    port.answer = undefined;
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(INTERVAL_MS);
    const stop = heartbeat.stop();
    port.answerHanging(gone);
    await stop;
    expect(heartbeat).toMatchObject({ running: false, error: { code: 'VISIBILITY_LOST' }, signal: { aborted: true } });
  });

  it('waits for at most an interval and 5 s, then warns', async () => {
    const { clock, port, logger, hold } = setUp();
    port.answer = () => new Promise(() => undefined);
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(INTERVAL_MS);
    let stopped = false;
    const stop = heartbeat.stop().then(() => (stopped = true));
    await clock.advance(INTERVAL_MS + 4_999);
    expect(stopped).toBe(false);
    await clock.advance(1);
    await stop;
    expect(logger.warnings).toEqual(['A visibility renewal is still in flight after the stop']);
  });

  it('is legal before a start and again after a stop', async () => {
    const { port, hold } = setUp();
    const heartbeat = hold();
    await heartbeat.stop();
    heartbeat.start();
    await Promise.all([heartbeat.stop(), heartbeat.stop()]);
    await heartbeat.stop();
    expect(heartbeat.running).toBe(false);
    expect(port.calls).toHaveLength(0);
  });
});

onEachClock('many visibility heartbeats', () => {
  it('share one timer and calls of at most 10 for each queue', async () => {
    const { clock, port, hold } = setUp();
    const held = Array.from({ length: 23 }, (_, index) => hold(`handle-${index}`));
    held.push(hold('other', 'https://sqs.test/other'));
    for (const heartbeat of held) heartbeat.start();
    expect(clock.sleepers).toBe(1);
    await clock.advance(INTERVAL_MS);
    expect(port.calls.map(({ queueUrl, changes }) => [queueUrl, changes.length])).toEqual([
      [QUEUE, 10],
      [QUEUE, 10],
      [QUEUE, 3],
      ['https://sqs.test/other', 1],
    ]);
    expect(port.calls.flatMap(({ changes }) => changes).map(({ receiptHandle }) => receiptHandle)).toHaveLength(24);
    for (const heartbeat of held) await heartbeat.stop();
  });

  it('read the answer entry by entry: one lost or failed does not touch its neighbours', async () => {
    const { clock, port, hold } = setUp();
    port.answer = async () => [{ kind: 'changed' }, gone, failed];
    const [renewed, lost, retried] = [hold('a'), hold('b'), hold('c')];
    for (const heartbeat of [renewed, lost, retried]) heartbeat.start();
    await clock.advance(INTERVAL_MS);
    expect([renewed.running, lost.running, retried.running]).toEqual([true, false, true]);
    port.answer = async ({ changes }) => changes.map(() => ({ kind: 'changed' }));
    await clock.advance(INTERVAL_MS / 2);
    expect(port.calls[1]?.changes).toEqual([{ receiptHandle: 'c', timeoutS: TIMEOUT_S }]);
    await Promise.all([renewed.stop(), lost.stop(), retried.stop()]);
  });

  it('are not held up by a call that hangs for others', async () => {
    const { clock, port, hold } = setUp();
    port.answer = ({ changes, queueUrl }) =>
      queueUrl === QUEUE ? Promise.resolve(changes.map(() => ({ kind: 'changed' }))) : new Promise(() => undefined);
    const [healthy, hanging] = [hold(), hold('x', 'https://sqs.test/other')];
    healthy.start();
    hanging.start();
    await clock.advance(3 * INTERVAL_MS);
    expect(port.calls.filter(({ queueUrl }) => queueUrl === QUEUE)).toHaveLength(3);
    expect(healthy.running).toBe(true);
    await healthy.stop();
  });

  it('take along what is due soon', async () => {
    const { clock, port, hold } = setUp();
    const first = hold('a');
    first.start();
    await clock.advance(1_500);
    const second = hold('b');
    second.start();
    await clock.advance(INTERVAL_MS - 1_500);
    expect(port.calls.map(({ changes }) => changes.length)).toEqual([2]);
    await Promise.all([first.stop(), second.stop()]);
  });

  it('treat a second delivery of a message as an entry of its own', async () => {
    const { clock, port, hold } = setUp();
    const [first, second] = [hold('delivery-1'), hold('delivery-2')];
    first.start();
    second.start();
    await second.stop();
    await clock.advance(INTERVAL_MS);
    expect(port.calls.map(({ changes }) => changes)).toEqual([[{ receiptHandle: 'delivery-1', timeoutS: TIMEOUT_S }]]);
    await first.stop();
  });
});

describe('a renewal that falls due while the clock is looked at', () => {
  it.each(Array.from({ length: 6 }, (_, looks) => looks))('is sent, be it after %i looks', async (looks) => {
    const clock = new RestlessClock();
    const { port, hold } = setUp(undefined, clock);
    const [first, second] = [hold('first'), hold('second')];
    first.start();
    clock.approach(looks);
    second.start();
    await second.stop();
    await clock.advance(HAIR_MS);
    expect(port.calls).toHaveLength(1);
    await first.stop();
  });
});

onEachClock('the 12 hours that SQS allows', () => {
  it('are never asked beyond, and end the heartbeat with words', async () => {
    const { clock, port, metrics, hold } = setUp({ intervalMs: 3_600_000, timeoutS: 14_400 });
    const heartbeat = hold();
    heartbeat.start();
    // SQS takes whole seconds: a renewal that comes a hair late asks for one second less.
    await clock.advance(43_198_000 - HAIR_MS);
    expect(heartbeat.running).toBe(true);
    for (const { atMs, changes } of port.calls) expect(atMs / 1_000 + (changes[0]?.timeoutS ?? 0)).toBeLessThanOrEqual(43_199);
    expect([14_398, 14_399]).toContain(port.calls.at(-1)?.changes[0]?.timeoutS);
    await clock.advance(1_000 + HAIR_MS);
    expect(heartbeat).toMatchObject({ running: false, error: { code: 'VISIBILITY_CAP_REACHED' }, signal: { aborted: true } });
    expect(metrics.outcomes.at(-1)).toBe('capped');
  });

  it('are never spent on a renewal that would shorten what the message has', async () => {
    const { clock, port, hold } = setUp({ intervalMs: 1_000, timeoutS: 43_200 });
    const heartbeat = hold();
    heartbeat.start();
    await clock.advance(60_000);
    expect(port.calls).toHaveLength(0);
    expect(heartbeat.running).toBe(true);
    await heartbeat.stop();
  });
});

onEachClock('the settings of visibility heartbeats', () => {
  it.each([
    [{ intervalMs: 0, timeoutS: 60 }, 'without a pause'],
    [{ intervalMs: -1, timeoutS: 60 }, 'without a pause'],
    [{ intervalMs: Number.NaN, timeoutS: 60 }, 'without a pause'],
    [{ intervalMs: 20_001, timeoutS: 60 }, 'show the message to a second worker'],
    [{ intervalMs: 1_000, timeoutS: 43_201 }, 'reject every renewal'],
    [{ intervalMs: 1_000, timeoutS: 0 }, 'reject every renewal'],
    [{ intervalMs: 1, timeoutS: 1.5 }, 'reject every renewal'],
  ])('%j are refused with the harm named', (settings, harm) => {
    expect(() => setUp(settings)).toThrow(
      expect.objectContaining({ code: 'VISIBILITY_SETTINGS', disposition: 'fatal', message: expect.stringContaining(harm) }),
    );
  });

  it('are refused without a queue or a handle', () => {
    const { hold } = setUp();
    expect(() => hold('')).toThrow('needs a queue URL and a receipt handle');
    expect(() => hold('handle', '')).toThrow('needs a queue URL and a receipt handle');
  });
});
