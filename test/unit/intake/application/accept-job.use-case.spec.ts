import { beforeEach, expect, it } from '@jest/globals';
import { aJob, aJobWithoutPlan, aPlan, aRequest, anOutcome, TOKEN, withoutToken } from '../../../support/builders.js';
import { anIntake } from '../../../support/intake.js';
import { StoreError } from '../../../../src/shared/index.js';
import { onEachClock } from '../../../support/each-clock.js';
import { settled } from '../../../support/fake-clock.js';

const NEW = 'token-of-the-second-attempt';
const UNAVAILABLE = { kind: 'unavailable', reason: 'ThrottlingException', maybeApplied: false } as const;
const ENDED = { totalTasks: 0, batchCount: 0 };

let i: ReturnType<typeof anIntake>;
const running = new AbortController().signal;
beforeEach(() => {
  i = anIntake();
});

const accept = (over: Parameters<typeof aRequest>[0] = {}) => i.acceptAndAnswer(aRequest(over), running);
const job = () => i.jobs.get('job-1');

onEachClock('a new job', () => {
  it('is created, beaten at once, and is to be expanded', async () => {
    await expect(accept()).resolves.toBe('expand');
    expect(job()).toMatchObject({ status: 'PROCESSING', run: 1, attempt: 1, taskToken: TOKEN });
    expect(i.stepFunctions.heartbeats).toEqual([TOKEN]);
    expect(i.results.objects.get(job().requestKey)).toBe('{"jobId":"job-1"}');
  });

  it('is beaten before anything else is done for it', async () => {
    await accept();
    expect(i.gate.calls.slice(0, 2)).toEqual(['createIfAbsent', 'sendHeartbeat']);
  });

  it('is not beaten when heartbeats are disabled, nor without a token', async () => {
    i = anIntake({ heartbeatEnabled: false });
    await accept();
    const { taskToken: _token, ...request } = aRequest({ jobId: 'job-2' });
    await i.acceptAndAnswer(request, running);
    expect(i.stepFunctions.heartbeats).toEqual([]);
  });

  it('is accepted although its first beat fails', async () => {
    i.stepFunctions.answerNext(UNAVAILABLE);
    await expect(accept()).resolves.toBe('expand');
  });

  it('is cancelled at once when its execution is gone already', async () => {
    i.stepFunctions.close(TOKEN);
    await accept();
    expect(job().status).toBe('CANCELLED');
  });

  it('leaves its message when the table cannot be asked', async () => {
    i.gate.next('createIfAbsent', 'unavailable');
    await expect(accept()).rejects.toThrow('unavailable');
  });

  it('survives a lost reply: the message comes again and goes on', async () => {
    i.gate.next('createIfAbsent', 'lost-reply');
    await expect(accept()).rejects.toThrow('lost');
    await expect(accept()).resolves.toBe('expand');
    expect(job().attempt).toBe(1);
  });
});

onEachClock('the bucket of a request', () => {
  it('that is missing is told at once, after the first beat', async () => {
    i.destinations.found = 'missing';
    await expect(accept()).rejects.toMatchObject({
      code: 'DESTINATION_MISSING',
      disposition: 'reject',
      message: expect.stringMatching(/destination\.bucket exports does not exist \(NoSuchBucket\): create it/) as unknown,
    });
    expect(i.stepFunctions.heartbeats).toEqual([TOKEN]);
    expect(i.gate.calls).not.toContain('saveRequest');
  });

  it('that is found missing only when the request is saved is told in the same way', async () => {
    i.results.failsWith = new StoreError({ bucket: 'exports', key: 'k', permission: 's3:PutObject' }, 'NoSuchBucket', { mayPass: false });
    await expect(accept()).rejects.toMatchObject({ code: 'DESTINATION_MISSING', disposition: 'reject' });
  });

  it('that cannot be told holds nobody up', async () => {
    i.destinations.found = 'unknown';
    await expect(accept()).resolves.toBe('expand');
  });

  it('is not looked at again once the job is planned', async () => {
    i.destinations.found = 'missing';
    i.jobs.put(aJob({ status: 'PROCESSING' }));
    await expect(accept()).resolves.toBe('expand');
  });

  const CALL = { bucket: 'exports', key: 'k', permission: 's3:PutObject' };

  it('DestinationRefused: one that closes itself to the request holds no acceptance, and refuses it for good within seconds', async () => {
    i.results.failsWith = new StoreError(CALL, 'AccessDenied', { mayPass: false });
    const accepted = await i.acceptJob.accept(aRequest(), running);
    expect(i.clock.monotonicMs()).toEqual(i.clock.about(0));
    const saved = Object(accepted) as { saveAgain: () => Promise<void> };
    const refused = expect(saved.saveAgain()).rejects.toMatchObject({
      code: 'DESTINATION_REFUSED',
      disposition: 'reject',
      message: 's3:PutObject on s3://exports/k failed: AccessDenied',
    });
    await i.clock.advance(20_000);
    await refused;
    expect(i.clock.sleepers).toBe(0);
  });

  it('that opens while its policy becomes known takes the job', async () => {
    i.results.failsWith = new StoreError(CALL, 'AccessDenied', { mayPass: false });
    const accepted = accept();
    await settled();
    i.results.failsWith = undefined;
    await i.clock.advance(20_000);
    await expect(accepted).resolves.toBe('expand');
    expect(i.results.objects.has(job().requestKey)).toBe(true);
  });

  it('that refuses lets go of its message when it is interrupted', async () => {
    i.results.failsWith = new StoreError(CALL, 'AccessDenied', { mayPass: false });
    const stopping = new AbortController();
    const accepted = i.acceptAndAnswer(aRequest(), stopping.signal);
    await settled();
    stopping.abort();
    await expect(accepted).rejects.toMatchObject({ disposition: 'yield' });
    expect(i.clock.sleepers).toBe(0);
  });

  it('that cannot be written now is a setback of this job alone', async () => {
    i.results.failsWith = new StoreError(CALL, 'SlowDown', { mayPass: true });
    await expect(accept()).rejects.toMatchObject({ name: 'JobSetback', code: 'SlowDown', disposition: 'retry' });
  });
});

onEachClock('the same message again', () => {
  it('Same token in PROCESSING: always continue, with a beat', async () => {
    i.jobs.put(aJobWithoutPlan());
    await expect(accept()).resolves.toBe('expand');
    expect(i.stepFunctions.heartbeats).toEqual([TOKEN]);
  });

  it.each(['DOWNLOADING', 'FINALIZING'] as const)('changes nothing in %s', async (status) => {
    i.jobs.put(aJob({ status }));
    await expect(accept()).resolves.toBe('acknowledge');
    expect(job()).toEqual(aJob({ status }));
    expect(i.stepFunctions.heartbeats).toEqual([]);
  });

  it('changes nothing after the end: its token is dead', async () => {
    const ended = withoutToken(aJob({ status: 'COMPLETED', outcome: anOutcome() }));
    i.jobs.put(ended);
    i.stepFunctions.close(TOKEN);
    await expect(accept()).resolves.toBe('acknowledge');
    expect(job()).toEqual(ended);
    expect(i.stepFunctions.answers).toEqual([]);
  });
});

onEachClock('another request under the jobId', () => {
  it('is refused with JobIdConflict, and the job is left alone', async () => {
    i.jobs.put(aJob());
    await expect(accept({ taskToken: NEW, requestHash: 'hash-2' })).resolves.toBe('acknowledge');
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: NEW, kind: 'failure', error: 'JobIdConflict' }]);
    expect(job()).toEqual(aJob());
  });

  it('leaves its message when it could not be answered before the shutdown', async () => {
    i.jobs.put(aJob());
    i.stepFunctions.answerNext(UNAVAILABLE);
    const stopping = new AbortController();
    const refused = i.acceptAndAnswer(aRequest({ taskToken: NEW, requestHash: 'hash-2' }), stopping.signal);
    await settled();
    stopping.abort();
    await expect(refused).rejects.toMatchObject({ disposition: 'yield' });
  });
});

onEachClock('another token', () => {
  it('Another token counts only after an accepted beat: a late duplicate of a dead one changes nothing', async () => {
    i.jobs.put(aJob());
    i.stepFunctions.close(NEW);
    await expect(accept({ taskToken: NEW })).resolves.toBe('acknowledge');
    expect(job()).toEqual(aJob());
  });

  it('Another token counts only after an accepted beat: a dead one does not replace another dead one', async () => {
    i.jobs.put(aJob());
    i.stepFunctions.close(TOKEN);
    i.stepFunctions.close(NEW);
    await expect(accept({ taskToken: NEW })).resolves.toBe('acknowledge');
    expect(job()).toEqual(aJob());
  });

  it('is proved even when heartbeats are disabled', async () => {
    i = anIntake({ heartbeatEnabled: false });
    i.jobs.put(aJob());
    i.stepFunctions.close(TOKEN);
    await accept({ taskToken: NEW });
    expect(i.stepFunctions.heartbeats[0]).toBe(NEW);
    expect(job().taskToken).toBe(NEW);
  });

  it.each([UNAVAILABLE, { kind: 'key-unusable', reason: 'KmsAccessDenied' } as const])(
    'leaves its message when nobody can tell for half a minute whether it is alive: $kind',
    async (answer) => {
      i.jobs.put(aJob());
      i.stepFunctions.answerNext(...Array.from({ length: 8 }, () => answer));
      const left = expect(accept({ taskToken: NEW })).rejects.toMatchObject({ code: 'TOKEN_UNPROVED', disposition: 'retry' });
      await i.clock.advance(60_000);
      await left;
      expect(i.stepFunctions.heartbeats).toHaveLength(8);
      expect(job()).toEqual(aJob());
      expect(i.clock.sleepers).toBe(0);
    },
  );

  it('is asked for again while the account is throttled, and costs its message no receive', async () => {
    i.jobs.put(withoutToken(aJob()));
    i.stepFunctions.answerNext(UNAVAILABLE, UNAVAILABLE);
    const accepted = accept({ taskToken: NEW });
    await i.clock.advance(5_000);
    await expect(accepted).resolves.toBe('acknowledge');
    expect(job().taskToken).toBe(NEW);
  });

  it('is handed on by a shutdown that comes while it is asked for', async () => {
    i.jobs.put(aJob());
    i.stepFunctions.answerNext(UNAVAILABLE);
    const stopping = new AbortController();
    const accepted = i.acceptAndAnswer(aRequest({ taskToken: NEW }), stopping.signal);
    await settled();
    stopping.abort();
    await expect(accepted).rejects.toMatchObject({ code: 'TOKEN_UNPROVED', disposition: 'yield' });
    expect(i.clock.sleepers).toBe(0);
  });

  it('is proved in the same token bucket as every beat', async () => {
    i = anIntake({ maxBeatsPerSecond: 1 });
    const names = Array.from({ length: 5 }, (_, index) => `job-${index}`);
    for (const jobId of names) i.jobs.put(withoutToken(aJob({ jobId })));
    const accepted = Promise.all(names.map((jobId) => accept({ jobId, taskToken: `new token of ${jobId}` })));
    await i.clock.advance(2_500);
    expect(i.stepFunctions.heartbeats).toHaveLength(3);
    await i.clock.advance(2_500);
    await accepted;
    expect(i.stepFunctions.heartbeats).toHaveLength(5);
  });

  it('replaces a dead one while the job downloads: its batches go on', async () => {
    i.jobs.put(aJob());
    i.stepFunctions.close(TOKEN);
    await expect(accept({ taskToken: NEW })).resolves.toBe('acknowledge');
    expect(job()).toMatchObject({ status: 'DOWNLOADING', taskToken: NEW, attempt: 2, run: 1 });
  });

  it('After a replacement in PROCESSING the expansion goes on', async () => {
    i.jobs.put(aJobWithoutPlan());
    i.stepFunctions.close(TOKEN);
    await expect(accept({ taskToken: NEW })).resolves.toBe('expand');
    expect(job()).toMatchObject({ taskToken: NEW, attempt: 2 });
  });

  it('Row’s own token alive too → JobIdConflict for the new one', async () => {
    i.jobs.put(aJob());
    await expect(accept({ taskToken: NEW })).resolves.toBe('acknowledge');
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: NEW, error: 'JobIdConflict' }]);
    expect(job().taskToken).toBe(TOKEN);
  });

  it('Replace IF the token is as observed: one that came in since, alive, is not overwritten', async () => {
    i.jobs.put(aJob());
    i.stepFunctions.close(TOKEN);
    i.gate.next('replaceToken', () => void i.jobs.put(aJob({ taskToken: 'third', attempt: 2 })));
    await accept({ taskToken: NEW });
    expect(job().taskToken).toBe('third');
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: NEW, error: 'JobIdConflict' }]);
  });

  it('recognises its own replacement that the SDK’s retry met', async () => {
    i.jobs.put(aJob());
    i.stepFunctions.close(TOKEN);
    i.gate.next('replaceToken', 'retried');
    await expect(accept({ taskToken: NEW })).resolves.toBe('acknowledge');
    expect(job()).toMatchObject({ taskToken: NEW, attempt: 2 });
    expect(i.stepFunctions.answers).toEqual([]);
    expect(i.heartbeats.fresh.list()).toMatchObject([{ taskToken: NEW }]);
  });

  it('is known to the heartbeats at once, which beat it also while the tables cannot be read', async () => {
    i.jobs.put(aJob());
    i.stepFunctions.close(TOKEN);
    await accept({ taskToken: NEW });
    await accept({ jobId: 'job-2', taskToken: 'its own' });
    expect(i.heartbeats.fresh.list()).toMatchObject([{ taskToken: NEW }, { jobId: 'job-2' }]);
  });

  it('FINALIZING: never replace; it waits for its finisher and then acts on the end', async () => {
    i.jobs.put(aJob({ status: 'FINALIZING', outcome: anOutcome(), plan: aPlan(ENDED) }));
    i.stepFunctions.close(TOKEN);
    const accepted = accept({ taskToken: NEW });
    await i.completeJob.takeOver(job());
    await i.clock.advance(1_000);
    await expect(accepted).resolves.toBe('acknowledge');
    expect(i.gate.calls).not.toContain('replaceToken');
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: NEW, kind: 'success' }]);
    expect(job()).toMatchObject({ status: 'COMPLETED', attempt: 1 });
  });

  it('FINALIZING: it looks ever less often, keeps its token alive, and after a minute the message comes again', async () => {
    i.jobs.put(aJob({ status: 'FINALIZING', outcome: anOutcome() }));
    const accepted = expect(accept({ taskToken: NEW })).rejects.toMatchObject({ code: 'JOB_STILL_FINALIZING', disposition: 'yield' });
    await i.clock.advance(61_000);
    expect(i.clock.sleepers).toBe(1);
    await i.clock.advance(1_000);
    await accepted;
    expect(i.stepFunctions.heartbeats).toEqual(Array.from({ length: 8 }, () => NEW));
    expect(i.clock.sleepers).toBe(0);
    expect(i.stepFunctions.answers).toEqual([]);
  });

  it('is answered as a completed job was', async () => {
    i.jobs.put(withoutToken(aJob({ status: 'COMPLETED', outcome: anOutcome(), resultKey: 'run-1/manifest.json', completedTasks: 10 })));
    await expect(accept({ taskToken: NEW })).resolves.toBe('acknowledge');
    expect(JSON.parse(i.stepFunctions.answers[0]?.output ?? '')).toMatchObject({
      status: 'COMPLETED',
      completedTasks: 10,
      result: { key: 'run-1/manifest.json' },
    });
  });

  it.each(['FAILED', 'CANCELLED'] as const)('After a reopening the expansion goes on: a %s job is to be expanded', async (status) => {
    const error = { code: 'JobStalled', message: 'no progress' } as const;
    i.jobs.put(withoutToken(aJob({ status, error, completedTasks: 3, outcome: anOutcome({ status, error }) })));
    await expect(accept({ taskToken: NEW })).resolves.toBe('expand');
    expect(job()).toMatchObject({ status: 'PROCESSING', run: 2, attempt: 2, taskToken: NEW, completedTasks: 0 });
    expect(job()).not.toHaveProperty('outcome');
    expect(i.stepFunctions.answers).toEqual([]);
  });

  it('Another token counts only after an accepted beat: a dead one reopens nothing', async () => {
    const ended = withoutToken(aJob({ status: 'FAILED' }));
    i.jobs.put(ended);
    i.stepFunctions.close(NEW);
    await expect(accept({ taskToken: NEW })).resolves.toBe('acknowledge');
    expect(job()).toEqual(ended);
  });

  it('of two executions that find the same ended job, one reopens it and the other gets JobIdConflict', async () => {
    i.jobs.put(withoutToken(aJob({ status: 'FAILED' })));
    const byAnother = () => i.reopenJob.reopen(job(), 'third').then(() => undefined);
    i.gate.next('reopen', byAnother);
    await expect(accept({ taskToken: NEW })).resolves.toBe('acknowledge');
    expect(job()).toMatchObject({ run: 2, attempt: 2, taskToken: 'third' });
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: NEW, error: 'JobIdConflict' }]);
  });

  it('FINALIZING: never replace; when that ends in failure, the job is reopened', async () => {
    const error = { code: 'JobCompletedWithFailures', message: '1 failed' } as const;
    i.jobs.put(aJob({ status: 'FINALIZING', outcome: anOutcome({ status: 'FAILED', error }), plan: aPlan(ENDED) }));
    const accepted = accept({ taskToken: NEW });
    await i.completeJob.takeOver(job());
    await i.clock.advance(1_000);
    await expect(accepted).resolves.toBe('expand');
    expect(i.stepFunctions.answers).toMatchObject([{ taskToken: TOKEN, kind: 'failure' }]);
    expect(job()).toMatchObject({ status: 'PROCESSING', run: 2, taskToken: NEW });
  });

  it('leaves its message when the table cannot say whether the job is reopened', async () => {
    i.jobs.put(withoutToken(aJob({ status: 'FAILED' })));
    i.gate.next('reopen', 'unavailable');
    await expect(accept({ taskToken: NEW })).rejects.toThrow('unavailable');
    expect(job().run).toBe(1);
  });

  it('gives a token to a job that was sent without one', async () => {
    i.jobs.put(withoutToken(aJob({ attempt: 0 })));
    await accept({ taskToken: NEW });
    expect(job()).toMatchObject({ taskToken: NEW, attempt: 1 });
  });

  it('never shows up in a log', async () => {
    i.jobs.put(aJob());
    await accept({ taskToken: NEW });
    expect(JSON.stringify(i.logger.events)).not.toMatch(/token-of/);
  });
});
