import type { Command } from 'commander';
import { isTerminal, type ExportJobEntity } from '../../export-jobs/index.js';
import { CliError } from '../cli-error.js';
import type { Cli } from '../cli.js';
import { detachedFrom } from '../command-name.js';
import { EXIT_DETACHED, EXIT_FAILED } from '../exit-codes.js';
import { findJob } from '../find-job.js';
import { noSuchJob, progressOf, viewOf, WAITING } from '../job-view.js';
import { ProgressDisplay } from '../presentation/index.js';
import { seconds } from '../seconds.js';
import type { Services } from '../services.js';
import { JOBS } from '../settings.js';

/** In seconds: a job that was just submitted has its row when a service has received its message. */
const ACCEPTED_WITHIN = 30;

export function addWatchCommand(program: Command, cli: Cli): void {
  program
    .command('watch')
    .description('follow one job until it ends, also one that was just submitted; exit code 0 when it completed')
    .argument('<id>', 'jobId, the name of its execution, or its first characters')
    .option('--json', 'JSON lines: the job at each change')
    .action(async (id: string, { json }: { json?: true }) => {
      await cli.use(JOBS, async ({ jobs }) => {
        const follow = json ? printChanges : showProgress;
        const last = await cli.interruptible((signal) => follow(cli, jobs, id, signal));
        if (last === undefined || !isTerminal(last.status)) {
          cli.exitCode = EXIT_DETACHED;
          cli.tell(detachedFrom(last?.jobId ?? id));
        } else if (last.status !== 'COMPLETED') cli.exitCode = EXIT_FAILED;
      });
    });
}

async function printChanges(cli: Cli, jobs: Services['jobs'], id: string, signal: AbortSignal): Promise<ExportJobEntity | undefined> {
  let printed: string | undefined;
  let last: ExportJobEntity | undefined;
  for await (last of untilItEnds(jobs, id, signal)) {
    if (last === undefined) continue;
    const view = viewOf(last);
    const line = JSON.stringify(view);
    if (line !== printed) cli.printJson(view);
    printed = line;
  }
  return last;
}

async function showProgress(cli: Cli, jobs: Services['jobs'], id: string, signal: AbortSignal): Promise<ExportJobEntity | undefined> {
  const display = new ProgressDisplay(cli.terminal.err);
  let last: ExportJobEntity | undefined;
  try {
    for await (last of untilItEnds(jobs, id, signal)) display.show(last === undefined ? WAITING : progressOf(last));
  } finally {
    display.end();
  }
  if (last !== undefined && isTerminal(last.status)) {
    const error = last.error === undefined ? '' : ` (${last.error.code}: ${last.error.message})`;
    cli.say(`Job ${last.jobId} ended: ${last.status}${error}`);
  }
  return last;
}

/**
 * The row once a second, its end last; undefined while it is not there. Never DescribeExecution: its quota is 10 a second for a whole account.
 * @throws CliError when there is none for half a minute
 */
async function* untilItEnds(jobs: Services['jobs'], id: string, signal: AbortSignal): AsyncGenerator<ExportJobEntity | undefined> {
  let jobId = id;
  for await (const second of seconds(signal)) {
    const job = second === 0 ? await findJob(jobs, id) : await jobs.find(jobId);
    jobId = job?.jobId ?? jobId;
    if (job === undefined && second >= ACCEPTED_WITHIN) throw new CliError(noSuchJob(jobId));
    yield job;
    if (job !== undefined && isTerminal(job.status)) return;
  }
}
