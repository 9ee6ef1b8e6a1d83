import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const JOBS = 'src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.ts';
const REOPEN = 'src/export-jobs/adapters/dynamodb/reopen-update.ts';
const DECISION = 'src/export-jobs/domain/decide-send.ts';
const REPAIR_DECISION = 'src/export-jobs/domain/decide-repair.ts';
const REPAIR = 'src/export-jobs/application/repair-job.use-case.ts';
const TOP_UP = 'src/export-jobs/application/top-up-job.use-case.ts';
const COUNT_END = 'src/export-jobs/application/count-batch-end.use-case.ts';
const TAKE_IN = 'src/batches/application/take-in-batch.use-case.ts';
const CAPACITY = 'src/batches/domain/take-in.ts';
const RUNNING = 'src/batches/application/running-batch.ts';
const EXPAND = 'src/intake/application/expand-job.use-case.ts';
const ON_ROWS = ['conformance/job-state-repository.spec.ts'];
const ON_DECISION = ['unit/export-jobs/domain/decide-send.spec.ts'];
const ON_REPAIR_DECISION = ['unit/export-jobs/domain/decide-repair.spec.ts'];
const ON_TOP_UP = ['unit/export-jobs/application/top-up-job.use-case.spec.ts'];
const ON_WHOLE_JOB = ['unit/batches/application/window-of-batches.spec.ts'];

const SENDING: readonly Mutation[] = [
  {
    rule: 'One for each that ended',
    fault: 'an end sends nothing, and the job waits for the next look at it',
    file: COUNT_END,
    find: 'else await this.topUpJob.topUp(counted.job);',
    replace: '',
    specs: ['unit/export-jobs/application/count-batch-end.use-case.spec.ts'],
  },
  {
    rule: 'One for each that ended',
    fault: 'what has ended still counts as out',
    file: DECISION,
    find: 'for (const batchNo of endedBatches) if (batchNo < from) out--;',
    replace: 'for (const batchNo of endedBatches) if (batchNo < 0) out--;',
    specs: ON_DECISION,
  },
  {
    rule: 'Messages first, then due',
    fault: 'batches are due before their messages are sent: a crash in between loses them until the repair',
    file: TOP_UP,
    find: `      await this.batches.send(known, batchNos);
      known = await this.recordSent(known, sentBatches);`,
    replace: `      known = await this.recordSent(known, sentBatches);
      await this.batches.send(known, batchNos);`,
    specs: ON_TOP_UP,
  },
  {
    rule: 'Due IF sentBatches as observed',
    fault: 'the slower of two writes over the faster one’s number',
    file: JOBS,
    find: "['#status = :downloading', SAME_RUN, SENT_AS_OBSERVED]",
    replace: `['#status = :downloading', SAME_RUN, ${alwaysTrue('SENT_AS_OBSERVED')}]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Due only in its own run',
    fault: 'a late write of the former run takes batches of this one for sent',
    file: JOBS,
    find: "['#status = :downloading', SAME_RUN, SENT_AS_OBSERVED]",
    replace: `['#status = :downloading', ${alwaysTrue('SAME_RUN')}, SENT_AS_OBSERVED]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Only its expander sends while it is PROCESSING',
    fault: 'an end sends the message of a batch that has no row yet',
    file: DECISION,
    find: "return status === 'DOWNLOADING' && sentBatches",
    replace: "return status !== 'FINALIZING' && sentBatches",
    specs: ON_DECISION,
  },
  {
    rule: 'Only its expander sends while it is PROCESSING',
    fault: 'nobody makes up for the batches that ended meanwhile',
    file: EXPAND,
    find: 'else await topUpJob.topUp(now);',
    replace: '',
    specs: ON_WHOLE_JOB,
  },
  {
    rule: 'Reopen begins with no batch due',
    fault: 'the reopened job takes what the former run had sent for sent',
    file: REOPEN,
    find: 'sentBatches = :zero, ',
    replace: '',
    specs: ['conformance/job-reopening.spec.ts'],
  },
];

const LOOKING: readonly Mutation[] = [
  {
    rule: 'Queued and not due is no sign of life',
    fault: 'a job is beaten for ever by what waits behind a batch that hangs',
    file: REPAIR_DECISION,
    find: "status === 'queued' && isDue(job, batchNo));",
    replace: "status === 'queued' && batchNo >= 0);",
    specs: ON_REPAIR_DECISION,
  },
  {
    rule: 'Nothing is due in PROCESSING',
    fault: 'a job whose expansion was lost is beaten for ever, because its rows pass for work',
    file: 'src/export-jobs/domain/decide-send.ts',
    find: "return status === 'DOWNLOADING' && batchNo < sentBatches;",
    replace: "return status !== 'COMPLETED' && batchNo < sentBatches;",
    specs: ON_REPAIR_DECISION,
  },
  {
    rule: 'Lost only if due',
    fault: 'the wait for its turn counts as a message that is lost',
    file: REPAIR,
    find: 'const message = isDue(job, batchNo) ? row.enqueuedAt : undefined;',
    replace: 'const message: string | undefined = row.enqueuedAt;',
    specs: ['unit/export-jobs/application/repair-job.use-case.spec.ts'],
  },
  {
    rule: 'A batch whose host is full is alive while others’ tasks move',
    fault: 'a small job stalls behind files that hold all connections of its host',
    file: RUNNING,
    find: 'return before !== this.workedAt && dispatcher.isWaiting(this.lease.jobId);',
    replace: 'return before !== this.workedAt && dispatcher === undefined;',
    specs: ['unit/batches/application/batch-lease.spec.ts'],
  },
  {
    rule: 'A batch whose host is full is alive while others’ tasks move',
    fault: 'a process in which everything hangs keeps it alive',
    file: RUNNING,
    find: 'return before !== this.workedAt && dispatcher.isWaiting(this.lease.jobId);',
    replace: 'return dispatcher.isWaiting(this.lease.jobId);',
    specs: ['unit/batches/application/batch-lease.spec.ts'],
  },
];

const TAKING_IN: readonly Mutation[] = [
  {
    rule: 'A larger cap over all',
    fault: 'the batches of one job leave no room for another',
    file: CAPACITY,
    find: 'const counted = hasEnough(limits, inHand) ? maxInHandTotal : maxInHand;',
    replace: 'const counted = maxInHand;',
    specs: ['unit/batches/domain/take-in.spec.ts'],
  },
  {
    rule: 'What only waits does not count',
    fault: 'a job whose host asks for patience takes the room of all others',
    file: TAKE_IN,
    find: 'waiting: this.services.dispatcher.isWaiting(jobId) ? batches : 0',
    replace: 'waiting: 0',
    specs: ['unit/batches/application/take-in-batch.use-case.spec.ts'],
  },
  {
    rule: 'Passed on over its share',
    fault: 'one coordinator takes in all that is out of a job',
    file: TAKE_IN,
    find: 'if (isTooMany) await this.passOn(message, deleteMessage);',
    replace: 'if (isTooMany && this.limits.maxInHand < 0) await this.passOn(message, deleteMessage);',
    specs: ['unit/batches/application/take-in-batch.use-case.spec.ts'],
  },
];

export const WINDOW_MUTATIONS: readonly Mutation[] = [...SENDING, ...LOOKING, ...TAKING_IN];
