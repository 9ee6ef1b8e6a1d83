import type { Command } from 'commander';
import type { ExportJobEntity } from '../../export-jobs/index.js';
import { sha256Hex } from '../../shared/index.js';
import { CliError, explainError } from '../cli-error.js';
import type { Cli } from '../cli.js';
import { COMMAND } from '../command-name.js';
import { EXIT_FAILED } from '../exit-codes.js';
import { knownJob } from '../find-job.js';
import { noSuchJob, viewOf } from '../job-view.js';
import type { Services } from '../services.js';
import { BATCHES, JOBS } from '../settings.js';

export function addRetryCommand(program: Command, cli: Cli): void {
  program
    .command('retry')
    .description('run what an ended job has not done; its execution has been answered, so nobody is called back')
    .argument('<id>', 'jobId, the name of its execution, or at least its first 4 characters')
    .option('--json', 'one JSON object')
    .action((id: string, { json }: { json?: true }) => retryJob(cli, id, json === true));
}

/**
 * - `reopened`: its next run has begun
 * - `sent-again`: it had been reopened or accepted, but not expanded: its message may be lost
 * - `running`: there is nothing to retry yet
 * - `whole`: there is nothing to retry
 */
type RetryKind = 'reopened' | 'sent-again' | 'running' | 'whole';

async function retryJob(cli: Cli, id: string, json: boolean): Promise<void> {
  await cli.use([...JOBS, ...BATCHES, 'SQS_JOBS_QUEUE_URL'], async (services) => {
    const { jobId } = await knownJob(services.jobs, id);
    const { kind, job } = await retry(services, jobId);
    const retried = kind === 'reopened' || kind === 'sent-again';
    if (kind === 'running') cli.exitCode = EXIT_FAILED;
    if (json) return cli.printJson({ retried, ...viewOf(job) });
    if (retried) cli.say(describe(kind, job));
    else cli.tell(describe(kind, job));
  });
}

/** Reopens the job, then sends its message. A crash between the two is mended by the same command: the job is PROCESSING then. */
async function retry(services: Services, jobId: string): Promise<{ kind: RetryKind; job: ExportJobEntity }> {
  const { jobs, reopenJob, jobsQueue } = services;
  for (;;) {
    const job = await jobs.find(jobId);
    if (job === undefined) throw new CliError(noSuchJob(jobId));
    switch (job.status) {
      case 'DOWNLOADING':
      case 'FINALIZING':
        return { kind: 'running', job };
      case 'PROCESSING':
        await jobsQueue.send({ body: await messageOf(services, job) });
        return { kind: 'sent-again', job };
      case 'COMPLETED':
      case 'FAILED':
      case 'CANCELLED': {
        if (job.status === 'COMPLETED' && job.failedTasks === 0) return { kind: 'whole', job };
        // Read before anything is written: without its request the job could only stand still.
        const body = await messageOf(services, job);
        const reopened = await reopenJob.reopen(job);
        if (reopened === undefined) continue;
        await jobsQueue.send({ body }).catch((error: unknown) => {
          throw new CliError(`Job ${jobId} is reopened, but its message could not be sent: ${explainError(error)}. Run this again`);
        });
        return { kind: 'reopened', job: reopened };
      }
    }
  }
}

/** The message that the job was made of, without a token: only the very same request may go on under its id. */
async function messageOf({ results }: Services, job: ExportJobEntity): Promise<string> {
  const request = await results.loadRequest(job).catch((error: unknown) => {
    // Only the message itself brings back what could never be saved.
    const mend = job.resultsNotWritten === undefined ? '' : '; once its bucket can be written, start its execution again, or redrive it';
    throw new CliError(`The request of job ${job.jobId} cannot be read, so it cannot run again: ${explainError(error)}${mend}`);
  });
  if ((await sha256Hex(request)) !== job.requestHash)
    throw new CliError(`The request of job ${job.jobId} was changed since it was accepted, so it cannot run again: submit it anew`);
  return request;
}

function describe(kind: RetryKind, job: ExportJobEntity): string {
  const { jobId, run, status, plan, completedTasks } = job;
  const follow = `Follow it: ${COMMAND} watch ${jobId}`;
  switch (kind) {
    case 'reopened': {
      const what = plan === undefined ? 'its list is read anew' : `${plan.totalTasks - completedTasks} of ${plan.totalTasks} files to do`;
      return `Job ${jobId} is reopened as run ${run}, without callbacks: ${what}. ${follow}`;
    }
    case 'sent-again':
      return `Job ${jobId} is ${status} already; its message was sent again. ${follow}`;
    case 'running':
      return `Job ${jobId} was not retried: it is ${status}. ${follow}`;
    case 'whole':
      return `Job ${jobId} has nothing to retry: all its files are done (${completedTasks})`;
  }
}
