import { EventEmitter } from 'node:events';
import { beforeEach, expect, it } from '@jest/globals';
import { Lifecycle, type DrainDeadlines, type LifecyclePart, type LifecycleStep } from '../../../src/platform/lifecycle.js';
import { deferred } from '../../support/deferred.js';
import { RecordingLogger } from '../../support/fakes/recording-logger.js';
import { newClock, onEachClock } from '../../support/each-clock.js';
import { settled, type FakeClock } from '../../support/fake-clock.js';

const BUDGET_MS = 25_000;
const STEPS: LifecycleStep[] = ['http', 'coordinator', 'worker-pool', 'batch-consumer', 'job-consumer', 'heartbeat-orchestrator'];
const NEVER = () => new Promise<void>(() => undefined);

let clock: FakeClock;
let logger: RecordingLogger;
let lifecycle: Lifecycle;
let events: string[];
let deadlines: DrainDeadlines | undefined;

beforeEach(() => {
  clock = newClock();
  logger = new RecordingLogger();
  lifecycle = new Lifecycle({ shutdownTimeoutMs: BUDGET_MS }, clock, logger);
  events = [];
  for (const step of STEPS) register(step);
  lifecycle.onClose(() => void events.push('close clients'));
});

function register(step: LifecycleStep, over: LifecyclePart = {}): void {
  lifecycle.register(step, {
    start: () => void events.push(`start ${step}`),
    quiesce: () => void events.push(`quiesce ${step}`),
    drain: async (given) => {
      deadlines = given;
      events.push(`drain ${step}`);
    },
    stop: () => void events.push(`stop ${step}`),
    ...over,
  });
}

const only = (phase: string) => events.filter((event) => event.startsWith(phase)).map((event) => event.slice(phase.length + 1));
const shutDown = async () => {
  const done = lifecycle.shutdown();
  await clock.advance(BUDGET_MS);
  await done;
};

onEachClock('start', () => {
  it('starts the parts in order, each after the one before has started, and is ready then', async () => {
    const started = deferred();
    register('worker-pool', { start: () => started.promise });
    const start = lifecycle.start();
    await settled();
    expect(only('start')).toEqual(['http', 'coordinator']);
    expect(lifecycle.ready).toBe(false);
    started.resolve();
    await start;
    expect(only('start')).toEqual(STEPS.filter((step) => step !== 'worker-pool'));
    expect(lifecycle.ready).toBe(true);
  });

  it('tells the phase of its life', async () => {
    const phases = [lifecycle.phase];
    register('worker-pool', { start: () => void phases.push(lifecycle.phase) });
    await lifecycle.start();
    phases.push(lifecycle.phase);
    register('job-consumer', { drain: async () => void phases.push(lifecycle.phase) });
    await shutDown();
    phases.push(lifecycle.phase);
    expect(phases).toEqual(['starting', 'starting', 'ready', 'draining', 'draining']);
  });

  it('starts once, however often it is asked', async () => {
    await lifecycle.start();
    await lifecycle.start();
    expect(only('start')).toEqual(STEPS);
  });

  it('stops what had started when a part fails, and throws what that part threw', async () => {
    register('batch-consumer', { start: () => Promise.reject(new Error('no queue')) });
    const start = lifecycle.start();
    const failed = expect(start).rejects.toThrow('no queue');
    await clock.advance(BUDGET_MS);
    await failed;
    expect(only('start')).toEqual(['http', 'coordinator', 'worker-pool']);
    expect(only('stop')).toContain('worker-pool');
    expect(lifecycle.ready).toBe(false);
  });

  it('says with the facts of the service that it has started, once all parts have', async () => {
    register('worker-pool', {});
    await lifecycle.start({ version: '1.2.3', bucket: 'exports' });
    const [started] = logger.events.filter(({ message }) => message === 'Service started');
    expect(started?.fields).toEqual({ version: '1.2.3', bucket: 'exports', startMs: expect.any(Number) as unknown });
  });

  it('starts no further part, and is never ready, when a signal comes while one is starting', async () => {
    const started = deferred();
    register('worker-pool', { start: () => started.promise });
    const start = lifecycle.start();
    await settled();
    const done = lifecycle.shutdown();
    started.resolve();
    await clock.advance(BUDGET_MS);
    await Promise.all([start, done]);
    expect(only('start')).toEqual(['http', 'coordinator']);
    expect(lifecycle.ready).toBe(false);
    expect(logger.messages('info')).not.toContain('Service started');
  });
});

onEachClock('shutdown', () => {
  it('is not ready at once; then all stop receiving, all drain, parts stop in reverse order, clients close last', async () => {
    await lifecycle.start();
    const done = lifecycle.shutdown();
    expect(lifecycle.ready).toBe(false);
    await done;
    const phases = events.slice(STEPS.length).map((event) => event.split(' ')[0]);
    expect(phases).toEqual([...STEPS.map(() => 'quiesce'), ...STEPS.map(() => 'drain'), ...STEPS.map(() => 'stop'), 'close']);
    expect(only('stop')).toEqual(STEPS.toReversed());
  });

  it('gives running work 60 % of the budget, and 85 % to hand everything back', async () => {
    await clock.advance(1_000);
    await shutDown();
    expect(deadlines).toEqual({ finishBy: clock.about(1_000 + BUDGET_MS * 0.6), handBackBy: clock.about(1_000 + BUDGET_MS * 0.85) });
  });

  it('runs once, however often it is asked', async () => {
    await Promise.all([lifecycle.shutdown(), lifecycle.shutdown()]);
    await lifecycle.shutdown();
    expect(only('stop')).toHaveLength(STEPS.length);
  });

  it('is legal before start, and nothing starts after it', async () => {
    await shutDown();
    await lifecycle.start();
    expect(only('stop')).toHaveLength(STEPS.length);
    expect(only('start')).toEqual([]);
  });

  it('leaves no timer behind', async () => {
    await lifecycle.start();
    await lifecycle.shutdown();
    expect(clock.sleepers).toBe(0);
  });

  it('tells each part when it should have stopped, so that those after it have time', async () => {
    let told = 0;
    register('worker-pool', { stop: (by) => void (told = by) });
    await lifecycle.start();
    const startedAt = clock.monotonicMs();
    await shutDown();
    expect(told).toEqual(clock.about(startedAt + BUDGET_MS * 0.95));
  });

  it.each(['quiesce', 'drain', 'stop'] as const)('goes on when a part fails in %s', async (phase) => {
    register('batch-consumer', { [phase]: () => Promise.reject(new Error('broken')) });
    await lifecycle.start();
    await lifecycle.shutdown();
    expect(events.at(-1)).toBe('close clients');
    expect(only('stop')).toContain('http');
    expect(logger.events).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ part: 'batch-consumer', phase }) }),
    );
  });

  it.each(['quiesce', 'drain', 'stop'] as const)(
    'ends within its budget when a part hangs in %s, and closes the clients',
    async (phase) => {
      register('batch-consumer', { [phase]: NEVER });
      await lifecycle.start();
      let done = false;
      const shutdown = lifecycle.shutdown().then(() => (done = true));
      await clock.advance(BUDGET_MS);
      expect(done).toBe(true);
      await shutdown;
      expect(events.at(-1)).toBe('close clients');
      expect(logger.messages('error')).toContain('A part did not stop in time and is left behind');
    },
  );

  it('ends within its budget when everything hangs', async () => {
    for (const step of STEPS) register(step, { quiesce: NEVER, drain: NEVER, stop: NEVER });
    lifecycle.onClose(NEVER);
    await lifecycle.start();
    let done = false;
    const shutdown = lifecycle.shutdown().then(() => (done = true));
    await clock.advance(BUDGET_MS);
    expect(done).toBe(true);
    await shutdown;
  });
});

onEachClock('signals', () => {
  const signalled = () => {
    const source = new EventEmitter();
    const codes: number[] = [];
    lifecycle.handleSignals(source, (code) => void codes.push(code));
    return { source, codes };
  };

  it.each(['SIGTERM', 'SIGINT'])('%s shuts down and exits with 0', async (signal) => {
    const { source, codes } = signalled();
    await lifecycle.start();
    source.emit(signal);
    await clock.advance(BUDGET_MS);
    expect(codes).toEqual([0]);
    expect(events.at(-1)).toBe('close clients');
  });

  it('exits with 0 also when a part failed: what it held is safe in the tables', async () => {
    const { source, codes } = signalled();
    register('batch-consumer', { drain: () => Promise.reject(new Error('broken')) });
    await lifecycle.start();
    source.emit('SIGTERM');
    await clock.advance(BUDGET_MS);
    expect(codes).toEqual([0]);
  });

  const drainingSignalled = async () => {
    const { source, codes } = signalled();
    register('worker-pool', { drain: NEVER });
    await lifecycle.start();
    source.emit('SIGTERM');
    await settled();
    return { source, codes };
  };

  it('exits with 1 at once on a second signal', async () => {
    const { source, codes } = await drainingSignalled();
    await clock.advance(600);
    await settled();
    source.emit('SIGINT');
    expect(codes).toEqual([1]);
    await clock.advance(BUDGET_MS);
  });

  it('The same signal again is no second one: npm passes on what its process group got', async () => {
    const { source, codes } = await drainingSignalled();
    source.emit('SIGTERM');
    await clock.advance(400);
    source.emit('SIGINT');
    expect(codes).toEqual([]);
    await clock.advance(BUDGET_MS);
    expect(codes).toEqual([0]);
  });

  it('exits with 1 at once on a first signal while a failed start is shut down', async () => {
    const { source, codes } = signalled();
    register('worker-pool', { start: () => Promise.reject(new Error('broken')), drain: NEVER });
    const start = expect(lifecycle.start()).rejects.toThrow('broken');
    await settled();
    source.emit('SIGTERM');
    expect(codes).toEqual([1]);
    await clock.advance(BUDGET_MS);
    await start;
  });
});
