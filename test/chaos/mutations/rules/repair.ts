import type { Mutation } from '../mutation.js';
import { alwaysTrue } from './condition.js';

const JOBS = 'src/export-jobs/adapters/dynamodb/dynamo-db-job-state-repository.adapter.ts';
const BATCHES = 'src/batches/adapters/dynamo-db-batch-repository.adapter.ts';
const JOB_BATCHES = 'src/batches/adapters/job-batches.adapter.ts';
const DECISION = 'src/export-jobs/domain/decide-repair.ts';
const REPAIR = 'src/export-jobs/application/repair-job.use-case.ts';
const ORCHESTRATOR = 'src/export-jobs/application/heartbeat-orchestrator.service.ts';
const ON_JOB_BATCHES = ['unit/batches/adapters/job-batches.adapter.spec.ts'];
const ON_DECISION = ['unit/export-jobs/domain/decide-repair.spec.ts'];
const ON_ORCHESTRATOR = ['unit/export-jobs/application/heartbeat-orchestrator.service.spec.ts'];
const ON_FRESH_JOBS = ['unit/export-jobs/application/fresh-jobs.spec.ts'];
const ON_JOBS_WITHOUT_PROGRESS = ['unit/export-jobs/application/jobs-without-progress.spec.ts'];

export const REPAIR_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'Send queued batches again',
    fault: 'a lost message is not found',
    file: DECISION,
    find: 'sendAgain: lost.map(({ batchNo }) => batchNo),',
    replace: 'sendAgain: [],',
    specs: ON_DECISION,
  },
  {
    rule: 'Send queued batches again',
    fault: 'a lost message is found and not sent',
    file: JOB_BATCHES,
    find: 'if (messages.length > 0) await this.queue.send(messages);',
    replace: '',
    specs: ON_JOB_BATCHES,
  },
  {
    rule: 'Re-send IF enqueuedAt as observed',
    fault: 'each of several who look marks the batch as sent',
    file: BATCHES,
    find: "['#status = :queued', SAME_RUN, 'enqueuedAt = :old']",
    replace: `['#status = :queued', SAME_RUN, ${alwaysTrue("'enqueuedAt = :old'")}]`,
    specs: ['conformance/batch-repository.spec.ts'],
  },
  {
    rule: 'Re-send IF enqueuedAt as observed',
    fault: 'who finds it sent meanwhile sends it all the same',
    file: JOB_BATCHES,
    find: "row?.status === 'queued' && row.run === run && row.enqueuedAt === now",
    replace: "row?.status === 'queued'",
    specs: ON_JOB_BATCHES,
  },
  {
    rule: 'In spite of visible messages once enqueuedAt stood still for the stall timeout',
    fault: 'a queue that is never empty hides a lost message for ever',
    file: DECISION,
    find: 'return around.queueIsEmpty || batch.queuedMs >= Math.max(limits.stallTimeoutMs, batch.waitedMs - batch.queuedMs);',
    replace: 'return around.queueIsEmpty && batch.queuedMs < limits.stallTimeoutMs * 9;',
    specs: ON_DECISION,
  },
  {
    rule: 'In spite of visible messages once enqueuedAt stood still for the stall timeout',
    fault: 'a backlog of hours grows by each of its batches every ten minutes',
    file: DECISION,
    find: 'Math.max(limits.stallTimeoutMs, batch.waitedMs - batch.queuedMs)',
    replace: 'Math.max(limits.stallTimeoutMs, batch.queuedMs - batch.waitedMs)',
    specs: ON_DECISION,
  },
  {
    rule: 'Count up lagging checkpoints, ended ones too',
    fault: 'a batch that has ended is nobody’s business any more',
    file: DECISION,
    find: "batch, ended).kind === 'count')",
    replace: "batch, ended).kind === 'count' && !ended)",
    specs: ON_DECISION,
  },
  {
    rule: 'Count up lagging checkpoints',
    fault: 'what lags behind is found and not counted',
    file: REPAIR,
    find: "if (row !== undefined && (await counter.countUp(jobId, row, row, ended)).kind === 'stop') return false;",
    replace: 'if (row !== undefined && counter === undefined && ended) return false;',
    specs: ON_JOBS_WITHOUT_PROGRESS,
  },
  {
    rule: 'Batches of the job’s run only',
    fault: 'rows of a former run pass for waiting work',
    file: REPAIR,
    find: '.filter(({ run }) => run === job.run)',
    replace: '.filter(({ run }) => run <= job.run)',
    specs: ON_JOBS_WITHOUT_PROGRESS,
  },
  {
    rule: 'Ages on my own clock, by what I saw move',
    fault: 'what is seen for the first time counts as standing still',
    file: REPAIR,
    find: 'moved: isRunning && before?.work !== workOf(row),',
    replace: 'moved: isRunning && before !== undefined && before.work !== workOf(row),',
    specs: ON_JOBS_WITHOUT_PROGRESS,
  },
  {
    rule: 'Ages on my own clock, by what I saw move',
    fault: 'the age of stored instants tells whether a batch moves',
    file: REPAIR,
    find: 'moved: isRunning && before?.work !== workOf(row),',
    replace: "moved: isRunning && Date.now() - Date.parse(row.progressedAt ?? '') < 600_000,",
    specs: ON_JOBS_WITHOUT_PROGRESS,
  },
  {
    rule: 'Ages on my own clock, by what I saw move',
    fault: 'a process that was frozen takes that time for silence of its jobs',
    file: 'src/export-jobs/application/seen-jobs.ts',
    find: 'sinceMs > this.intervalMs * BLIND_INTERVALS ? sinceMs : 0',
    replace: 'sinceMs > this.intervalMs * BLIND_INTERVALS ? 0 : 0',
    specs: ['unit/export-jobs/application/seen-jobs.spec.ts'],
  },
  {
    rule: 'a job that was accepted since the last look',
    fault: 'an outage of the tables leaves a job without a beat that was accepted since the last look',
    file: ORCHESTRATOR,
    find: 'const mine = fresh.over(known.mine);',
    replace: 'const { mine } = known;',
    specs: ON_FRESH_JOBS,
  },
  {
    rule: 'is so although another coordinator is to beat it',
    fault: 'the memory of a job ends with the first look that does not find it, before its owner has looked',
    file: 'src/export-jobs/application/fresh-jobs.ts',
    find: 'lookAt >= since + intervalMs',
    replace: 'lookAt >= since',
    specs: ON_FRESH_JOBS,
  },
  {
    rule: 'another token',
    fault: 'an outage of the tables leaves a token without a beat that has replaced another since the last look',
    file: 'src/intake/application/accept-job.use-case.ts',
    find: 'this.heartbeats.remember(current);',
    replace: '',
    specs: ['unit/intake/application/accept-job.use-case.spec.ts'],
  },
  {
    rule: 'Finish and repair never stand in front of a beat',
    fault: 'a turn waits for a finish before it beats',
    file: ORCHESTRATOR,
    find: "if (care === 'finish' && this.beginFinish(job)) turn.finishes++;",
    replace: "if (care === 'finish' && this.beginFinish(job)) turn.finishes++;\n      await this.care.idle();",
    specs: ON_ORCHESTRATOR,
  },
  {
    rule: 'Finish and repair never stand in front of a beat',
    fault: 'a turn waits for a repair before it beats',
    file: ORCHESTRATOR,
    find: "if (care === 'repair' && this.beginRepair(job, now, signal)) turn.repairs++;",
    replace: "if (care === 'repair' && this.beginRepair(job, now, signal)) await this.care.idle();",
    specs: ON_JOBS_WITHOUT_PROGRESS,
  },
  {
    rule: 'Stalled IF lastProgressAt as observed',
    fault: 'the row is ended though it has moved since the look',
    file: JOBS,
    find: 'SAME_RUN, COUNTERS_AS_OBSERVED, PROGRESS_AS_OBSERVED]',
    replace: `SAME_RUN, COUNTERS_AS_OBSERVED, ${alwaysTrue('PROGRESS_AS_OBSERVED')}]`,
    specs: ['conformance/job-state-repository.spec.ts'],
  },
  {
    rule: 'Stalled IF lastProgressAt as observed',
    fault: 'after a refusal the job is given up for what was seen before',
    file: REPAIR,
    find: 'current.lastProgressAt === job.lastProgressAt &&',
    replace: '',
    specs: ON_JOBS_WITHOUT_PROGRESS,
  },
];
