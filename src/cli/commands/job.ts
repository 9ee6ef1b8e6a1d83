import type { Command } from 'commander';
import {
  isDue,
  isTerminal,
  isWhollyDone,
  jobInHand,
  type BatchSummary,
  type ExportJobEntity,
  type JobInHand,
  type ResultsNotWritten,
} from '../../export-jobs/index.js';
import { counted } from '../../shared/index.js';
import type { Cli } from '../cli.js';
import { knownJob } from '../find-job.js';
import { describeFailures, failureCounts, failuresOf } from '../job-failures.js';
import { averageRates, currentRates, type Rates } from '../job-rates.js';
import { describeRepeats, describeWaits, durationMs, viewOf } from '../job-view.js';
import { facts, formatBytes, formatDuration } from '../presentation/index.js';
import { BATCHES, JOBS } from '../settings.js';

interface JobOptions {
  wide?: true;
  json?: true;
}

export function addJobCommand(program: Command, cli: Cli): void {
  program
    .command('job')
    .description('show one job, active or ended')
    .argument('<id>', 'jobId, the name of its execution, or at least its first 4 characters')
    .option('--wide', 'keys whole, nothing wrapped')
    .option('--json', 'one JSON object')
    .action((id: string, options: JobOptions) => showJob(cli, id, options));
}

async function showJob(cli: Cli, id: string, { wide, json }: JobOptions): Promise<void> {
  await cli.use([...JOBS, ...BATCHES], async ({ jobs, batches, clients }) => {
    const job = await knownJob(jobs, id);
    const rows = await batches.list(job.jobId);
    const inHand = jobInHand(job, rows, Date.now());
    const failures = await failuresOf(cli, clients.s3, job, rows);
    if (!json) {
      const width = cli.width(wide);
      return cli.print(describeJob(job, inHand, rows, width) + describeFailures(failures, job, width));
    }
    const { present, former } = byRun(job, rows);
    cli.printJson({
      ...viewOf(job),
      ...inHand,
      ...(averageRates(job, inHand.bytesInHand) ?? { tasksPerSecond: null, bytesPerSecond: null }),
      current: currentRates(present) ?? null,
      batches: countByStatus(present),
      formerRunBatches: former.length,
      waitForTurn: waitForTurn(job, present),
      held: holdersOf(present),
      failures: failures.first,
      failureCounts: failureCounts(failures),
    });
  });
}

/** What is not done of a former run has its rows until its job's message is expanded again: they say nothing of the present run. */
function byRun(job: ExportJobEntity, rows: readonly BatchSummary[]): { present: BatchSummary[]; former: BatchSummary[] } {
  const isPresent = (row: BatchSummary) => row.run >= job.run || isWhollyDone(row);
  return { present: rows.filter(isPresent), former: rows.filter((row) => !isPresent(row)) };
}

function describeNotWritten({ bucket, key, code }: ResultsNotWritten): string {
  return `s3://${bucket}/${key} could not be written (${code})`;
}

type BatchCounts = Partial<Record<BatchSummary['status'], number>>;

function countByStatus(rows: readonly BatchSummary[]): BatchCounts {
  const counts: BatchCounts = {};
  for (const { status } of rows) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Queued batches whose message is not sent before others of the job have ended. */
function waitForTurn(job: ExportJobEntity, rows: readonly BatchSummary[]): number {
  return rows.filter(({ batchNo, status }) => status === 'queued' && !isDue(job, batchNo)).length;
}

/** Who works on what, and since when. */
function holdersOf(rows: readonly BatchSummary[]): { batchNo: number; lockedBy: string; since: string }[] {
  return rows.flatMap(({ batchNo, status, lockedBy, lockedAt }) =>
    status === 'running' && lockedBy !== undefined && lockedAt !== undefined ? [{ batchNo, lockedBy, since: lockedAt }] : [],
  );
}

function describeBatches(job: ExportJobEntity, rows: readonly BatchSummary[]): string {
  const { present, former } = byRun(job, rows);
  const later = waitForTurn(job, present);
  const counts = Object.entries(countByStatus(present)).map(([status, count]) =>
    status === 'queued' && later > 0 ? `${count} queued (${later} of them until others end)` : `${count} ${status}`,
  );
  if (former.length > 0) counts.push(`${former.length} of the former run`);
  return counts.length === 0 ? 'none yet' : counts.join(', ');
}

function describeRates(job: ExportJobEntity, { bytesInHand }: JobInHand, rows: readonly BatchSummary[]): string {
  const told = ({ tasksPerSecond, bytesPerSecond }: Rates) => `${tasksPerSecond.toFixed(1)} files/s, ${formatBytes(bytesPerSecond)}/s`;
  const average = averageRates(job, bytesInHand);
  const current = currentRates(byRun(job, rows).present);
  return [
    ...(current === undefined ? [] : [`${told(current)} now`]),
    ...(average === undefined ? [] : [`${told(average)} on average`]),
  ].join('\n');
}

function describeJob(job: ExportJobEntity, inHand: JobInHand, rows: readonly BatchSummary[], width: number): string {
  const view = viewOf(job);
  const { reopened } = job;
  const { bytesInHand, waits } = inHand;
  const rates = describeRates(job, inHand, rows);
  const held = holdersOf(rows).map(({ batchNo, lockedBy, since }) => `batch ${batchNo} by ${lockedBy} since ${since}`);
  return facts(
    [
      ['Job', view.jobId],
      ['Export', `${view.exportId} of user ${view.userId}`],
      ['Status', view.outcome === null || view.outcome === view.status ? view.status : `${view.status} (${view.outcome})`],
      ['Files', `${view.completedTasks} done, ${view.failedTasks} failed, ${view.totalTasks ?? '?'} in all`],
      ['Twice', view.repeatedTasks === 0 ? undefined : describeRepeats(view.repeatedTasks)],
      ['Bytes', formatBytes(view.bytesProcessed) + (bytesInHand === 0 ? '' : `, and ${formatBytes(bytesInHand)} of files in hand`)],
      ['Waits for', waits.length === 0 ? undefined : describeWaits(waits)],
      ['Rate', rates === '' ? undefined : rates],
      ['Batches', describeBatches(job, rows)],
      ['Held', held.length === 0 ? undefined : held.join('\n')],
      ['Accepted', view.createdAt],
      ['Reopened', reopened === undefined ? undefined : `${reopened.at}, with ${counted(reopened.completed, 'file')} done`],
      [isTerminal(job.status) ? 'Took' : 'Runs for', formatDuration(durationMs(job))],
      ['Last progress', view.lastProgressAt],
      ['Last heartbeat', view.lastHeartbeatAt ?? 'none yet'],
      ['Ended', view.completedAt ?? undefined],
      ['Run', String(view.run)],
      ['Task tokens', `${view.attempt} so far`],
      ['Error', view.error === null ? undefined : `${view.error.code}: ${view.error.message}`],
      ['Token answered', view.callback ?? (job.taskToken === undefined ? 'has none' : 'not yet')],
      ['Lies in', view.files],
      ['Results', view.manifest ?? undefined],
      ['No results', view.resultsNotWritten === null ? undefined : describeNotWritten(view.resultsNotWritten)],
      ['Failed list', view.failedManifest ?? undefined],
    ],
    width,
  );
}
