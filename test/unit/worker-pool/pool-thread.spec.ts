import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { POOL_TIMINGS, PoolThread } from '../../../src/worker-pool/adapters/pool-thread.js';
import type { ThreadListener } from '../../../src/worker-pool/adapters/thread-channel.js';
import { SilentLogger } from '../../support/silent-logger.js';

const TIMINGS = { ...POOL_TIMINGS, restartBackoff: { baseMs: 1_000, capMs: 8_000 } };
let lives: ThreadListener[];
let thread: PoolThread;

beforeEach(() => {
  jest.useFakeTimers();
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
  lives = [];
  thread = new PoolThread(
    (listener) => {
      lives.push(listener);
      return { post: () => undefined, terminate: () => undefined };
    },
    { of: () => Promise.reject(new Error('no bucket is asked for')) },
    TIMINGS,
    new SilentLogger(),
    () => undefined,
  );
  thread.start();
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

const ready = () => lives.at(-1)?.onMessage({ type: 'READY', payload: {} });
/** Milliseconds from the end of one life to the next. */
const die = () => {
  const before = lives.length;
  lives.at(-1)?.onExit();
  for (let waitedMs = 0; ; waitedMs += 100) {
    if (lives.length > before) return waitedMs;
    jest.advanceTimersByTime(100);
  }
};

it('a thread that dies again and again without a result is replaced ever later, up to a limit', () => {
  const waits = Array.from({ length: 6 }, () => {
    ready();
    return die();
  });
  expect(waits).toEqual([1_000, 1_500, 2_500, 4_500, 4_500, 4_500]);
});

it('a thread that never boots in time is given up, though it says READY while it is ended', () => {
  for (let death = 1; death <= TIMINGS.maxBootDeaths; death++) {
    expect(thread.isGone).toBe(false);
    jest.advanceTimersByTime(TIMINGS.bootTimeoutMs);
    ready();
    expect(thread.isReady).toBe(false);
    if (death < TIMINGS.maxBootDeaths) die();
    else lives.at(-1)?.onExit();
  }
  expect(thread.isGone).toBe(true);
});

it('a thread that brought a result is replaced soon', () => {
  for (let death = 0; death < 3; death++) {
    ready();
    die();
  }
  ready();
  const error = { code: 'HTTP_404', message: 'gone', retryable: false };
  lives.at(-1)?.onMessage({ type: 'TASK_COMPLETED', payload: { taskId: 't', jobId: 'j', success: false, bytesProcessed: 0, error } });
  expect(die()).toBe(1_000);
});
