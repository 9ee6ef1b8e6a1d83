import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const COUNTS = 'src/export-jobs/domain/reopening.ts';
const JOB_ROW = 'src/export-jobs/adapters/dynamodb/reopen-update.ts';
const BATCH_ROW = 'src/batches/adapters/move-update.ts';
const ENQUEUE = 'src/batches/application/enqueue-batches.use-case.ts';
const ACCEPT = 'src/intake/application/accept-job.use-case.ts';
const ON_COUNTS = ['unit/export-jobs/domain/reopening.spec.ts'];
const ON_JOB_ROW = ['conformance/job-reopening.spec.ts'];
const ON_BATCH_ROW = ['conformance/batch-move.spec.ts'];
const ON_ENQUEUE = ['unit/batches/application/enqueue-batches.use-case.spec.ts'];
const ON_ACCEPT = ['unit/intake/application/accept-job.use-case.spec.ts'];

const OBSERVED = ["'#status = :observed'", "'#run = :run'", "'lockToken = :lockToken'", "'seq = :seq'", "'completed = :completed'"];

/** The job's row: the next run, with its counters. */
const REOPENING: readonly Mutation[] = [
  {
    rule: 'Reopen leaves partly done batches in batchProgress',
    fault: 'the next count of one adds again what the counters hold of it',
    file: COUNTS,
    find: 'else if (batch.completed > 0)',
    replace: 'else if (batch.completed < 0)',
    specs: ON_COUNTS,
  },
  {
    rule: 'Reopen leaves partly done batches in batchProgress',
    fault: 'the row forgets them',
    file: JOB_ROW,
    find: '[...batchProgress].map(',
    replace: '[...batchProgress].slice(batchProgress.size).map(',
    specs: ON_JOB_ROW,
  },
  {
    rule: 'Reopen leaves partly done batches in batchProgress',
    fault: 'the counters begin at 0, though the bitmaps keep what is done',
    file: COUNTS,
    find: 'completed += batch.completed;',
    replace: 'completed += 0;',
    specs: ON_COUNTS,
  },
  {
    rule: 'Reopen leaves partly done batches in batchProgress',
    fault: 'the row begins at 0, though the bitmaps keep what is done',
    file: JOB_ROW,
    find: "':done': completed,",
    replace: "':done': 0,",
    specs: ON_JOB_ROW,
  },
  {
    rule: 'Reopen sets endedBatches to the wholly done ones',
    fault: 'none is ended: what is done can never be counted',
    file: COUNTS,
    find: 'if (isWhollyDone(batch)) endedBatches.add(batch.batchNo);',
    replace: 'if (isWhollyDone(batch)) endedBatches.delete(batch.batchNo);',
    specs: ON_COUNTS,
  },
  {
    rule: 'Reopen sets endedBatches to the wholly done ones',
    fault: 'one that ended with failures is ended too: its next run can never be counted',
    file: COUNTS,
    find: "batch.status === 'succeeded' && batch.failed === 0 && batch.completed === batch.totalTasks",
    replace: "batch.status === 'succeeded'",
    specs: ON_COUNTS,
  },
  {
    rule: 'Reopen sets endedBatches to the wholly done ones',
    fault: 'the row keeps others',
    file: JOB_ROW,
    find: "':ended': new Set(endedBatches)",
    replace: "':ended': new Set([...endedBatches].map((batchNo) => batchNo + 1_000))",
    specs: ON_JOB_ROW,
  },
  {
    rule: 'Reopen forgets failures',
    fault: 'the counters keep those of the former run, which are counted again',
    file: JOB_ROW,
    find: 'failedTasks = :zero',
    replace: 'failedTasks = failedTasks + :zero',
    specs: ON_JOB_ROW,
  },
  {
    rule: 'Reopen forgets failures',
    fault: 'what is recorded for a batch keeps them',
    file: COUNTS,
    find: 'completed: batch.completed, failed: 0,',
    replace: 'completed: batch.completed, failed: batch.failed,',
    specs: ON_COUNTS,
  },
  {
    rule: 'Reopen IF status and run are as observed',
    fault: 'a late one reopens what another run has ended',
    file: JOB_ROW,
    find: '[AS_OBSERVED, HAS_ENDED]',
    replace: `[${alwaysTrue('AS_OBSERVED')}, HAS_ENDED]`,
    specs: ON_JOB_ROW,
  },
  {
    rule: 'FINALIZING: never replace',
    fault: 'a job is reopened while it is answered',
    file: JOB_ROW,
    find: '[AS_OBSERVED, HAS_ENDED]',
    replace: `[AS_OBSERVED, ${alwaysTrue('HAS_ENDED')}]`,
    specs: ON_JOB_ROW,
  },
  {
    rule: 'After a reopening the expansion goes on',
    fault: 'who has reopened the job stops there: its rows stay in the former run',
    file: ACCEPT,
    find: "await this.reopenJob.reopen(job, taskToken);\n      return 'look-again';",
    replace: "await this.reopenJob.reopen(job, taskToken);\n      return 'acknowledge';",
    specs: ON_ACCEPT,
  },
];

/** Everything that who moves a batch has observed, but one. */
const BLIND: readonly Mutation[] = OBSERVED.map((part) => ({
  rule: 'The move is conditional on status, run, lockToken, done',
  fault: `the condition leaves out ${part}`,
  file: BATCH_ROW,
  find: `[${OBSERVED.join(', ')}]`,
  replace: `[${OBSERVED.map((other) => (other === part ? alwaysTrue(part) : other)).join(', ')}]`,
  specs: ON_BATCH_ROW,
}));

/** The batches' rows. */
const MOVING: readonly Mutation[] = [
  {
    rule: 'Reopen moves every batch row, wholly done ones too',
    fault: 'those stay in the former run: no finisher finds all rows of its own',
    file: ENQUEUE,
    find: 'row !== undefined && row.run < run; attempt++',
    replace: 'row !== undefined && row.run < run && !job.endedBatches.has(batchNo); attempt++',
    specs: ON_ENQUEUE,
  },
  {
    rule: 'Reopen moves every batch row, wholly done ones too',
    fault: 'those are queued and lose their results',
    file: BATCH_ROW,
    find: 'if (isWhollyDone(observed))',
    replace: 'if (isWhollyDone(observed) && run < 0)',
    specs: ON_BATCH_ROW,
  },
  {
    rule: 'Reopen moves every batch row',
    fault: 'a moved one gets no message',
    file: ENQUEUE,
    find: "return row.status === 'queued';",
    replace: "return row.status === 'queued' && seen === undefined;",
    specs: ON_ENQUEUE,
  },
  {
    rule: 'Count up lagging checkpoints, ended ones too',
    fault: 'a batch that was done between the look and its move is not counted',
    file: ENQUEUE,
    find: 'if (hasEnded && !job.endedBatches.has(row.batchNo))',
    replace: 'if (hasEnded && job.endedBatches.has(row.batchNo))',
    specs: ON_ENQUEUE,
  },
  {
    rule: 'lockToken never removed or reset',
    fault: 'a move does not raise it: a holder of the former run goes on',
    file: BATCH_ROW,
    find: "':one': 1,",
    replace: "':one': 0,",
    specs: ON_BATCH_ROW,
  },
  {
    rule: 'lockToken never removed or reset',
    fault: 'a move resets it',
    file: BATCH_ROW,
    find: 'lockToken = lockToken + :one',
    replace: 'lockToken = :one',
    specs: ON_BATCH_ROW,
  },
  {
    rule: 'Reopen sets attempts to 0',
    fault: 'a batch at the limit is given up at its first crash',
    file: BATCH_ROW,
    find: 'attempts = :zero',
    replace: 'attempts = attempts + :zero',
    specs: ON_BATCH_ROW,
  },
  {
    rule: 'Reopen sets attempts to 0',
    fault: 'what was done in the former run counts as progress of this one',
    file: BATCH_ROW,
    find: 'reclaimMark = :completed',
    replace: 'reclaimMark = :zero',
    specs: ON_BATCH_ROW,
  },
  {
    rule: 'Reopen forgets failures',
    fault: 'a moved batch keeps their number',
    file: BATCH_ROW,
    find: 'failed = :zero',
    replace: 'failed = failed + :zero',
    specs: ON_BATCH_ROW,
  },
  {
    rule: 'Reopen forgets failures',
    fault: 'a moved batch keeps them: what failed is not tried again',
    file: BATCH_ROW,
    find: 'failures = :none',
    replace: 'failures = if_not_exists(failures, :none)',
    specs: ON_BATCH_ROW,
  },
];

export const REOPENING_MUTATIONS: readonly Mutation[] = [...REOPENING, ...BLIND, ...MOVING];
