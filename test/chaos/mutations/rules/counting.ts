import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const COUNTING = 'src/export-jobs/domain/counting.ts';
const REPOSITORY = 'src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.ts';
const COUNT_CONDITION = '[STATUS_COUNTS, SAME_RUN, BATCH_NOT_ENDED, recordedIsOld]';
const ON_ROWS = ['conformance/job-state-repository.spec.ts'];
const ON_DECISION = ['unit/export-jobs/domain/counting.spec.ts'];

export const COUNTING_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'Count on the old value',
    fault: 'an unconditional ADD: the same count twice adds twice',
    file: REPOSITORY,
    find: COUNT_CONDITION,
    replace: `[STATUS_COUNTS, SAME_RUN, BATCH_NOT_ENDED, ${alwaysTrue('recordedIsOld')}]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Count on the old value',
    fault: 'each count adds the whole batch again',
    file: COUNTING,
    find: 'completed: next.completed - recorded.completed,',
    replace: 'completed: next.completed,',
    specs: ['unit/export-jobs/domain/counting.spec.ts', 'unit/export-jobs/application/job-counter.service.spec.ts'],
  },
  {
    rule: 'Not if the batch has ended',
    fault: 'the row counts a batch again that has ended',
    file: REPOSITORY,
    find: COUNT_CONDITION,
    replace: `[STATUS_COUNTS, SAME_RUN, ${alwaysTrue('BATCH_NOT_ENDED')}, recordedIsOld]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Not if the batch has ended',
    fault: 'a retry of the last count takes itself for a first one',
    file: COUNTING,
    find: "if (job.endedBatches.has(batch.batchNo)) return { kind: 'already-counted' };",
    replace: '',
    specs: ON_DECISION,
  },
  {
    rule: 'Only into its own run',
    fault: 'the row takes counts of a former run',
    file: REPOSITORY,
    find: COUNT_CONDITION,
    replace: `[STATUS_COUNTS, ${alwaysTrue('SAME_RUN')}, BATCH_NOT_ENDED, recordedIsOld]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Only into its own run',
    fault: 'a holder of a former run counts on',
    file: COUNTING,
    find: "if (job.run !== batch.run) return { kind: 'stop', reason: 'other-run' };",
    replace: '',
    specs: ON_DECISION,
  },
  {
    rule: 'Only while PROCESSING or DOWNLOADING',
    fault: 'the row counts while its job is answered',
    file: REPOSITORY,
    find: COUNT_CONDITION,
    replace: `[${alwaysTrue('STATUS_COUNTS')}, SAME_RUN, BATCH_NOT_ENDED, recordedIsOld]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Only while PROCESSING or DOWNLOADING',
    fault: 'a holder counts on while its job is answered',
    file: COUNTING,
    find: "if (!isCounting(job.status)) return { kind: 'stop', reason: 'job-not-counting' };",
    replace: '',
    specs: ON_DECISION,
  },
  {
    rule: 'Checkpoint first, counters second',
    fault: 'a heartbeat counts before its checkpoint is written',
    file: 'src/batches/application/running-batch.ts',
    find: 'const activity = this.activity;\n',
    replace: 'const activity = this.activity;\n    await this.countOrLook(state);\n',
    specs: ['unit/batches/application/run-batch.use-case.spec.ts'],
  },
  {
    rule: 'Checkpoint first, counters second',
    fault: 'the last task is counted before the row has ended',
    file: 'src/batches/application/run-batch.use-case.ts',
    find: 'const whole = running.checkpoint.whole();\n',
    replace: 'const whole = running.checkpoint.whole();\n    await this.countEnd(running);\n',
    specs: ['unit/batches/application/run-batch.use-case.spec.ts'],
  },
  {
    rule: 'A count-up never lowers a number',
    fault: 'a late count-up from an old look subtracts',
    file: COUNTING,
    find: 'const ahead = recorded.completed > next.completed || recorded.failed > next.failed;',
    replace: 'const ahead = false;',
    specs: ['unit/export-jobs/domain/counting.spec.ts', 'unit/export-jobs/application/job-counter.service.spec.ts'],
  },
  {
    rule: 'A count-up only for a row of the job’s run',
    fault: 'a batch that ended in run 1 is counted up into run 2',
    file: 'src/batches/application/claim-batch.use-case.ts',
    find: 'if (batch.run !== message.run) return',
    replace: 'if (batch.run !== message.run && !isFinal(batch.status)) return',
    specs: ['unit/batches/application/claim-batch.use-case.spec.ts'],
  },
];
