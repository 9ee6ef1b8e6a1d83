import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const UPDATES = 'src/export-jobs/adapters/dynamodb/finisher-updates.ts';
const COMPLETE = 'src/export-jobs/application/complete-job.use-case.ts';
const FINISH = 'src/export-jobs/application/finish-job.ts';
const LEASE = 'src/export-jobs/application/finish-lease.ts';
const WRITER = 'src/export-jobs/application/results-writer.ts';
const ON_ROWS = ['conformance/job-state-repository.spec.ts'];
const ON_COMPLETE = ['unit/export-jobs/application/complete-job.use-case.spec.ts'];
const ON_FINISHER = ['unit/export-jobs/application/one-finisher.spec.ts'];
const ON_RESULTS = ['unit/export-jobs/application/results-not-written.spec.ts'];

export const FINISHING_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'asks Step Functions once although its end cannot be written for minutes',
    fault: 'who has answered leaves the job to another, which answers again',
    file: 'src/export-jobs/application/finish-job.ts',
    find: 'return { done: false };',
    replace: 'throw error;',
    specs: ['unit/export-jobs/application/complete-job-faults.spec.ts'],
  },
  {
    rule: 'One finisher',
    fault: 'whoever finds a job that is being answered joins in',
    file: COMPLETE,
    find: "if (job.status === 'FINALIZING') return 'held';\n      const state",
    replace: "if (job.status === 'FINALIZING') return this.finish(job, this.clock.monotonicMs());\n      const state",
    specs: ON_FINISHER,
  },
  {
    rule: 'One finisher',
    fault: 'a lease that moved since it was seen is taken over',
    file: UPDATES,
    find: 'finisher === undefined ? NO_FINISHER : FINISHER_AS_OBSERVED]',
    replace: `finisher === undefined ? NO_FINISHER : ${alwaysTrue('FINISHER_AS_OBSERVED')}]`,
    specs: ON_ROWS,
  },
  {
    rule: 'One finisher',
    fault: 'a holder renews a lease that another has taken',
    file: UPDATES,
    find: 'SAME_RUN, MY_FINISH, RENEWAL_NOT_OLDER]',
    replace: `SAME_RUN, ${alwaysTrue('MY_FINISH')}, RENEWAL_NOT_OLDER]`,
    specs: ON_ROWS,
  },
  {
    rule: 'One finisher',
    fault: 'a renewal that was held back undoes a newer one',
    file: UPDATES,
    find: 'SAME_RUN, MY_FINISH, RENEWAL_NOT_OLDER]',
    replace: `SAME_RUN, MY_FINISH, ${alwaysTrue('RENEWAL_NOT_OLDER')}]`,
    specs: ON_ROWS,
  },
  {
    rule: 'One finisher',
    fault: 'a renewal that is refused changes nothing for its holder',
    file: LEASE,
    find: "else this.lose('the row names another, or the job has ended');",
    replace: '',
    specs: ON_FINISHER,
  },
  {
    rule: 'One finisher',
    fault: 'the fence is not looked at before a call with the token',
    file: 'src/export-jobs/application/settle-token.service.ts',
    find: 'if (!holds()) return { done: false };',
    replace: '',
    specs: ON_FINISHER,
  },
  {
    rule: 'One finisher',
    fault: 'the lease counts from the reply of its write',
    file: COMPLETE,
    find: 'return this.finish(job, since);\n    });',
    replace: 'return this.finish(job, this.clock.monotonicMs());\n    });',
    specs: ON_FINISHER,
  },
  {
    rule: 'One finisher',
    fault: 'a renewal that is tried again has the number of the one before',
    file: LEASE,
    find: 'seq: ++this.seq',
    replace: 'seq: this.seq + 1',
    specs: ON_FINISHER,
  },
  {
    rule: 'One finisher',
    fault: 'a job that is answered for longer than a minute is taken from a finisher that lives',
    file: 'src/export-jobs/domain/decide-heartbeat.ts',
    find: 'now - seen.leaseSince > FINALIZING_STUCK_MS',
    replace: 'now - seen.statusSince > FINALIZING_STUCK_MS',
    specs: ['unit/export-jobs/domain/decide-heartbeat.spec.ts'],
  },
  {
    rule: 'ResultsNotWritten',
    fault: 'a bucket that is missing is waited for for ever',
    file: WRITER,
    find: 'if (!error.mayPass && ++refusals === REFUSED_TRIES) break;',
    replace: 'if (!error.mayPass && ++refusals === REFUSED_TRIES) patience.moved();',
    specs: ON_RESULTS,
  },
  {
    rule: 'ResultsNotWritten',
    fault: 'tries that each come a little way go on for ever',
    file: WRITER,
    find: 'if (tries === 1) patience.moved();',
    replace: 'patience.moved();',
    specs: ON_RESULTS,
  },
  {
    rule: 'DestinationRefused',
    fault: 'a batch insists for ever on what the destination refuses',
    file: 'src/batches/application/run-batch.use-case.ts',
    find: 'if (isRefusedByStore(error) && ++refusals === MAX_REFUSALS)',
    replace: 'if (isRefusedByStore(error) && ++refusals < 0)',
    specs: ['unit/batches/application/run-batch.use-case.spec.ts'],
  },
  {
    rule: 'options.failFast',
    fault: 'all batches must be final before it is answered',
    file: FINISH,
    find: 'return partial !== true && (error',
    replace: 'return (partial !== undefined || partial === undefined) && (error',
    specs: ON_COMPLETE,
  },
  {
    rule: 'options.failFast',
    fault: 'only the last count of a batch ends the job',
    file: 'src/batches/application/running-batch.ts',
    find: 'this.services.completeJob.helpAfter(outcome);',
    replace: '',
    specs: ['unit/batches/application/run-batch.use-case.spec.ts'],
  },
];
