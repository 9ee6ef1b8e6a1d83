import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const REPOSITORY = 'src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.ts';
const BATCHES = 'src/batches/adapters/dynamo-db-batch-repository.adapter.ts';
const ACCEPT = 'src/intake/application/accept-job.use-case.ts';
const PLAN = 'src/intake/application/plan-expansion.use-case.ts';
const COMPLETE = 'src/export-jobs/application/complete-job.use-case.ts';
const FINISH = 'src/export-jobs/application/finish-job.ts';
const LAYOUT = 'src/export-jobs/domain/export-layout.ts';
const ON_ROWS = ['conformance/job-state-repository.spec.ts'];
const ON_ACCEPT = ['unit/intake/application/accept-job.use-case.spec.ts'];
const ON_EXPAND = ['unit/intake/application/expand-job.use-case.spec.ts'];
const ON_COMPLETE = ['unit/export-jobs/application/complete-job.use-case.spec.ts'];
const ON_CANCEL = ['unit/export-jobs/application/cancel-job.use-case.spec.ts'];
const ON_REOPENED = ['unit/intake/application/reopened-job.spec.ts'];
const ON_LAYOUT = ['unit/export-jobs/domain/export-layout.spec.ts'];

const EXPANDING: readonly Mutation[] = [
  {
    rule: 'Totals and prefix in one write with one winner',
    fault: 'the second expander overwrites the plan of the first',
    file: REPOSITORY,
    find: '[NO_PLAN_YET, STATUS_IS_PROCESSING, SAME_RUN]',
    replace: `[${alwaysTrue('NO_PLAN_YET')}, STATUS_IS_PROCESSING, SAME_RUN]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Totals and prefix in one write with one winner',
    fault: 'the loser goes on with its own plan',
    file: PLAN,
    find: "if (recorded.kind !== 'written') return undefined;",
    replace: "if (recorded.kind !== 'written') return { ...job, plan };",
    specs: ON_EXPAND,
  },
  {
    rule: 'Random prefix per attempt',
    fault: 'each expansion writes under the same prefix',
    file: PLAN,
    find: 'segmentPrefix(job.destination, job.jobId, newId())',
    replace: "segmentPrefix(job.destination, job.jobId, 'expansion')",
    specs: ON_EXPAND,
  },
  {
    rule: 'Random prefix per attempt',
    fault: 'the prefix leaves the expansion out',
    file: LAYOUT,
    find: 'input/${expansionId}/',
    replace: 'input/',
    specs: ON_LAYOUT,
  },
];

const TOKENS: readonly Mutation[] = [
  {
    rule: 'Same token in PROCESSING: always continue',
    fault: 'a redelivery is acknowledged though the acceptor may be dead',
    file: 'src/intake/domain/decide-accept.ts',
    find: "return job.status === 'PROCESSING' ? { kind: 'expand' } : { kind: 'acknowledge' };",
    replace: "return { kind: 'acknowledge' };",
    specs: ['unit/intake/application/decide-accept.spec.ts'],
  },
  {
    rule: 'After a replacement in PROCESSING the expansion goes on',
    fault: 'who has replaced the token stops there',
    file: ACCEPT,
    find: "attempt: replaced.job.attempt });\n    return 'look-again';",
    replace: "attempt: replaced.job.attempt });\n    return 'acknowledge';",
    specs: ON_ACCEPT,
  },
  {
    rule: 'Another token counts only after an accepted beat',
    fault: 'a token is replaced without proof',
    file: ACCEPT,
    find: 'if (!(await this.isAlive(taskToken, signal))) {',
    replace: "if (taskToken === '') {",
    specs: ON_ACCEPT,
  },
  {
    rule: 'Another token counts only after an accepted beat',
    fault: 'an ended job is reopened without proof',
    file: ACCEPT,
    find: 'if (!(await this.isAlive(taskToken, signal))) {',
    replace: 'if (!isTerminal(job.status) && !(await this.isAlive(taskToken, signal))) {',
    specs: ON_ACCEPT,
  },
  {
    rule: 'Another token counts only after an accepted beat',
    fault: 'it is not even asked for',
    file: 'src/intake/domain/decide-accept.ts',
    find: "return { kind: 'prove-token' };",
    replace: "return { kind: 'expand' };",
    specs: ['unit/intake/application/decide-accept.spec.ts'],
  },
  {
    rule: 'Replace IF the token is as observed',
    fault: 'a live token that came in since is overwritten',
    file: REPOSITORY,
    find: "[STATUS_COUNTS, '#status = :status', SAME_RUN, tokenAsObserved]",
    replace: `[STATUS_COUNTS, '#status = :status', SAME_RUN, ${alwaysTrue('tokenAsObserved')}]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Row’s own token alive too → JobIdConflict for the new one',
    fault: 'a second execution takes the job over',
    file: ACCEPT,
    find: 'if (job.taskToken !== undefined && (await this.isAlive(job.taskToken, signal)))',
    replace: "if (job.taskToken === '')",
    specs: ON_ACCEPT,
  },
  {
    rule: 'FINALIZING: never replace',
    fault: 'the row takes another token while it is answered',
    file: REPOSITORY,
    find: "[STATUS_COUNTS, '#status = :status', SAME_RUN, tokenAsObserved]",
    replace: `[${alwaysTrue('STATUS_COUNTS')}, '#status = :status', SAME_RUN, tokenAsObserved]`,
    specs: ON_ROWS,
  },
  {
    rule: 'FINALIZING: never replace',
    fault: 'a retry is answered before the job has ended',
    file: ACCEPT,
    find: "if (job.status === 'COMPLETED') return this.answerAsCompleted",
    replace: "if (job.status === 'COMPLETED' || job.status === 'FINALIZING') return this.answerAsCompleted",
    specs: ON_ACCEPT,
  },
];

const SUMS: readonly Mutation[] = [
  {
    rule: 'the sums of beats',
    fault: 'a token that is gone is no failure',
    file: 'src/export-jobs/application/task-heartbeat.service.ts',
    find: "else this.metrics.increment('heartbeat_failure_total'",
    replace: "else if (outcome !== 'gone') this.metrics.increment('heartbeat_failure_total'",
    specs: ['unit/export-jobs/application/task-heartbeat.service.spec.ts'],
  },
  {
    rule: 'lets one coordinator count what a command has ended',
    fault: 'two coordinators count it',
    file: REPOSITORY,
    find: '[SAME_RUN, NOT_COUNTED_YET]',
    replace: `[SAME_RUN, ${alwaysTrue('NOT_COUNTED_YET')}]`,
    specs: ON_ROWS,
  },
  {
    rule: 'a job that a command has ended',
    fault: 'nobody counts it',
    file: 'src/export-jobs/application/command-ends.service.ts',
    find: 'if (job.uncounted !== true) return;',
    replace: 'if (job.uncounted !== undefined) return;',
    specs: ['unit/export-jobs/application/command-ends.service.spec.ts'],
  },
];

const ENDING: readonly Mutation[] = [
  {
    rule: 'Batches cancelled IF their run is not newer',
    fault: 'a canceller that was paused takes the new run’s batches down',
    file: BATCHES,
    find: "'#run <= :run AND #status IN (:queued, :running)'",
    replace: "'(#run <= :run OR attribute_exists(jobId)) AND #status IN (:queued, :running)'",
    specs: ['conformance/batch-repository.spec.ts'],
  },
  {
    rule: 'No cancel out of FINALIZING',
    fault: 'the echo of our own answer cancels the job',
    file: REPOSITORY,
    find: '[STATUS_COUNTS, SAME_RUN, TOKEN_AS_OBSERVED]',
    replace: `[${alwaysTrue('STATUS_COUNTS')}, SAME_RUN, TOKEN_AS_OBSERVED]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Operator’s cancel goes through FINALIZING',
    fault: 'CANCELLED is written before the token is answered',
    file: 'src/export-jobs/application/cancel-job.use-case.ts',
    find: "const outcome = await this.completeJob.fail(jobId, { code: 'ExportCancelled', message: reason });",
    replace:
      'const job = await this.jobs.find(jobId);\n' +
      "    await this.jobs.cancelDead(jobId, job?.run ?? 1, job?.taskToken ?? '');\n" +
      "    const outcome = await this.completeJob.fail(jobId, { code: 'ExportCancelled', message: reason });",
    specs: [...ON_CANCEL, 'unit/export-jobs/application/complete-job-faults.spec.ts'],
  },
  {
    rule: 'An answer only out of FINALIZING',
    fault: 'the token is settled before the outcome is written',
    file: COMPLETE,
    find: 'const written = await this.jobs.beginFinalizing(job, outcome)',
    replace:
      "await this.services.settler.settle(job.jobId, job.taskToken ?? '', { kind: 'success', output: '{}' }, this.stopping.signal);\n" +
      '    const written = await this.jobs.beginFinalizing(job, outcome)',
    specs: [...ON_COMPLETE],
  },
  {
    rule: 'An answer only out of FINALIZING',
    fault: 'the outcome is decided on counters that have moved since',
    file: REPOSITORY,
    find: 'SAME_RUN, COUNTERS_AS_OBSERVED, PROGRESS_AS_OBSERVED]',
    replace: `SAME_RUN, ${alwaysTrue('COUNTERS_AS_OBSERVED')}, PROGRESS_AS_OBSERVED]`,
    specs: ON_ROWS,
  },
  {
    rule: 'Finisher gives up unless all rows are final and of its run',
    fault: 'it goes on while a batch runs',
    file: FINISH,
    find: '(whole && !allFinal(job, rows))',
    replace: '(whole && job.plan === undefined)',
    specs: ON_COMPLETE,
  },
  {
    rule: 'Finisher gives up unless all rows are final and of its run',
    fault: 'it takes rows of a former run for its own',
    file: FINISH,
    find: 'row.run === job.run && (row.status',
    replace: '(row.status',
    specs: ON_COMPLETE,
  },
  {
    rule: 'Finisher gives up unless all rows are final and of its run',
    fault: 'it does not miss a row that is not there',
    file: FINISH,
    find: 'return rows.length === job.plan?.batchCount && final.length === rows.length;',
    replace: 'return final.length === rows.length;',
    specs: ON_COMPLETE,
  },
  {
    rule: 'Finisher gives up unless all rows are final and of its run',
    fault: 'one that answers a failure takes rows of a newer run for its own',
    file: FINISH,
    find: 'if (isReopened || (whole',
    replace: 'if ((isReopened && whole) || (whole',
    specs: ON_REOPENED,
  },
  {
    rule: 'Finisher gives up unless all rows are final and of its run',
    fault: 'it answers for a run that was reopened meanwhile',
    file: FINISH,
    find: "if (current?.status !== 'FINALIZING' || !lease.isOf(current)) return 'held';",
    replace: "if (current?.status !== 'FINALIZING') return 'held';",
    specs: ON_COMPLETE,
  },
  {
    rule: 'Manifest key per run',
    fault: 'run 2 writes over the manifest of run 1',
    file: LAYOUT,
    find: 'run-${run}/manifest.json',
    replace: 'run/manifest.json',
    specs: ON_LAYOUT,
  },
];

export const TOKEN_MUTATIONS: readonly Mutation[] = [...EXPANDING, ...TOKENS, ...SUMS, ...ENDING];
