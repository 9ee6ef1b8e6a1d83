import type { Command } from 'commander';
import { isTerminal, type ExportJobEntity, type JobInHand } from '../../export-jobs/index.js';
import { CliError } from '../cli-error.js';
import type { Cli } from '../cli.js';
import { detachedFrom } from '../command-name.js';
import { EXIT_DETACHED, EXIT_FAILED } from '../exit-codes.js';
import { findJob } from '../find-job.js';
import { FollowedWork } from '../followed-work.js';
import { noSuchJob, progressOf, viewOf, WAITING } from '../job-view.js';
import { ProgressDisplay } from '../presentation/index.js';
import { seconds } from '../seconds.js';
import type { Services } from '../services.js';
import { BATCHES, JOBS } from '../settings.js';

/** In seconds: a job that was just submitted has its row when a service has received its message. */
const ACCEPTED_WITHIN = 30;

export function addWatchCommand(program: Command, cli: Cli): void {
  program
    .command('watch')
    .description('follow one job until it ends, also one that was just submitted; exit code 0 when it completed')
    .argument('<id>', 'jobId, the name of its execution, or at least its first 4 characters')
    .option('--json', 'JSON lines: the job at each change')
    .action(async (id: string, { json }: { json?: true }) => {
      await cli.use([...JOBS, ...BATCHES], async (services) => {
        const follow = json ? printChanges : showProgress;
        const last = await cli.interruptible((signal) => follow(cli, services, id, signal));
        if (last === undefined || !isTerminal(last.status)) {
          cli.exitCode = EXIT_DETACHED;
          cli.tell(detachedFrom(last?.jobId ?? id));
        } else if (last.status !== 'COMPLETED') cli.exitCode = EXIT_FAILED;
      });
    });
}

async function printChanges(cli: Cli, services: Watched, id: string, signal: AbortSignal): Promise<ExportJobEntity | undefined> {
  let printed: string | undefined;
  let last: ExportJobEntity | undefined;
  for await (const look of untilItEnds(services, id, signal)) {
    if (look === undefined) continue;
    last = look.job;
    const view = { ...viewOf(last), ...look.inHand };
    const line = JSON.stringify(view);
    if (line !== printed) cli.printJson(view);
    printed = line;
  }
  return last;
}

async function showProgress(cli: Cli, services: Watched, id: string, signal: AbortSignal): Promise<ExportJobEntity | undefined> {
  const display = new ProgressDisplay(cli.terminal.err);
  let last: ExportJobEntity | undefined;
  try {
    for await (const look of untilItEnds(services, id, signal)) {
      last = look?.job;
      display.show(look === undefined ? WAITING : progressOf(look.job, look.inHand));
    }
  } finally {
    display.end();
  }
  if (last !== undefined && isTerminal(last.status)) {
    const error = last.error === undefined ? '' : ` (${last.error.code}: ${last.error.message})`;
    cli.say(`Job ${last.jobId} ended: ${last.status}${error}`);
  }
  return last;
}

type Watched = Pick<Services, 'jobs' | 'batches'>;

/**
 * The job once a second, its end last; undefined while it is not there. Never DescribeExecution: its quota is 10 a second for a whole account.
 * @throws CliError when there is none for half a minute
 */
async function* untilItEnds(
  { jobs, batches }: Watched,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<{ job: ExportJobEntity; inHand: JobInHand } | undefined> {
  const work = new FollowedWork(batches);
  let jobId = id;
  for await (const second of seconds(signal)) {
    const job = second === 0 ? await findJob(jobs, id) : await jobs.find(jobId);
    jobId = job?.jobId ?? jobId;
    if (job === undefined && second >= ACCEPTED_WITHIN) throw new CliError(noSuchJob(jobId));
    yield job === undefined ? undefined : { job, inHand: await work.of(job) };
    if (job !== undefined && isTerminal(job.status)) return;
  }
}
