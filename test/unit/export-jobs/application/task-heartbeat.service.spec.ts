import { beforeEach, expect, it } from '@jest/globals';
import { TaskHeartbeatService } from '../../../../src/export-jobs/application/task-heartbeat.service.js';
import type { TokenAnswer } from '../../../../src/export-jobs/application/step-functions.port.js';
import type { ExportJobEntity } from '../../../../src/export-jobs/domain/export-job.entity.js';
import { aJob, TOKEN, withoutToken } from '../../../support/builders.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';
import { aFinisher } from '../../../support/finisher.js';

const INVALID: TokenAnswer = { kind: 'invalid-token' };
const THROTTLED: TokenAnswer = { kind: 'unavailable', reason: 'ThrottlingException', maybeApplied: false };

let f: ReturnType<typeof aFinisher>;
let heartbeats: TaskHeartbeatService;
const running = new AbortController();

beforeEach(() => {
  f = aFinisher();
  f.jobs.put(aJob());
  const settings = { maxBeatsPerSecond: 100, stateMachineHeartbeatS: 150 };
  heartbeats = new TaskHeartbeatService(settings, f.stepFunctions, f.jobs, f.cancelJob, f.clock, f.logger, f.metrics);
});

const beat = async (job: ExportJobEntity = f.jobs.get('job-1')) => {
  const sent = heartbeats.beat(job, undefined, running.signal);
  await f.clock.advance(20);
  await sent;
};

/** Jobs with tokens of their own that a process has beaten before. */
const aFleet = (count: number): ExportJobEntity[] => {
  const fleet = Array.from({ length: count }, (_, index) =>
    aJob({ jobId: `job-${index}`, taskToken: `token-${index}`, lastHeartbeatAt: '2026-01-01T00:00:00.000Z' }),
  );
  f.jobs.put(...fleet);
  return fleet;
};

const beatAll = async (fleet: readonly ExportJobEntity[]) => {
  const all = (async () => {
    for (const job of fleet) await heartbeats.beat(job, undefined, running.signal);
  })();
  await f.clock.advance(60_000);
  await all;
  heartbeats.endTurn();
  await heartbeats.idle();
};

const statuses = (fleet: readonly ExportJobEntity[]) => new Set(fleet.map(({ jobId }) => f.jobs.get(jobId).status));

onEachClock('an accepted beat', () => {
  it('is recorded with the time before the call', async () => {
    f.gate.next('sendHeartbeat', () => f.clock.sleep(3_000));
    await heartbeats.beat(aJob(), undefined, running.signal);
    await f.clock.advance(3_000);
    expect(f.jobs.get('job-1').lastHeartbeatAt).toBe('2026-01-01T00:00:00.000Z');
    expect(f.metrics.total('heartbeat_success_total')).toBe(1);
  });

  it('is not sent for a job without a token', async () => {
    await beat(withoutToken(aJob()));
    await heartbeats.beatNow(withoutToken(aJob()));
    expect(f.stepFunctions.heartbeats).toEqual([]);
  });

  it('counts although it could not be recorded', async () => {
    f.gate.next('recordHeartbeat', 'unavailable');
    await beat();
    expect(f.metrics.total('heartbeat_success_total')).toBe(1);
    heartbeats.endTurn();
    await heartbeats.idle();
    expect(f.logger.messages('error')).toEqual(['Task heartbeats could not be recorded']);
  });

  it('leaves one line a turn when a hundred could not be recorded', async () => {
    f.gate.next('recordHeartbeat', ...Array.from({ length: 100 }, () => 'unavailable' as const));
    for (let index = 0; index < 100; index++) await beat();
    heartbeats.endTurn();
    await heartbeats.idle();
    expect(f.logger.messages('error')).toEqual(['Task heartbeats could not be recorded']);
  });

  it('tells how late it was for its slot', async () => {
    await f.clock.advance(2_500);
    await heartbeats.beat(aJob(), 1_000, running.signal);
    const late = f.metrics.observations.find(({ name }) => name === 'heartbeat_lateness_seconds');
    expect((late?.value ?? NaN) * 1_000).toEqual(f.clock.about(1_500));
  });
});

onEachClock('a failing beat', () => {
  it('throws nothing, changes no job, and is tried again sooner than the next turn', async () => {
    f.stepFunctions.answerNext(THROTTLED);
    await beat();
    expect(f.jobs.get('job-1').status).toBe('DOWNLOADING');
    await f.clock.advance(2_500);
    expect(f.stepFunctions.heartbeats).toHaveLength(2);
    expect(f.metrics.increments).toContainEqual({ name: 'heartbeat_failure_total', value: 1, labels: { reason: 'unavailable' } });
  });

  it('throws nothing when the port itself throws', async () => {
    f.gate.next('sendHeartbeat', 'unavailable');
    await expect(heartbeats.beatNow(aJob())).resolves.toBeUndefined();
  });

  it('gives its second try up when the process stops', async () => {
    const stopping = new AbortController();
    f.stepFunctions.answerNext(THROTTLED);
    await heartbeats.beat(aJob(), undefined, stopping.signal);
    await settled();
    stopping.abort();
    await heartbeats.idle();
    expect(f.stepFunctions.heartbeats).toHaveLength(1);
    expect(f.clock.sleepers).toBe(0);
  });

  it('never logs the token', async () => {
    f.stepFunctions.answerNext(THROTTLED, INVALID, { kind: 'gone', code: 'TaskTimedOut' });
    await beat();
    await f.clock.advance(2_500);
    await beat();
    expect(JSON.stringify(f.logger.events)).not.toContain(TOKEN);
  });
});

onEachClock('the sums of beats', () => {
  /** Reasons of the failures, after it has been asserted that each beat has succeeded or failed. */
  const failures = () => {
    const [sent, succeeded, failed] = ['sent', 'success', 'failure'].map((what) => f.metrics.total(`heartbeat_${what}_total`));
    expect(sent).toBe((succeeded ?? NaN) + (failed ?? NaN));
    return f.metrics.increments.filter(({ name }) => name === 'heartbeat_failure_total').map(({ labels }) => labels.reason);
  };

  it.each<[string, Partial<ExportJobEntity>, string]>([
    ['is being answered', { status: 'FINALIZING' }, 'answered'],
    ['is active', {}, 'gone'],
    ['has ended since the look', { status: 'COMPLETED' }, 'gone'],
  ])('hold of a dead token whose job %s', async (_case, over, reason) => {
    const seen = aJob({ ...over, status: over.status === 'FINALIZING' ? 'FINALIZING' : 'DOWNLOADING' });
    f.jobs.put(aJob(over));
    f.stepFunctions.close(TOKEN);
    await beat(seen);
    expect(failures()).toEqual([reason]);
  });

  it('hold when the job of a dead token could not be cancelled, and when it was tried again', async () => {
    f.gate.next('cancelDead', 'unavailable');
    f.stepFunctions.close(TOKEN);
    await beat();
    await beat();
    expect(failures()).toEqual(['gone', 'gone']);
  });

  it('hold of a garbled token that was accepted before: it fails once', async () => {
    await beatAll([f.jobs.get('job-1')]);
    f.stepFunctions.answerNext(INVALID);
    await beatAll([f.jobs.get('job-1')]);
    expect(failures()).toEqual(['invalid-token']);
  });

  it('hold of proofs, of ports that throw, and while a beat is under way', async () => {
    f.stepFunctions.close('another token');
    await heartbeats.prove('another token', running.signal);
    f.gate.next('sendHeartbeat', 'unavailable', () => f.clock.sleep(3_000));
    await beat();
    await beat();
    expect(failures()).toEqual(['gone', 'unknown']);
    await f.clock.advance(3_000);
    expect(failures()).toEqual(['gone', 'unknown']);
    expect(f.metrics.total('heartbeat_success_total')).toBe(1);
  });
});

onEachClock('a beat that is answered gone', () => {
  beforeEach(() => f.stepFunctions.close(TOKEN));

  it('cancels the job and its batches', async () => {
    await beat();
    expect(f.jobs.get('job-1').status).toBe('CANCELLED');
    expect(f.batches.cancelled).toEqual([{ jobId: 'job-1', run: 1 }]);
    expect(f.metrics.total('executions_gone_total')).toBe(1);
  });

  it('leaves a job alone that has got a live token since the look', async () => {
    const seen = f.jobs.get('job-1');
    f.jobs.put(aJob({ taskToken: 'a new token', attempt: 2 }));
    await beat(seen);
    expect(f.jobs.get('job-1')).toMatchObject({ status: 'DOWNLOADING', taskToken: 'a new token' });
  });

  it('No cancel out of FINALIZING: it is the echo of our own answer', async () => {
    f.jobs.put(aJob({ status: 'FINALIZING' }));
    await beat();
    expect(f.jobs.get('job-1').status).toBe('FINALIZING');
    expect(f.metrics.total('executions_gone_total')).toBe(0);
  });

  it('counts no execution as gone when the job has been answered and ended since the look', async () => {
    const seen = f.jobs.get('job-1');
    f.jobs.put(withoutToken(aJob({ status: 'COMPLETED' })));
    await beat(seen);
    expect(f.jobs.get('job-1').status).toBe('COMPLETED');
    expect(f.metrics.total('executions_gone_total')).toBe(0);
  });

  it('counts a timeout when the last accepted beat is older than HeartbeatSeconds', async () => {
    const { stepFunctions } = aFinisher();
    const again = new TaskHeartbeatService(
      { maxBeatsPerSecond: 100, stateMachineHeartbeatS: 150 },
      stepFunctions,
      f.jobs,
      f.cancelJob,
      f.clock,
      f.logger,
      f.metrics,
    );
    await again.beatNow(aJob());
    await f.clock.advance(151_000);
    stepFunctions.close(TOKEN);
    await again.beatNow(aJob());
    expect(f.metrics.total('stepfunctions_timeout_total')).toBe(1);
  });

  it('counts no timeout when the execution was stopped soon after an accepted beat', async () => {
    await beat();
    expect(f.metrics.total('stepfunctions_timeout_total')).toBe(0);
  });
});

onEachClock('a beat that is answered InvalidToken', () => {
  it('cancels nothing when the token was never accepted', async () => {
    f.stepFunctions.answerNext(INVALID);
    await beatAll([f.jobs.get('job-1')]);
    expect(f.jobs.get('job-1').status).toBe('DOWNLOADING');
    expect(f.logger.messages('error')).toHaveLength(1);
  });

  it('cancels a job whose token was accepted before', async () => {
    await beatAll([f.jobs.get('job-1')]);
    f.stepFunctions.answerNext(INVALID);
    await beatAll([f.jobs.get('job-1')]);
    expect(f.jobs.get('job-1').status).toBe('CANCELLED');
  });

  it('cancels a job whose token another process had accepted', async () => {
    f.jobs.put(aJob({ lastHeartbeatAt: '2026-01-01T00:00:00.000Z' }));
    f.stepFunctions.answerNext(INVALID);
    await beatAll([f.jobs.get('job-1')]);
    expect(f.jobs.get('job-1').status).toBe('CANCELLED');
  });

  it('cancels nothing when all beats of a turn are answered so: it is our own configuration', async () => {
    const fleet = aFleet(8);
    f.stepFunctions.answerNext(...fleet.map(() => INVALID));
    await beatAll(fleet);
    expect(statuses(fleet)).toEqual(new Set(['DOWNLOADING']));
  });

  it('cancels nothing when all beats of a turn are answered so after many good turns', async () => {
    const fleet = aFleet(8);
    for (let turn = 0; turn < 10; turn++) await beatAll(fleet);
    f.stepFunctions.answerNext(...fleet.map(() => INVALID));
    await beatAll(fleet);
    expect(statuses(fleet)).toEqual(new Set(['DOWNLOADING']));
  });

  it('cancels the one among many good ones', async () => {
    const fleet = aFleet(8);
    f.stepFunctions.answerNext({ kind: 'accepted' }, { kind: 'accepted' }, INVALID);
    await beatAll(fleet);
    expect(fleet.map(({ jobId }) => f.jobs.get(jobId).status).filter((status) => status === 'CANCELLED')).toHaveLength(1);
  });
});

onEachClock('the token bucket', () => {
  it('sends no more than so many beats a second, and none of them is lost', async () => {
    const fleet = aFleet(250);
    const sending = (async () => {
      for (const job of fleet) await heartbeats.beat(job, undefined, running.signal);
    })();
    await f.clock.advance(1_000);
    expect(f.stepFunctions.heartbeats.length).toBeLessThanOrEqual(101);
    await f.clock.advance(1_500);
    await sending;
    expect(new Set(f.stepFunctions.heartbeats).size).toBe(250);
  });

  it('does not save up what was not used', async () => {
    await f.clock.advance(60_000);
    const fleet = aFleet(10);
    const sending = (async () => {
      for (const job of fleet) await heartbeats.beat(job, undefined, running.signal);
    })();
    await settled();
    expect(f.stepFunctions.heartbeats).toHaveLength(1);
    await f.clock.advance(1_000);
    await sending;
  });
});

onEachClock('a token that is to be proved', () => {
  const prove = async (signal: AbortSignal = running.signal) => {
    const proof = heartbeats.prove('another token', signal);
    await f.clock.advance(60_000);
    return proof;
  };

  it.each<[string, TokenAnswer, unknown]>([
    ['accepted', { kind: 'accepted' }, { kind: 'alive' }],
    ['gone', { kind: 'gone', code: 'TaskTimedOut' }, { kind: 'dead' }],
    ['of no use to us', INVALID, { kind: 'dead' }],
  ])('is asked for once when it is %s, and nothing is cancelled', async (_case, answer, proof) => {
    f.stepFunctions.answerNext(answer);
    await expect(prove()).resolves.toEqual(proof);
    expect(f.metrics.total('heartbeat_sent_total')).toBe(1);
    expect(f.jobs.get('job-1').status).toBe('DOWNLOADING');
  });

  it('is asked for again as long as Step Functions does not say, for half a minute', async () => {
    f.stepFunctions.answerNext(...Array.from({ length: 7 }, () => THROTTLED));
    await expect(prove()).resolves.toEqual({ kind: 'alive' });
    f.stepFunctions.answerNext(...Array.from({ length: 8 }, () => THROTTLED));
    await expect(prove()).resolves.toEqual({ kind: 'unproved', reason: 'ThrottlingException' });
    expect(f.clock.sleepers).toBe(0);
  });

  it('is not asked for after a shutdown', async () => {
    await expect(prove(AbortSignal.abort())).resolves.toEqual({ kind: 'unproved', reason: 'interrupted' });
    expect(f.stepFunctions.heartbeats).toEqual([]);
  });
});

onEachClock('a service whose role may not send beats', () => {
  it('says once a turn, at error level, which permission is missing; the work goes on', async () => {
    const forbidden: TokenAnswer = { kind: 'not-allowed', reason: 'AccessDeniedException', detail: 'role x is not authorized' };
    const fleet = aFleet(5);
    f.stepFunctions.answerNext(...fleet.map(() => forbidden));
    await beatAll(fleet);
    expect(f.logger.messages('error')).toEqual([expect.stringContaining('states:SendTaskHeartbeat')]);
    expect(f.metrics.increments).toContainEqual({ name: 'heartbeat_failure_total', value: 1, labels: { reason: 'not-allowed' } });
    expect(statuses(fleet)).toEqual(new Set(['DOWNLOADING']));
  });
});
