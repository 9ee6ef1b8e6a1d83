import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HeartbeatOrchestratorService, slotOf } from '../../../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import { JobCareService } from '../../../../src/export-jobs/application/job-care.service.js';
import { JobCounterService } from '../../../../src/export-jobs/application/job-counter.service.js';
import { RepairJobUseCase } from '../../../../src/export-jobs/application/repair-job.use-case.js';
import { TaskHeartbeatService } from '../../../../src/export-jobs/application/task-heartbeat.service.js';
import type { ExportJobEntity } from '../../../../src/export-jobs/domain/export-job.entity.js';
import { ownerOf } from '../../../../src/export-jobs/domain/rendezvous.js';
import { aJob, aPlan, withoutToken } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { FakeLiveCoordinators } from '../../../support/fakes/fake-job-ports.js';
import { settled } from '../../../support/fake-clock.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';

const INTERVAL_MS = 30_000;
const REPAIR_AFTER_MS = 120_000;
const STALL_TIMEOUT_MS = 600_000;

let f: ReturnType<typeof aFinisher>;
let coordinators: FakeLiveCoordinators;
let orchestrator: HeartbeatOrchestratorService;
/** When each token was beaten, in monotonic milliseconds. */
let beats: Map<string, number[]>;

function create({ heartbeatEnabled = true, maxBeatsPerSecond = 1_000 } = {}): HeartbeatOrchestratorService {
  const { stepFunctions, jobs, cancelJob, completeJob, clock, logger, metrics } = f;
  const heartbeats = new TaskHeartbeatService({ maxBeatsPerSecond }, stepFunctions, jobs, cancelJob, clock, logger, metrics);
  const limits = { repairAfterMs: REPAIR_AFTER_MS, stallTimeoutMs: STALL_TIMEOUT_MS };
  const settings = { heartbeatEnabled, heartbeatIntervalMs: INTERVAL_MS, ...limits };
  const services = { batches: f.batches, coordinators, counter: new JobCounterService(jobs), completeJob, clock, logger, metrics };
  const care = new JobCareService(completeJob, new RepairJobUseCase(limits, services), logger);
  return new HeartbeatOrchestratorService(settings, jobs, coordinators, heartbeats, care, clock, logger, metrics);
}

beforeEach(() => {
  f = aFinisher();
  coordinators = new FakeLiveCoordinators();
  orchestrator = create();
  beats = new Map();
  const { stepFunctions, clock } = f;
  const send = stepFunctions.sendHeartbeat.bind(stepFunctions);
  stepFunctions.sendHeartbeat = (token) => {
    beats.set(token, [...(beats.get(token) ?? []), clock.monotonicMs()]);
    return send(token);
  };
});

afterEach(async () => {
  await orchestrator.stop();
  expect(f.clock.sleepers).toBe(0);
});

const aJobNamed = (name: string, over: Partial<ExportJobEntity> = {}) => aJob({ jobId: name, taskToken: `token of ${name}`, ...over });
const beatsOf = (name: string) => beats.get(`token of ${name}`) ?? [];
/** One turn, with time enough for the token bucket. */
const trigger = async () => {
  const turn = orchestrator.triggerHeartbeat();
  await f.clock.advance(1_500);
  return turn;
};
const turns = () => f.gate.calls.filter((call) => call === 'listActive').length;

describe('one turn', () => {
  it('beats jobs with a token, none without, and none that ended', async () => {
    f.jobs.put(
      aJobNamed('a', { status: 'PROCESSING' }),
      aJobNamed('b'),
      aJobNamed('c', { status: 'FINALIZING' }),
      withoutToken(aJobNamed('d')),
      aJobNamed('e', { status: 'COMPLETED' }),
    );
    await expect(trigger()).resolves.toEqual({ active: 4, mine: 4, beats: 3, finishes: 0, repairs: 0 });
    expect([...beats.keys()].sort()).toEqual(['token of a', 'token of b', 'token of c']);
    expect(f.metrics.last('jobs_active_with_token')).toBe(3);
    expect(f.metrics.last('jobs_active_without_token')).toBe(1);
  });

  it('beats each of 1,000 active jobs once', async () => {
    f.jobs.put(...Array.from({ length: 1_000 }, (_, index) => aJobNamed(`job-${index}`)));
    await expect(trigger()).resolves.toMatchObject({ active: 1_000, beats: 1_000 });
    expect(beats.size).toBe(1_000);
    expect([...beats.values()].every((times) => times.length === 1)).toBe(true);
    expect(f.metrics.total('heartbeat_success_total')).toBe(1_000);
  });

  it('keeps to the jobs that are mine among the living', async () => {
    coordinators.others = ['another'];
    const names = Array.from({ length: 20 }, (_, index) => `job-${index}`);
    f.jobs.put(...names.map((name) => aJobNamed(name)));
    await trigger();
    const mine = names.filter((name) => ownerOf(name, ['me', 'another']) === 'me');
    expect([...beats.keys()].sort()).toEqual(mine.map((name) => `token of ${name}`).sort());
  });

  it('finishes a job that adds up, beside its beat', async () => {
    f.jobs.put(aJobNamed('a', { completedTasks: 10 }));
    f.batches.rows = [aSummary(0), aSummary(1)];
    await expect(trigger()).resolves.toMatchObject({ finishes: 1 });
    await f.completeJob.idle();
    expect(f.jobs.get('a').status).toBe('COMPLETED');
  });

  it('Finish and repair never stand in front of a beat: a finish that hangs delays none, and is begun once', async () => {
    const manifest = deferred();
    f.jobs.put(aJobNamed('a', { completedTasks: 10 }), aJobNamed('b'));
    f.batches.rows = [aSummary(0), aSummary(1)];
    f.gate.next('writeManifest', () => manifest.promise);
    const first = trigger();
    await settled();
    expect(beats.size).toBe(2);
    await expect(first).resolves.toMatchObject({ beats: 2, finishes: 1 });
    await expect(trigger()).resolves.toMatchObject({ beats: 2, finishes: 0 });
    manifest.resolve();
    await f.completeJob.idle();
    expect(f.jobs.get('a').status).toBe('COMPLETED');
  });

  it('takes over from a finisher that it has seen for more than a minute', async () => {
    const outcome = { status: 'COMPLETED' as const, decidedAt: 'then', decidedBy: 'a dead process' };
    f.jobs.put(aJobNamed('a', { completedTasks: 10, status: 'FINALIZING', outcome }));
    f.batches.rows = [aSummary(0), aSummary(1)];
    await trigger();
    await f.clock.advance(58_000);
    await expect(trigger()).resolves.toMatchObject({ finishes: 0 });
    await f.clock.advance(1_000);
    await expect(trigger()).resolves.toMatchObject({ finishes: 1 });
    await f.completeJob.idle();
    expect(f.jobs.get('a').status).toBe('COMPLETED');
  });

  it('is shared by those who ask for one while it runs', async () => {
    f.jobs.put(aJobNamed('a'));
    await Promise.all([orchestrator.triggerHeartbeat(), orchestrator.triggerHeartbeat()]);
    expect(turns()).toBe(1);
    expect(beatsOf('a')).toHaveLength(1);
  });

  it('sends no beat when disabled via configuration, and still finishes jobs', async () => {
    orchestrator = create({ heartbeatEnabled: false });
    f.jobs.put(aJobNamed('a', { completedTasks: 10 }));
    f.batches.rows = [aSummary(0), aSummary(1)];
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS);
    expect(beats.size).toBe(0);
    expect(f.jobs.get('a').status).toBe('COMPLETED');
    expect(f.logger.messages('info')[0]).toMatch(/^Heartbeat orchestrator disabled via configuration/);
  });
});

describe('the loop', () => {
  it('says that it started and how often it beats', async () => {
    orchestrator.start();
    orchestrator.start();
    await orchestrator.stop();
    expect(f.logger.messages('info')).toEqual(['Heartbeat orchestrator started (interval: 30000ms)', 'Heartbeat orchestrator stopped']);
  });

  it('beats a new job at once, and from then on at its slot, one interval apart', async () => {
    f.jobs.put(aJobNamed('a'), aJobNamed('b'));
    orchestrator.start();
    await f.clock.advance(4 * INTERVAL_MS - 1);
    for (const name of ['a', 'b']) {
      const slot = slotOf(name, INTERVAL_MS);
      const [first = NaN, ...others] = beatsOf(name);
      expect(first).toBeLessThan(10);
      expect(others).toEqual([0, 1, 2, 3].map((turn) => turn * INTERVAL_MS + slot));
    }
  });

  it('beats a job at once that it did not beat in the last turn: its former owner may have died', async () => {
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 1);
    f.jobs.put(aJobNamed('late'));
    await f.clock.advance(2);
    expect(beatsOf('late')).toEqual([INTERVAL_MS]);
  });

  it('goes on after a turn that failed, and after a beat that failed', async () => {
    f.jobs.put(aJobNamed('a'));
    f.gate.next('listActive', 'unavailable');
    f.gate.next('sendHeartbeat', 'unavailable');
    orchestrator.start();
    await f.clock.advance(3 * INTERVAL_MS);
    expect(beatsOf('a').length).toBeGreaterThanOrEqual(2);
    expect(f.logger.messages('error')).toContain('Active jobs could not be read in time; those of the last look are beaten');
  });

  it('beats the jobs of the last look while the tables cannot be read, but none for longer than the stall timeout', async () => {
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 1);
    f.gate.next('listActive', ...Array.from({ length: 30 }, () => 'unavailable' as const));
    await f.clock.advance(10 * INTERVAL_MS);
    const slot = slotOf('a', INTERVAL_MS);
    expect(beatsOf('a').slice(1)).toEqual(
      Array.from({ length: 11 }, (_, turn) => turn * INTERVAL_MS + slot).filter((at) => at < 11 * INTERVAL_MS),
    );
    await f.clock.advance(20 * INTERVAL_MS);
    expect(beatsOf('a').at(-1)).toBeLessThan(STALL_TIMEOUT_MS + INTERVAL_MS);
  });

  it('never overlaps turns, and never catches up on those that a slow look has cost', async () => {
    f.gate.next('listActive', () => f.clock.sleep(4.5 * INTERVAL_MS));
    orchestrator.start();
    await f.clock.advance(4.5 * INTERVAL_MS - 1);
    expect(turns()).toBe(0);
    await f.clock.advance(INTERVAL_MS / 4);
    expect(turns()).toBeLessThanOrEqual(2);
    await f.clock.advance(INTERVAL_MS / 2);
    expect(turns()).toBeLessThanOrEqual(3);
  });

  it('beats from memory while a look is slow, which goes on for the next turn', async () => {
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 1);
    f.gate.next('listActive', () => f.clock.sleep(3.5 * INTERVAL_MS));
    await f.clock.advance(4 * INTERVAL_MS);
    const slot = slotOf('a', INTERVAL_MS);
    const lateness = beatsOf('a')
      .slice(1)
      .map((at, turn) => at - turn * INTERVAL_MS - slot);
    expect(lateness).toHaveLength(5);
    expect(Math.max(...lateness)).toBeLessThanOrEqual(INTERVAL_MS / 3);
    expect(turns()).toBe(2);
  });

  it('does not skip a whole turn because the last one ended a moment late', async () => {
    orchestrator = create({ maxBeatsPerSecond: 1 });
    const names = Array.from({ length: 200 }, (_, index) => `job-${index}`).filter(
      (name) => slotOf(name, INTERVAL_MS) > INTERVAL_MS - 1_000,
    );
    f.jobs.put(...names.slice(0, 3).map((name) => aJobNamed(name)));
    orchestrator.start();
    await f.clock.advance(5 * INTERVAL_MS);
    const atSlots = names.slice(0, 3).map((name) => beatsOf(name).slice(1));
    const gaps = atSlots.flatMap((times) => times.slice(1).map((at, index) => at - (times[index] ?? NaN)));
    expect(gaps.length).toBeGreaterThanOrEqual(3);
    expect(Math.max(...gaps)).toBeLessThan(1.5 * INTERVAL_MS);
  });

  it('stops at once in a wait for a slot, and sends nothing more', async () => {
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS + 1);
    await orchestrator.stop();
    await f.clock.advance(2 * INTERVAL_MS);
    expect(beatsOf('a')).toHaveLength(2);
  });

  it('waits for the beats in flight before it reports that it stopped', async () => {
    const call = deferred();
    f.jobs.put(aJobNamed('a'));
    f.gate.next('sendHeartbeat', () => call.promise);
    orchestrator.start();
    await settled();
    const stopped = orchestrator.stop();
    await settled();
    expect(f.logger.messages('info')).not.toContain('Heartbeat orchestrator stopped');
    call.resolve();
    await stopped;
    expect(f.jobs.get('a')).toHaveProperty('lastHeartbeatAt');
  });

  it('tells health that it does not run, and that a turn hangs', async () => {
    expect(orchestrator.problem).toBe('not running');
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 1);
    f.clock.jump(10 * INTERVAL_MS);
    expect(orchestrator.problem).toMatch(/^no turn for \d+ s$/);
    await f.clock.advance(2 * INTERVAL_MS);
    expect(orchestrator.problem).toBeUndefined();
  });

  it('may be stopped before it started, and started again after a stop', async () => {
    await orchestrator.stop();
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await settled();
    await orchestrator.stop();
    orchestrator.start();
    await settled();
    expect(turns()).toBe(2);
  });
});

describe('a job without progress', () => {
  const running = () => aSummary(0, { status: 'running', completed: 2, lockToken: 1, progressedAt: 'at first' });
  /** The job has been counted as far as its batch has come. */
  const stuck = () =>
    aJobNamed('a', { completedTasks: 2, bytesProcessed: 50, batchProgress: new Map([[0, { completed: 2, failed: 0, bytes: 50 }]]) });
  const status = () => f.jobs.get('a').status;

  beforeEach(() => {
    f.jobs.put(stuck());
    f.batches.rows = [running()];
  });

  it('is looked into after JOB_REPAIR_AFTER_MS, and beaten meanwhile', async () => {
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS - 1);
    expect(f.gate.calls).not.toContain('listBatches');
    await f.clock.advance(INTERVAL_MS);
    expect(f.gate.calls).toContain('listBatches');
    expect(beatsOf('a').length).toBeGreaterThanOrEqual(5);
  });

  it('of which nothing moves ends as JobStalled after the stall timeout, and is not beaten from then on', async () => {
    orchestrator.start();
    await f.clock.advance(REPAIR_AFTER_MS + STALL_TIMEOUT_MS + 2 * INTERVAL_MS);
    expect(status()).toBe('FAILED');
    expect(f.jobs.get('a').error?.code).toBe('JobStalled');
    // The first look into it counts as a sign of life: nothing was seen before.
    const last = beatsOf('a').at(-1) ?? NaN;
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
    expect(beatsOf('a').length).toBeGreaterThanOrEqual(119);
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
    coordinators.works = false;
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
    const first = beatsOf('a').find((at) => at >= wokeAt + INTERVAL_MS);
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
    expect(beatsOf('a').length).toBeGreaterThanOrEqual(59);
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
    const times = beatsOf('a').slice(1);
    expect(times.slice(1).every((at, index) => at - (times[index] ?? NaN) === INTERVAL_MS)).toBe(true);
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
