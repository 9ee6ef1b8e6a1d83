import { beforeEach, describe, expect, it } from '@jest/globals';
import { ClaimBatchUseCase } from '../../../../src/batches/application/claim-batch.use-case.js';
import type { BatchEntity } from '../../../../src/batches/domain/batch.entity.js';
import { aBatch, aJob, aPlan, aState, START_ISO } from '../../../support/builders.js';
import { InMemoryBatchRepository } from '../../../support/fakes/in-memory-batch-repository.js';
import type { InMemoryJobStateRepository } from '../../../support/fakes/in-memory-job-state-repository.js';
import { aFinisher, aSummary } from '../../../support/finisher.js';
import { aJobWindow } from '../../../support/job-window.js';

const MESSAGE = { jobId: 'job-1', batchNo: 0, run: 1 };

let jobs: InMemoryJobStateRepository;
let batches: InMemoryBatchRepository;
let claims: ClaimBatchUseCase;
let finisher: ReturnType<typeof aFinisher>;

beforeEach(() => {
  finisher = aFinisher();
  jobs = finisher.jobs.put(aJob());
  batches = new InMemoryBatchRepository().put(aBatch());
  const window = aJobWindow({ jobs, jobBatches: finisher.batches, logger: finisher.logger });
  claims = new ClaimBatchUseCase(jobs, batches, window.endsCounted(finisher.completeJob));
});

const claim = () => claims.claim(MESSAGE, 'me');

describe('ClaimBatchUseCase', () => {
  it.each(['PROCESSING', 'DOWNLOADING'] as const)('claims a queued batch of a job in %s', async (status) => {
    jobs.put(aJob({ status }));
    await expect(claim()).resolves.toMatchObject({ kind: 'claimed', batch: { lockedBy: 'me', lockToken: 1 }, job: { jobId: 'job-1' } });
    expect(batches.get(0)).toMatchObject({ status: 'running', lockToken: 1, seq: 0 });
  });

  it.each(['lost-reply', 'retried'] as const)('claimId, re-read: recognises its own claim when its fate is %s', async (fault) => {
    batches.gate.next('claim', fault);
    await expect(claim()).resolves.toMatchObject({ kind: 'claimed', batch: { lockToken: 1 } });
  });

  it('claimId: does not take another consumer of this process for itself', async () => {
    const outcomes = await Promise.all([claim(), claim()]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['claimed', 'drop']);
  });

  it('An unknown claim that shows queued leaves the message', async () => {
    batches.gate.next('claim', 'unavailable');
    await expect(claim()).rejects.toThrow('unavailable');
    expect(batches.get(0).status).toBe('queued');
  });

  it('leaves the message when neither the claim nor the row can be known', async () => {
    batches.gate.next('claim', 'lost-reply');
    batches.gate.next('findBatch', 'unavailable');
    await expect(claim()).rejects.toThrow('unavailable');
  });

  it('tries again when the batch was given back between claim and look', async () => {
    batches.put(aBatch({ status: 'running', lockToken: 1, claimId: 'other' }));
    batches.gate.next('findBatch', () => void batches.put(aBatch({ lockToken: 1 })));
    await expect(claim()).resolves.toMatchObject({ kind: 'claimed', batch: { lockToken: 2 } });
  });

  it.each([
    ['job-over', 'the job is being answered', () => void jobs.put(aJob({ status: 'FINALIZING' }))],
    ['job-over', 'the job has completed', () => void jobs.put(aJob({ status: 'COMPLETED' }))],
    ['job-over', 'there is no such job', () => jobs.rows.clear()],
    ['other-run', 'the job lives another run', () => void jobs.put(aJob({ run: 2 }))],
    ['other-run', 'Claim IF run = the message’s: the batch was moved to another run', () => void batches.put(aBatch({ run: 2 }))],
    ['held', 'someone holds the batch', () => void batches.put(aBatch({ status: 'running', claimId: 'other' }))],
    ['final', 'the batch was cancelled', () => void batches.put(aBatch({ status: 'cancelled' }))],
    ['missing', 'there is no such batch', () => batches.rows.clear()],
  ])('drops the message as %s when %s', async (reason, _name, arrange) => {
    arrange();
    const before = [...batches.rows.values()];
    await expect(claim()).resolves.toEqual({ kind: 'drop', reason });
    expect([...batches.rows.values()]).toEqual(before);
  });

  describe.each(['CANCELLED', 'FAILED'] as const)('for a batch that its %s job left behind', (status) => {
    beforeEach(() => void jobs.put(aJob({ status })));

    it.each<[string, Partial<BatchEntity>]>([
      ['queued', {}],
      ['running', { status: 'running', claimId: 'other', lockedBy: 'another', lockedAt: START_ISO }],
    ])('cancels the row that is %s, with its checkpoint as it is, and drops the message', async (_status, over) => {
      batches.put(aBatch({ ...aState([0, 1], [2]), lockToken: 3, ...over }));
      await expect(claim()).resolves.toEqual({ kind: 'drop', reason: 'job-over' });
      expect(batches.get(0)).toMatchObject({ status: 'cancelled', lockToken: 3, ...aState([0, 1], [2]) });
    });

    it.each<[string, Partial<BatchEntity>]>([
      ['was moved to a newer run: the job has been reopened since', { run: 2 }],
      ['has succeeded', { status: 'succeeded' }],
      ['was given up', { status: 'dead' }],
    ])('leaves the row that %s', async (_case, over) => {
      batches.put(aBatch(over));
      await expect(claim()).resolves.toEqual({ kind: 'drop', reason: 'job-over' });
      expect(batches.get(0)).toEqual(aBatch(over));
    });

    it('cancels a row of a former run, too', async () => {
      jobs.put(aJob({ status, run: 3 }));
      await claim();
      expect(batches.get(0).status).toBe('cancelled');
    });

    it.each(['unavailable', 'lost-reply'] as const)(
      'leaves the message when the cancel is %s, and is done when it comes again',
      async (fault) => {
        batches.gate.next('cancelBatch', fault);
        await expect(claim()).rejects.toThrow('cancelBatch');
        await expect(claim()).resolves.toEqual({ kind: 'drop', reason: 'job-over' });
        expect(batches.get(0).status).toBe('cancelled');
      },
    );
  });

  it.each(['succeeded', 'dead'] as const)(
    'brings the counters up for a batch that is %s: its holder may have died before its last count',
    async (status) => {
      batches.put(aBatch({ status, ...aState([0, 1, 2, 3], [4]) }));
      await expect(claim()).resolves.toEqual({ kind: 'drop', reason: 'final' });
      expect(jobs.get('job-1')).toMatchObject({ completedTasks: 4, failedTasks: 1, bytesProcessed: 40, endedBatches: new Set([0]) });
    },
  );

  it('ends the job when that was its last batch', async () => {
    jobs.put(aJob({ plan: aPlan({ totalTasks: 5, batchCount: 1 }) }));
    batches.put(aBatch({ status: 'succeeded', ...aState([0, 1, 2, 3, 4]) }));
    finisher.batches.rows = [aSummary(0)];
    await claim();
    await finisher.completeJob.idle();
    expect(jobs.get('job-1').status).toBe('COMPLETED');
    expect(finisher.stepFunctions.answers).toMatchObject([{ kind: 'success' }]);
  });

  it.each(['succeeded', 'dead'] as const)(
    'A count-up only for a row of the job’s run: a batch that was %s in run 1 and is not moved yet is not counted into run 2',
    async (status) => {
      jobs.put(aJob({ run: 2 }));
      batches.put(aBatch({ status, ...aState([0, 1, 2, 3], [4]) }));
      await expect(claims.claim({ ...MESSAGE, run: 2 }, 'me')).resolves.toEqual({ kind: 'drop', reason: 'other-run' });
      expect(jobs.get('job-1')).toEqual(aJob({ run: 2 }));
    },
  );

  it('leaves the message when the counters of an ended batch cannot be brought up', async () => {
    batches.put(aBatch({ status: 'succeeded', ...aState([0, 1, 2, 3, 4]) }));
    jobs.gate.next('count', 'unavailable');
    await expect(claim()).rejects.toThrow('unavailable');
  });
});
