import type { Command } from 'commander';
import { isTerminal, type ExportJobEntity, type JobInHand } from '../../export-jobs/index.js';
import { CliError } from '../cli-error.js';
import type { Cli } from '../cli.js';
import { detachedFrom } from '../command-name.js';
import { EXIT_DETACHED, EXIT_FAILED } from '../exit-codes.js';
import { FollowedWork } from '../followed-work.js';
import { noSuchJob, progressOf, viewOf } from '../job-view.js';
import { ProgressDisplay } from '../presentation/index.js';
import { seconds } from '../seconds.js';
import type { Services } from '../services.js';

export function addWatchCommand(program: Command, cli: Cli): void {
  program
    .command('watch')
    .description('follow one job until it ends; exit code 0 when it completed')
    .argument('<id>', 'jobId, the name of its execution')
    .option('--json', 'JSON lines: the job at each change')
    .action(async (jobId: string, { json }: { json?: true }) => {
      await cli.use(async (services) => {
        const follow = json ? printChanges : showProgress;
        const last = await cli.interruptible((signal) => follow(cli, services, jobId, signal));
        if (last === undefined || !isTerminal(last.status)) {
          cli.exitCode = EXIT_DETACHED;
          cli.tell(detachedFrom(jobId));
        } else if (last.status !== 'COMPLETED') cli.exitCode = EXIT_FAILED;
      });
    });
}

async function printChanges(cli: Cli, services: Watched, jobId: string, signal: AbortSignal): Promise<ExportJobEntity | undefined> {
  let printed: string | undefined;
  let last: ExportJobEntity | undefined;
  for await (const { job, inHand } of untilItEnds(services, jobId, signal)) {
    last = job;
    const view = { ...viewOf(job), ...inHand };
    const line = JSON.stringify(view);
    if (line !== printed) cli.printJson(view);
    printed = line;
  }
  return last;
}

async function showProgress(cli: Cli, services: Watched, jobId: string, signal: AbortSignal): Promise<ExportJobEntity | undefined> {
  const display = new ProgressDisplay(cli.terminal.err);
  let last: ExportJobEntity | undefined;
  try {
    for await (const { job, inHand } of untilItEnds(services, jobId, signal)) {
      last = job;
      display.show(progressOf(job, inHand));
    }
  } finally {
    display.end();
  }
  if (last !== undefined && isTerminal(last.status)) {
    const error = last.error === undefined ? '' : ` (${last.error.code}: ${last.error.message})`;
    cli.terminal.out(`Job ${jobId} ended: ${last.status}${error}\n`);
  }
  return last;
}

type Watched = Pick<Services, 'jobs' | 'batches'>;

/** The job once a second, its end last. Never DescribeExecution: its quota is 10 a second for a whole account. */
async function* untilItEnds(
  { jobs, batches }: Watched,
  jobId: string,
  signal: AbortSignal,
): AsyncGenerator<{ job: ExportJobEntity; inHand: JobInHand }> {
  const work = new FollowedWork(batches);
  for await (const _second of seconds(signal)) {
    const job = await jobs.find(jobId);
    if (job === undefined) throw new CliError(noSuchJob(jobId));
    yield { job, inHand: await work.of(job) };
    if (isTerminal(job.status)) return;
  }
}
