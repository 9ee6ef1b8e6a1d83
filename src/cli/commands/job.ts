import type { Command } from 'commander';
import {
  isDue,
  jobInHand,
  type BatchSummary,
  type ExportJobEntity,
  type JobInHand,
  type ResultsNotWritten,
} from '../../export-jobs/index.js';
import { CliError } from '../cli-error.js';
import type { Cli } from '../cli.js';
import { describeFailures, firstFailures } from '../first-failures.js';
import { describeWaits, durationMs, noSuchJob, viewOf } from '../job-view.js';
import { facts, formatBytes, formatDuration } from '../presentation/index.js';

export function addJobCommand(program: Command, cli: Cli): void {
  program
    .command('job')
    .description('show one job, active or ended')
    .argument('<id>', 'jobId, the name of its execution')
    .option('--json', 'one JSON object')
    .action((jobId: string, { json }: { json?: true }) => showJob(cli, jobId, json === true));
}

async function showJob(cli: Cli, jobId: string, json: boolean): Promise<void> {
  await cli.use(async ({ jobs, batches, clients }) => {
    const [job, rows] = await Promise.all([jobs.find(jobId), batches.list(jobId)]);
    if (job === undefined) throw new CliError(noSuchJob(jobId));
    const seconds = durationMs(job) / 1_000;
    const perSecond = (value: number) => (seconds === 0 ? 0 : value / seconds);
    const inHand = jobInHand(job, rows, Date.now());
    const rates = {
      tasksPerSecond: perSecond(job.completedTasks + job.failedTasks),
      bytesPerSecond: perSecond(job.bytesProcessed + inHand.bytesInHand),
    };
    const failures = await firstFailures(cli, clients.s3, job, rows);
    if (json)
      cli.printJson({
        ...viewOf(job),
        ...inHand,
        ...rates,
        batches: countByStatus(rows),
        waitForTurn: waitForTurn(job, rows),
        held: holdersOf(rows),
        failures,
      });
    else cli.terminal.out(describeJob(job, inHand, rates, rows) + describeFailures(failures, job));
  });
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

function describeJob(
  job: ExportJobEntity,
  { bytesInHand, waits }: JobInHand,
  rates: { tasksPerSecond: number; bytesPerSecond: number },
  rows: readonly BatchSummary[],
): string {
  const view = viewOf(job);
  const later = waitForTurn(job, rows);
  const counts = Object.entries(countByStatus(rows)).map(([status, count]) =>
    status === 'queued' && later > 0 ? `${count} queued (${later} of them until others end)` : `${count} ${status}`,
  );
  const held = holdersOf(rows).map(({ batchNo, lockedBy, since }) => `batch ${batchNo} by ${lockedBy} since ${since}`);
  return facts([
    ['Job', view.jobId],
    ['Export', `${view.exportId} of user ${view.userId}`],
    ['Status', view.outcome === null || view.outcome === view.status ? view.status : `${view.status} (${view.outcome})`],
    ['Files', `${view.completedTasks} done, ${view.failedTasks} failed, ${view.totalTasks ?? '?'} in all`],
    ['Twice', view.repeatedTasks === 0 ? undefined : `${view.repeatedTasks} lines of the list were there before: each file counts once`],
    ['Bytes', formatBytes(view.bytesProcessed) + (bytesInHand === 0 ? '' : `, and ${formatBytes(bytesInHand)} of files in hand`)],
    ['Waits for', waits.length === 0 ? undefined : describeWaits(waits, (until) => until)],
    ['Rate', `${rates.tasksPerSecond.toFixed(1)} files/s, ${formatBytes(rates.bytesPerSecond)}/s on average`],
    ['Batches', counts.length === 0 ? 'none yet' : counts.join(', ')],
    ['Held', held.length === 0 ? undefined : held.join('\n')],
    ['Accepted', view.createdAt],
    ['Took', formatDuration(durationMs(job))],
    ['Last progress', view.lastProgressAt],
    ['Last heartbeat', view.lastHeartbeatAt ?? 'none yet'],
    ['Ended', view.completedAt ?? undefined],
    ['Run, attempt', `${view.run}, ${view.attempt}`],
    ['Error', view.error === null ? undefined : `${view.error.code}: ${view.error.message}`],
    ['Token answered', view.callback ?? (job.taskToken === undefined ? 'has none' : 'not yet')],
    ['Lies in', view.files],
    ['Results', view.manifest ?? undefined],
    ['No results', view.resultsNotWritten === null ? undefined : describeNotWritten(view.resultsNotWritten)],
    ['Failed list', view.failedManifest ?? undefined],
  ]);
}
