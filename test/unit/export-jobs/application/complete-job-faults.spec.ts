import { describe, expect, it } from '@jest/globals';
import type { ExportJobEntity } from '../../../../src/export-jobs/domain/export-job.entity.js';
import { aJob, TOKEN } from '../../../support/builders.js';
import { FaultError, type Fault } from '../../../support/fakes/gate.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';
import { onEachClock } from '../../../support/each-clock.js';

/** find, beginFinalizing, listBatches, writeManifest, find, answerToken, end. */
const STEPS_OF_A_FINISH = 7;
const WHOLE = aJob({ completedTasks: 10, endedBatches: new Set([0, 1]) });
const WITH_FAILURES = aJob({ completedTasks: 9, failedTasks: 1, endedBatches: new Set([0, 1]) });

function setUp(job: ExportJobEntity) {
  const finisher = aFinisher();
  finisher.jobs.put(job);
  finisher.batches.rows = [aSummary(0), aSummary(1)];
  /** Time passes until that is done. */
  const drive = async <T>(work: Promise<T>): Promise<T> => {
    const state = { isDone: false };
    void work.catch(() => undefined).finally(() => (state.isDone = true));
    while (!state.isDone) await finisher.clock.advance(500);
    return work;
  };
  /** Finishers, each of a new process that has seen the lease of the former one stand still, until one says that the job ended. */
  const insist = async () => {
    for (let tries = 0; tries < 10; tries++) {
      const observed = finisher.jobs.get('job-1');
      const next = finisher.another();
      const finish = observed.status === 'FINALIZING' ? next.takeOver(observed) : next.complete('job-1');
      const outcome = await drive(finish).catch(() => 'failed');
      if (outcome === 'ended') return;
    }
    throw new Error('the job never ended');
  };
  return { ...finisher, drive, insist };
}

describe.each([
  ['success', WHOLE, 'COMPLETED'],
  ['failure', WITH_FAILURES, 'FAILED'],
] as const)('a job that ends in %s', (kind, job, status) => {
  it.each(Array.from({ length: STEPS_OF_A_FINISH }, (_, index) => index + 1))(
    'is answered once, and in the same way, after a crash behind step %i',
    async (steps) => {
      const { jobs, gate, clock, stepFunctions, completeJob, insist } = setUp(job);
      gate.crashAfter(steps);
      const crashed = completeJob.complete('job-1').catch((error: unknown) => error);
      await clock.advance(5_000);
      await completeJob.stop();
      // Who has answered tries to write that down for as long as the process lives.
      expect(await crashed).toEqual(steps < STEPS_OF_A_FINISH ? expect.any(FaultError) : 'interrupted');
      const decided = jobs.get('job-1').outcome;
      gate.restart();
      await insist();
      expect(stepFunctions.answers).toMatchObject([{ taskToken: TOKEN, kind }]);
      expect(jobs.get('job-1').status).toBe(status);
      if (decided !== undefined) expect(jobs.get('job-1').outcome).toEqual(decided);
    },
  );

  it.each(
    ['beginFinalizing', 'writeManifest', 'end'].flatMap((step) =>
      (['lost-reply', 'retried', 'unavailable'] as const).map((fault): [string, Fault] => [step, fault]),
    ),
  )('is answered once when %s meets the fault %s', async (step, fault) => {
    const { jobs, gate, stepFunctions, insist } = setUp(job);
    gate.next(step, fault);
    await insist();
    expect(stepFunctions.answers).toMatchObject([{ kind }]);
    expect(jobs.get('job-1')).toMatchObject({ status, callback: kind });
  });

  it('asks Step Functions once although its end cannot be written for minutes', async () => {
    const { jobs, gate, drive, stepFunctions, completeJob } = setUp(job);
    gate.next('end', ...Array.from({ length: 100 }, () => 'unavailable' as const));
    await expect(drive(completeJob.complete('job-1'))).resolves.toBe('ended');
    expect(stepFunctions.gate.calls.filter((call) => call === 'answerToken')).toHaveLength(1);
    expect(jobs.get('job-1')).toMatchObject({ status, callback: kind });
  });

  it('is ended by the finisher whose decision was applied and whose reply was lost: nobody waits for another', async () => {
    const { gate, completeJob, stepFunctions } = setUp(job);
    gate.next('beginFinalizing', 'lost-reply');
    await expect(completeJob.complete('job-1')).resolves.toBe('ended');
    expect(stepFunctions.answers).toMatchObject([{ kind }]);
  });

  it('is left as it is by a finisher whose decision was not applied', async () => {
    const { gate, completeJob, jobs } = setUp(job);
    gate.next('beginFinalizing', 'unavailable');
    await expect(completeJob.complete('job-1')).rejects.toThrow('unavailable');
    expect(jobs.get('job-1')).toEqual(job);
  });

  it('is answered once by finishers of two processes at the same time', async () => {
    const { jobs, completeJob, another, stepFunctions, insist } = setUp(job);
    await Promise.all([completeJob.complete('job-1'), another().complete('job-1')]);
    await insist();
    expect(stepFunctions.answers).toHaveLength(1);
    expect(jobs.get('job-1').status).toBe(status);
  });

  it('is answered once by two finishers that both saw a third one fall silent', async () => {
    const outcome = { status, decidedAt: job.updatedAt, decidedBy: 'a process that died' };
    const { jobs, completeJob, another, stepFunctions } = setUp({ ...job, status: 'FINALIZING', outcome });
    const observed = jobs.get('job-1');
    await Promise.all([completeJob.takeOver(observed), another().takeOver(observed)]);
    expect(stepFunctions.answers).toHaveLength(1);
    expect(stepFunctions.gate.calls.filter((call) => call === 'answerToken')).toHaveLength(1);
    expect(jobs.get('job-1').status).toBe(status);
  });

  it.each([
    ['ended first by the one that found the token gone', 'end'],
    ['ended first by the one whose answer was taken', 'answerToken'],
  ] as const)('records the answer of the finisher whose answer was taken, of two that overlap: %s', async (_case, overtaken) => {
    const { jobs, gate, completeJob, another, stepFunctions } = setUp(job);
    gate.next(overtaken, async () => void (await another().takeOver(jobs.get('job-1'))));
    await expect(completeJob.complete('job-1')).resolves.toBe('ended');
    expect(stepFunctions.answers).toHaveLength(1);
    expect(jobs.get('job-1')).toMatchObject({ status, callback: kind });
  });

  it('is answered once by finishers of one process, which share their work', async () => {
    const { gate, completeJob, stepFunctions } = setUp(job);
    await expect(Promise.all([completeJob.complete('job-1'), completeJob.complete('job-1')])).resolves.toEqual(['ended', 'ended']);
    expect(stepFunctions.answers).toHaveLength(1);
    expect(gate.calls.filter((call) => call === 'writeManifest')).toHaveLength(1);
  });

  it('writes the same bytes into its manifest when the finish is repeated', async () => {
    const { gate, results, completeJob, insist } = setUp(job);
    gate.crashAfter(4);
    await completeJob.complete('job-1').catch(() => undefined);
    const first = results.objects.get('run-1/manifest.json');
    gate.restart();
    await insist();
    expect(results.objects.get('run-1/manifest.json')).toBe(first);
  });

  onEachClock('whose answer is tried again', () => {
    it('records that who answered is unknown when its reply was lost and the token is gone then', async () => {
      const { jobs, clock, stepFunctions, completeJob } = setUp(job);
      stepFunctions.loseNextReplies();
      const finish = completeJob.complete('job-1');
      await clock.advance(1_000);
      await expect(finish).resolves.toBe('ended');
      expect(stepFunctions.answers).toHaveLength(1);
      expect(jobs.get('job-1')).toMatchObject({ status, callback: 'unknown' });
    });
  });

  it('records a token that was gone before we answered, and keeps its outcome', async () => {
    const { jobs, stepFunctions, completeJob } = setUp(job);
    stepFunctions.close(TOKEN);
    await completeJob.complete('job-1');
    expect(stepFunctions.answers).toEqual([]);
    expect(jobs.get('job-1')).toMatchObject({ status, callback: 'gone' });
  });
});

onEachClock('Operator’s cancel goes through FINALIZING', () => {
  it('so that a crash between the write and the answer cannot lose the answer', async () => {
    const { jobs, gate, stepFunctions, cancelJob, insist } = setUp(aJob({ completedTasks: 3 }));
    gate.crashAfter(2);
    await expect(cancelJob.cancel('job-1', 'asked')).rejects.toThrow(FaultError);
    expect(stepFunctions.answers).toEqual([]);
    gate.restart();
    await insist();
    expect(stepFunctions.answers).toMatchObject([{ kind: 'failure', error: 'ExportCancelled' }]);
    expect(jobs.get('job-1').status).toBe('CANCELLED');
  });
});
