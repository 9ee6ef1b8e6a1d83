import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { slotOf, type HeartbeatOrchestratorService } from '../../../../src/export-jobs/application/heartbeat-orchestrator.service.js';
import { ownerOf } from '../../../../src/export-jobs/domain/rendezvous.js';
import { aPlan, withoutToken } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import { aSummary } from '../../../support/finisher.js';
import { aJobNamed, anOrchestrator, INTERVAL_MS, STALL_TIMEOUT_MS, tokenOf } from '../../../support/orchestrator.js';

let f: ReturnType<typeof anOrchestrator>;
let orchestrator: HeartbeatOrchestratorService;

beforeEach(() => {
  f = anOrchestrator();
  orchestrator = f.create();
});
afterEach(async () => {
  await orchestrator.stop();
  expect(f.clock.sleepers).toBe(0);
});

/** One turn, with time enough for the token bucket. */
const trigger = async () => {
  const turn = orchestrator.triggerHeartbeat();
  await f.clock.advance(1_500);
  return turn;
};

onEachClock('one turn', () => {
  it('beats jobs with a token, none without, and none that ended', async () => {
    f.jobs.put(
      aJobNamed('a', { status: 'PROCESSING' }),
      aJobNamed('b'),
      aJobNamed('c', { status: 'FINALIZING' }),
      withoutToken(aJobNamed('d')),
      aJobNamed('e', { status: 'COMPLETED' }),
    );
    await expect(trigger()).resolves.toEqual({ active: 4, mine: 4, beats: 3, finishes: 0, repairs: 0 });
    expect([...f.beats.keys()].sort()).toEqual(['token of a', 'token of b', 'token of c']);
    expect(f.metrics.last('jobs_active_with_token')).toBe(3);
    expect(f.metrics.last('jobs_active_without_token')).toBe(1);
  });

  it('beats each of 1,000 active jobs once', async () => {
    f.jobs.put(...Array.from({ length: 1_000 }, (_, index) => aJobNamed(`job-${index}`)));
    await expect(trigger()).resolves.toMatchObject({ active: 1_000, beats: 1_000 });
    expect(f.beats.size).toBe(1_000);
    expect([...f.beats.values()].every((times) => times.length === 1)).toBe(true);
    expect(f.metrics.total('heartbeat_success_total')).toBe(1_000);
  });

  it('sends the messages of jobs whose window is not full, and of no others', async () => {
    const plan = aPlan({ totalTasks: 100, batchCount: 20 });
    f.jobs.put(
      aJobNamed('a', { plan, sentBatches: 3 }),
      aJobNamed('b', { plan, sentBatches: 8 }),
      aJobNamed('c', { plan, sentBatches: 0, status: 'PROCESSING' }),
    );
    await trigger();
    expect(f.batches.sent.map(({ batchNo }) => batchNo)).toEqual([3, 4, 5, 6, 7]);
    expect(f.jobs.get('a').sentBatches).toBe(8);
  });

  it('lets no beat wait for the messages of a job', async () => {
    const sending = deferred();
    f.gate.next('sendBatches', () => sending.promise);
    f.jobs.put(aJobNamed('a', { plan: aPlan({ totalTasks: 100, batchCount: 20 }), sentBatches: 3 }));
    await expect(trigger()).resolves.toMatchObject({ beats: 1 });
    sending.resolve();
  });

  it.each(['PROCESSING', 'FINALIZING'] as const)(
    'leaves the window as it is for jobs that are %s, because they take no batches',
    async (status) => {
      f.jobs.put(...Array.from({ length: 100 }, (_, index) => aJobNamed(`job-${index}`, { status })));
      await trigger();
      expect(f.window.size).toBe(8);
    },
  );

  it('counts the jobs that download, whosever they are: the more there are, the smaller is the window of each', async () => {
    expect(f.window.size).toBe(8);
    f.jobs.put(...Array.from({ length: 16 }, (_, index) => aJobNamed(`job-${index}`)));
    await trigger();
    expect(f.window.size).toBe(4);
    f.coordinators.others = ['another'];
    await trigger();
    expect(f.window.size).toBe(8);
  });

  it('keeps to the jobs that are mine among the living', async () => {
    f.coordinators.others = ['another'];
    const names = Array.from({ length: 20 }, (_, index) => `job-${index}`);
    f.jobs.put(...names.map((name) => aJobNamed(name)));
    await trigger();
    const mine = names.filter((name) => ownerOf(name, ['me', 'another']) === 'me');
    expect([...f.beats.keys()].sort()).toEqual(mine.map(tokenOf).sort());
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
    expect(f.beats.size).toBe(2);
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
    expect(f.turns()).toBe(1);
    expect(f.beatsOf('a')).toHaveLength(1);
  });

  it('sends no beat when disabled via configuration, and still finishes jobs', async () => {
    orchestrator = f.create({ heartbeatEnabled: false });
    f.jobs.put(aJobNamed('a', { completedTasks: 10 }));
    f.batches.rows = [aSummary(0), aSummary(1)];
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS);
    expect(f.beats.size).toBe(0);
    expect(f.jobs.get('a').status).toBe('COMPLETED');
    expect(f.logger.messages('info')[0]).toMatch(/^Heartbeat orchestrator disabled via configuration/);
  });
});

onEachClock('the loop', () => {
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
      const [first = NaN, ...others] = f.beatsOf(name);
      expect(first).toBeLessThan(10);
      expect(others).toEqual([0, 1, 2, 3].map((turn) => f.clock.about(turn * INTERVAL_MS + slot)));
    }
  });

  it('beats a job at once that it did not beat in the last turn: its former owner may have died', async () => {
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 1);
    f.jobs.put(aJobNamed('late'));
    await f.clock.advance(2);
    expect(f.beatsOf('late')).toEqual([f.clock.about(INTERVAL_MS)]);
  });

  it('goes on after a turn that failed, and after a beat that failed', async () => {
    f.jobs.put(aJobNamed('a'));
    f.gate.next('listActive', 'unavailable');
    f.gate.next('sendHeartbeat', 'unavailable');
    orchestrator.start();
    await f.clock.advance(3 * INTERVAL_MS);
    expect(f.beatsOf('a').length).toBeGreaterThanOrEqual(2);
    expect(f.logger.messages('error')).toContain('Active jobs could not be read in time; those of the last look are beaten');
  });

  it('beats the jobs of the last look while the tables cannot be read, but none for longer than the stall timeout', async () => {
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 1);
    f.gate.next('listActive', ...Array.from({ length: 30 }, () => 'unavailable' as const));
    await f.clock.advance(10 * INTERVAL_MS);
    const slot = slotOf('a', INTERVAL_MS);
    expect(f.beatsOf('a').slice(1)).toEqual(
      Array.from({ length: 11 }, (_, turn) => turn * INTERVAL_MS + slot)
        .filter((at) => at < 11 * INTERVAL_MS)
        .map((at) => f.clock.about(at)),
    );
    await f.clock.advance(20 * INTERVAL_MS);
    expect(f.beatsOf('a').at(-1)).toBeLessThan(STALL_TIMEOUT_MS + INTERVAL_MS);
  });

  it('never overlaps turns, and never catches up on those that a slow look has cost', async () => {
    f.gate.next('listActive', () => f.clock.sleep(4.5 * INTERVAL_MS));
    orchestrator.start();
    await f.clock.advance(4.5 * INTERVAL_MS - 1);
    expect(f.turns()).toBe(0);
    await f.clock.advance(INTERVAL_MS / 4);
    expect(f.turns()).toBeLessThanOrEqual(2);
    await f.clock.advance(INTERVAL_MS / 2);
    expect(f.turns()).toBeLessThanOrEqual(3);
  });

  it('beats from memory while a look is slow, which goes on for the next turn', async () => {
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await f.clock.advance(INTERVAL_MS - 1);
    f.gate.next('listActive', () => f.clock.sleep(3.5 * INTERVAL_MS));
    await f.clock.advance(4 * INTERVAL_MS);
    const slot = slotOf('a', INTERVAL_MS);
    const lateness = f
      .beatsOf('a')
      .slice(1)
      .map((at, turn) => at - turn * INTERVAL_MS - slot);
    expect(lateness).toHaveLength(5);
    expect(Math.max(...lateness)).toBeLessThanOrEqual(INTERVAL_MS / 3);
    expect(f.turns()).toBe(2);
  });

  it('does not skip a whole turn because the last one ended a moment late', async () => {
    orchestrator = f.create({ maxBeatsPerSecond: 1 });
    const names = Array.from({ length: 200 }, (_, index) => `job-${index}`).filter(
      (name) => slotOf(name, INTERVAL_MS) > INTERVAL_MS - 1_000,
    );
    f.jobs.put(...names.slice(0, 3).map((name) => aJobNamed(name)));
    orchestrator.start();
    await f.clock.advance(5 * INTERVAL_MS);
    const atSlots = names.slice(0, 3).map((name) => f.beatsOf(name).slice(1));
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
    expect(f.beatsOf('a')).toHaveLength(2);
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

  it('speaks in the health answer of a first turn that hangs', async () => {
    const listing = deferred();
    f.gate.next('listActive', () => listing.promise);
    orchestrator.start();
    await f.clock.advance(10 * INTERVAL_MS);
    expect(orchestrator.problem).toMatch(/^no turn for \d+ s$/);
    listing.resolve();
  });

  it('may be stopped before it started, and started again after a stop', async () => {
    await orchestrator.stop();
    f.jobs.put(aJobNamed('a'));
    orchestrator.start();
    await settled();
    await orchestrator.stop();
    orchestrator.start();
    await settled();
    expect(f.turns()).toBe(2);
  });
});
