import { beforeEach, describe, expect, it } from '@jest/globals';
import { aJob, anOutcome, TOKEN } from '../../../support/builders.js';
import { deferred } from '../../../support/deferred.js';
import { settled } from '../../../support/fake-clock.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';

const WHOLE = { completedTasks: 10, bytesProcessed: 100, endedBatches: new Set([0, 1]) };
const UNAVAILABLE = { kind: 'unavailable', reason: 'ThrottlingException', maybeApplied: false } as const;

let f: ReturnType<typeof aFinisher>;
beforeEach(() => {
  f = aFinisher();
  f.jobs.put(aJob(WHOLE));
  f.batches.rows = [aSummary(0), aSummary(1)];
});

const job = () => f.jobs.get('job-1');
const calls = (name: string) => f.gate.calls.filter((call) => call === name).length;

/** A finish that hangs at this call until it is let go. */
async function heldAt(call: string) {
  const { promise, resolve } = deferred();
  f.gate.next(call, () => promise);
  const finish = f.completeJob.complete('job-1');
  await settled();
  return { finish, letGo: () => resolve() };
}

describe('One finisher: the holder', () => {
  it('writes nothing for its lease in a finish that ends soon', async () => {
    await f.completeJob.complete('job-1');
    expect(f.gate.calls).toEqual(['find', 'beginFinalizing', 'listBatches', 'writeManifest', 'find', 'answerToken', 'end']);
    expect(job()).not.toHaveProperty('finisher');
    expect(f.clock.sleepers).toBe(0);
  });

  it('renews its lease every 20 s while its finish takes longer', async () => {
    const { finish, letGo } = await heldAt('writeManifest');
    const { id } = job().finisher ?? {};
    await f.clock.advance(61_000);
    expect(job().finisher).toEqual({ id, seq: 3 });
    letGo();
    await expect(finish).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toHaveLength(1);
    expect(f.clock.sleepers).toBe(0);
  });

  it('answers nothing once a renewal was refused', async () => {
    const { finish, letGo } = await heldAt('writeManifest');
    await f.another().takeOver(job());
    await f.clock.advance(20_000);
    letGo();
    await expect(finish).resolves.toBe('held');
    expect(calls('answerToken')).toBe(1);
    expect(job()).toMatchObject({ status: 'COMPLETED', callback: 'success' });
  });

  it('tries no more once a renewal was refused while Step Functions did not answer', async () => {
    f.stepFunctions.answerNext(...Array.from({ length: 1_000 }, () => UNAVAILABLE));
    const finish = f.completeJob.complete('job-1');
    await settled();
    await f.jobs.takeOverFinish(job(), 'another');
    await f.clock.advance(20_000);
    const tried = calls('answerToken');
    await f.clock.advance(15_000);
    await expect(finish).resolves.toBe('held');
    expect(calls('answerToken')).toBe(tried);
    expect(f.clock.sleepers).toBe(0);
  });

  it('answers nothing once it has gone 40 s without a renewal', async () => {
    const { finish, letGo } = await heldAt('writeManifest');
    f.gate.next('renewFinish', ...Array.from({ length: 20 }, () => 'unavailable' as const));
    await f.clock.advance(41_000);
    letGo();
    await expect(finish).resolves.toBe('held');
    expect(calls('answerToken')).toBe(0);
    expect(f.logger.messages('warn')).toContain('The lease of a finish is lost; another finisher answers the token');
  });

  it('goes on when a renewal failed and the next one succeeds', async () => {
    const { finish, letGo } = await heldAt('writeManifest');
    f.gate.next('renewFinish', 'lost-reply', 'unavailable');
    await f.clock.advance(60_000);
    letGo();
    await expect(finish).resolves.toBe('ended');
  });

  it('gives each renewal a number of its own: one whose reply was lost is not what others see twice', async () => {
    const { finish, letGo } = await heldAt('writeManifest');
    f.gate.next('renewFinish', 'lost-reply');
    await f.clock.advance(20_000);
    expect(job().finisher?.seq).toBe(1);
    await f.clock.advance(2_000);
    expect(job().finisher?.seq).toBe(2);
    letGo();
    await finish;
  });

  it('recognises its renewal that the SDK’s retry met', async () => {
    const { finish, letGo } = await heldAt('writeManifest');
    f.gate.next('renewFinish', 'retried');
    await f.clock.advance(20_000);
    letGo();
    await expect(finish).resolves.toBe('ended');
  });

  it('looks at its fence right before each call with the token: a process that was frozen between the look at the row and the call sends nothing', async () => {
    f.gate.next(
      'find',
      () => undefined,
      () => f.clock.jump(41_000),
    );
    await expect(f.completeJob.complete('job-1')).resolves.toBe('held');
    expect(calls('answerToken')).toBe(0);
    await expect(f.another().takeOver(job())).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toHaveLength(1);
  });

  it('looks at its fence before each further try, too', async () => {
    f.stepFunctions.answerNext(UNAVAILABLE);
    const finish = f.completeJob.complete('job-1');
    await settled();
    f.clock.jump(41_000);
    await f.clock.advance(1_000);
    await expect(finish).resolves.toBe('held');
    expect(calls('answerToken')).toBe(1);
    expect(f.stepFunctions.answers).toEqual([]);
  });

  it('that was frozen for longer than its lease while it wrote the manifest leaves the answer to its successor', async () => {
    const { finish, letGo } = await heldAt('writeManifest');
    f.clock.jump(120_000);
    await expect(f.another().takeOver(job())).resolves.toBe('ended');
    letGo();
    await expect(finish).resolves.toBe('held');
    expect(calls('answerToken')).toBe(1);
  });

  it('does not answer for a row that names another finisher', async () => {
    f.gate.next('writeManifest', () => void f.jobs.put({ ...job(), finisher: { id: 'another', seq: 0 } }));
    await expect(f.completeJob.complete('job-1')).resolves.toBe('held');
    expect(calls('answerToken')).toBe(0);
  });
});

describe('One finisher: the others', () => {
  const finalizing = { ...WHOLE, status: 'FINALIZING' as const, outcome: anOutcome(), finisher: { id: 'decider-1', seq: 4 } };

  it('never answer beside it', async () => {
    f.jobs.put(aJob(finalizing));
    await expect(f.completeJob.complete('job-1')).resolves.toBe('held');
    await expect(f.completeJob.fail('job-1', { code: 'ExportCancelled', message: 'asked' })).resolves.toBe('held');
    f.completeJob.helpAfter({ kind: 'counted', job: job() });
    await settled();
    expect(f.gate.calls).not.toContain('takeOverFinish');
    expect(f.stepFunctions.answers).toEqual([]);
  });

  it('take over by one write, IF the lease is as they saw it', async () => {
    f.jobs.put(aJob(finalizing));
    const observed = job();
    await f.jobs.renewFinish('job-1', 1, { id: 'decider-1', seq: 5 });
    await expect(f.completeJob.takeOver(observed)).resolves.toBe('held');
    expect(calls('answerToken')).toBe(0);
    await expect(f.completeJob.takeOver(job())).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toMatchObject([{ taskToken: TOKEN, kind: 'success' }]);
  });

  it('take over from a finisher of the former version, which has no lease', async () => {
    const { finisher: _none, ...former } = finalizing;
    f.jobs.put(aJob(former));
    await expect(f.completeJob.takeOver(job())).resolves.toBe('ended');
  });

  it.each(['lost-reply', 'retried'] as const)('recognise their takeover by its id after the fault %s', async (fault) => {
    f.jobs.put(aJob(finalizing));
    f.gate.next('takeOverFinish', fault);
    await expect(f.completeJob.takeOver(job())).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toHaveLength(1);
  });

  it('say so when a takeover did not come about', async () => {
    f.jobs.put(aJob(finalizing));
    f.gate.next('takeOverFinish', 'unavailable');
    await expect(f.completeJob.takeOver(job())).rejects.toThrow('unavailable');
    expect(job().finisher).toEqual(finalizing.finisher);
  });

  it('count their own lease from before the takeover', async () => {
    f.jobs.put(aJob(finalizing));
    f.gate.next('takeOverFinish', () => f.clock.jump(41_000));
    await expect(f.completeJob.takeOver(job())).resolves.toBe('held');
    expect(calls('answerToken')).toBe(0);
  });

  it('watch a job that is cancelled while its finisher lives, to its end', async () => {
    const { finish, letGo } = await heldAt('writeManifest');
    let looks = 0;
    const another = f.another();
    const watched = another.awaitOther('job-1', () => looks++);
    await f.clock.advance(120_000);
    letGo();
    await expect(finish).resolves.toBe('ended');
    await f.clock.advance(1_000);
    await expect(watched).resolves.toBe('ended');
    expect(looks).toBeGreaterThan(100);
    expect(calls('takeOverFinish')).toBe(0);
  });

  it('take a job over that they have watched for a minute without a renewal, and not before', async () => {
    f.jobs.put(aJob(finalizing));
    const watched = f.completeJob.awaitOther('job-1', () => undefined);
    await f.clock.advance(60_000);
    expect(calls('takeOverFinish')).toBe(0);
    await f.clock.advance(1_000);
    await expect(watched).resolves.toBe('ended');
    expect(f.stepFunctions.answers).toHaveLength(1);
  });

  it('stop watching when they are stopped', async () => {
    f.jobs.put(aJob(finalizing));
    const watched = f.completeJob.awaitOther('job-1', () => undefined);
    await settled();
    await f.completeJob.stop();
    await expect(watched).resolves.toBe('interrupted');
  });

  it('cancel: an operator who cancels a job that is being answered waits for its end', async () => {
    f.jobs.put(aJob(finalizing));
    const cancelled = f.cancelJob.cancel('job-1', 'asked');
    await f.clock.advance(61_000);
    await expect(cancelled).resolves.toBe('ended');
    expect(job().status).toBe('COMPLETED');
  });
});
