import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { HeartbeatOrchestratorService } from '../../../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import { aPlan } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { aSummary } from '../../../support/finisher.js';
import { aJobNamed, anOrchestrator, INTERVAL_MS, REPAIR_AFTER_MS, STALL_TIMEOUT_MS } from '../../../support/orchestrator.js';
import { onEachClock } from '../../../support/each-clock.js';

let f: ReturnType<typeof anOrchestrator>;
let orchestrator: HeartbeatOrchestratorService;

onEachClock('a job without progress', () => {
  const running = () => aSummary(0, { status: 'running', completed: 2, lockToken: 1, progressedAt: 'at first' });
  /** The job has been counted as far as its batch has come. */
  const stuck = () =>
    aJobNamed('a', { completedTasks: 2, bytesProcessed: 50, batchProgress: new Map([[0, { completed: 2, failed: 0, bytes: 50 }]]) });
  const status = () => f.jobs.get('a').status;

  beforeEach(() => {
    f = anOrchestrator();
    orchestrator = f.create();
    f.jobs.put(stuck());
    f.batches.rows = [running()];
  });
  afterEach(async () => {
    await orchestrator.stop();
    expect(f.clock.sleepers).toBe(0);
  });

  it('is looked into after JOB_REPAIR_AFTER_MS, and beaten meanwhile', async () => {
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS - 1);
    expect(f.gate.calls).not.toContain('listBatches');
    await f.clock.advance(INTERVAL_MS);
    expect(f.gate.calls).toContain('listBatches');
    expect(f.beatsOf('a').length).toBeGreaterThanOrEqual(5);
  });

  it('of which nothing moves ends as JobStalled after the stall timeout, and is not beaten from then on', async () => {
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + STALL_TIMEOUT_MS + 2 * INTERVAL_MS);
    expect(status()).toBe('FAILED');
    expect(f.jobs.get('a').error?.code).toBe('JobStalled');
    // The first look into it counts as a sign of life: nothing was seen before.
    const last = f.beatsOf('a').at(-1) ?? NaN;
    expect(last).toBeLessThan(REPAIR_AFTER_MS + STALL_TIMEOUT_MS + INTERVAL_MS);
    expect(f.metrics.total('jobs_stalled_total')).toBe(1);
    expect(f.batches.cancelled).toEqual([{ jobId: 'a', run: 1 }]);
  });

  it('Ages on my own clock, by what I saw move: stays alive as long as its batch moves bytes', async () => {
    orchestrator.start();
    for (let minute = 0; minute < 60; minute++) {
      f.batches.rows = [{ ...running(), progressedAt: `minute ${minute}` }];
      await f.clock.advance(60_000);
    }
    expect(status()).toBe('DOWNLOADING');
    expect(f.beatsOf('a').length).toBeGreaterThanOrEqual(119);
  });

  it('stays alive while it waits out a Retry-After of 300 s, as long as its holder beats', async () => {
    orchestrator.start();
    for (let minute = 0; minute < 40; minute++) {
      f.batches.rows = [{ ...running(), heartbeatAt: `minute ${minute}`, pausedMs: 300_000 - (minute % 5) * 60_000 }];
      await f.clock.advance(60_000);
    }
    expect(status()).toBe('DOWNLOADING');
  });

  it('is not kept alive by a pause whose holder has gone silent', async () => {
    f.batches.rows = [{ ...running(), heartbeatAt: 'once', pausedMs: 300_000 }];
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + STALL_TIMEOUT_MS + 2 * INTERVAL_MS);
    expect(status()).toBe('FAILED');
  });

  it('stays alive while it waits in the queue behind a full pool', async () => {
    f.batches.rows = [aSummary(0, { status: 'queued', completed: 2 })];
    f.batches.queueEmpty = false;
    orchestrator.start();
    await f.clock.advance(3 * STALL_TIMEOUT_MS);
    expect(status()).toBe('DOWNLOADING');
  });

  it('stalls in the queue when nobody runs batches', async () => {
    f.batches.rows = [aSummary(0, { status: 'queued', completed: 2 })];
    f.coordinators.works = false;
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + STALL_TIMEOUT_MS + 2 * INTERVAL_MS);
    expect(status()).toBe('FAILED');
  });

  it('Batches of the job’s run only: rows that a reopening has not moved yet do not pass for waiting work', async () => {
    f.batches.rows = [aSummary(0, { status: 'queued', run: 0 })];
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + STALL_TIMEOUT_MS + 2 * INTERVAL_MS);
    expect(status()).toBe('FAILED');
  });

  it('Stalled IF lastProgressAt as observed: a count that lands between the look and the write saves it', async () => {
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + STALL_TIMEOUT_MS - 2 * INTERVAL_MS);
    f.gate.next('beginFinalizing', () => {
      f.jobs.put({ ...f.jobs.get('a'), lastProgressAt: 'a moment ago' });
    });
    await f.clock.advance(4 * INTERVAL_MS);
    expect(status()).toBe('DOWNLOADING');
    expect(f.gate.calls).toContain('beginFinalizing');
  });

  it('Ages on my own clock, by what I saw move: is not given up at the first look after the batches could not be read for a long time', async () => {
    f.gate.next('listBatches', ...Array.from({ length: 30 }, () => 'unavailable' as const));
    orchestrator.start();
    for (let minute = 0; minute < 30; minute++) {
      f.batches.rows = [{ ...running(), progressedAt: `minute ${minute}` }];
      await f.clock.advance(60_000);
    }
    expect(f.gate.calls).toContain('listBatches');
    expect(status()).toBe('DOWNLOADING');
  });

  it('Ages on my own clock, by what I saw move: is not given up for the time in which this process was frozen', async () => {
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + INTERVAL_MS);
    expect(f.gate.calls).toContain('listBatches');
    f.clock.jump(STALL_TIMEOUT_MS * 2);
    const wokeAt = f.clock.monotonicMs();
    await f.clock.advance(3 * INTERVAL_MS);
    expect(status()).toBe('DOWNLOADING');
    const first = f.beatsOf('a').find((at) => at >= wokeAt + INTERVAL_MS);
    expect(first).toBeLessThan(wokeAt + 2 * INTERVAL_MS);
  });

  it('is not given up at the first look after the batches, which it had looked at before, could not be read for a long time', async () => {
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + INTERVAL_MS);
    expect(f.gate.calls).toContain('listBatches');
    // Its holder is cut off, too: what is seen in the end is what was seen in the beginning.
    f.gate.next('listBatches', ...Array.from({ length: 30 }, () => 'unavailable' as const));
    await f.clock.advance(31 * INTERVAL_MS);
    expect(status()).toBe('DOWNLOADING');
  });

  it.each([
    ['the queue does not say whether it is empty', 'isQueueEmpty'],
    ['its messages cannot be sent again', 'sendAgain'],
  ])('stays alive by what its batches show, also while %s', async (_case, call) => {
    f.gate.next(call, ...Array.from({ length: 100 }, () => 'unavailable' as const));
    orchestrator.start();
    for (let minute = 0; minute < 30; minute++) {
      f.batches.rows = [{ ...running(), progressedAt: `minute ${minute}` }, aSummary(1, { status: 'queued', completed: 0, bytes: 0 })];
      await f.clock.advance(60_000);
    }
    expect(status()).toBe('DOWNLOADING');
    expect(f.beatsOf('a').length).toBeGreaterThanOrEqual(59);
  });

  it('that moves at the last moment is neither counted nor reported as stalled', async () => {
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + STALL_TIMEOUT_MS - 2 * INTERVAL_MS);
    f.gate.next('beginFinalizing', () => {
      f.jobs.put({ ...f.jobs.get('a'), lastProgressAt: 'a moment ago' });
    });
    await f.clock.advance(3 * INTERVAL_MS);
    expect([f.metrics.total('jobs_stalled_total'), f.logger.messages('error')]).toEqual([0, []]);
  });

  it('whose messages were lost gets them again, at the first look and then at most every JOB_REPAIR_AFTER_MS', async () => {
    f.batches.rows = [aSummary(0, { status: 'queued', completed: 2 })];
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + INTERVAL_MS);
    expect(f.batches.sentAgain).toEqual([0]);
    await f.clock.advance(REPAIR_AFTER_MS - INTERVAL_MS - 1);
    expect(f.batches.sentAgain).toEqual([0]);
    await f.clock.advance(2 * INTERVAL_MS);
    expect(f.batches.sentAgain).toEqual([0, 0]);
  });

  it('Finish and repair never stand in front of a beat: a repair that takes minutes delays none', async () => {
    const listing = deferred();
    f.gate.next('listBatches', () => listing.promise);
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + 4 * INTERVAL_MS);
    const times = f.beatsOf('a').slice(1);
    for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? NaN)).toEqual(f.clock.about(INTERVAL_MS));
    expect(times.length).toBeGreaterThanOrEqual(7);
    listing.resolve();
  });

  it('Count up lagging checkpoints, ended ones too: its holder died between the batch’s end and the last count', async () => {
    f.jobs.put({ ...stuck(), plan: aPlan({ totalTasks: 5, batchCount: 1 }) });
    f.batches.rows = [aSummary(0, { completed: 4, failed: 1 })];
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + INTERVAL_MS);
    expect(f.jobs.get('a')).toMatchObject({
      status: 'FAILED',
      completedTasks: 4,
      failedTasks: 1,
      error: { code: 'JobCompletedWithFailures' },
    });
  });
});
