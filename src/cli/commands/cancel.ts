import type { Command } from 'commander';
import { isTerminal } from '../../export-jobs/index.js';
import { counted } from '../../shared/index.js';
import type { Cli } from '../cli.js';
import { EXIT_FAILED } from '../exit-codes.js';
import { knownJob } from '../find-job.js';
import { viewOf } from '../job-view.js';
import { formatDuration } from '../presentation/index.js';
import { BATCHES, JOBS } from '../settings.js';

export function addCancelCommand(program: Command, cli: Cli): void {
  program
    .command('cancel')
    .description('end one job: its token is answered with ExportCancelled, what runs is stopped')
    .argument('<id>', 'jobId, the name of its execution, or at least its first 4 characters')
    .option('--reason <text>', 'told to the state machine', 'Cancelled by an operator')
    .option('--json', 'one JSON object')
    .action((id: string, options: { reason: string; json?: true }) => cancelJob(cli, id, options));
}

async function cancelJob(cli: Cli, id: string, { reason, json }: { reason: string; json?: true }): Promise<void> {
  await cli.use([...JOBS, ...BATCHES], async ({ jobs, cancelJob, completeJob, batchHeartbeatIntervalMs }) => {
    const before = await knownJob(jobs, id);
    const { jobId } = before;
    if (!isTerminal(before.status))
      await cli.interruptible((signal) => {
        // Settling waits for Step Functions as long as it takes; after Ctrl-C the service goes on with it.
        signal.addEventListener('abort', () => void completeJob.stop(), { once: true });
        return cancelJob.cancel(jobId, reason, tellOfWait(cli, jobId));
      });
    const job = (await jobs.find(jobId)) ?? before;
    const cancelled = (job.outcome?.status ?? job.status) === 'CANCELLED';
    if (!cancelled) cli.exitCode = EXIT_FAILED;
    if (json) return cli.printJson({ cancelled, ...viewOf(job) });
    if (!cancelled) return cli.tell(`Job ${jobId} was not cancelled: it is ${job.status}, decided before this command`);
    if (!isTerminal(job.status)) return cli.tell(`The cancellation of job ${jobId} is decided; the service answers its token and ends it`);
    if (isTerminal(before.status)) return cli.tell(`Job ${jobId} had been cancelled before`);
    // Their holders learn of it with their next batch heartbeat.
    const stop = `What still downloads stops within ${formatDuration(batchHeartbeatIntervalMs)}`;
    cli.say(`Job ${jobId} is cancelled (${counted(job.completedTasks, 'file')} done; token: ${job.callback ?? 'none'}). ${stop}`);
  });
}

/** In looks, one each second: a finisher that has died would have been replaced by then. */
const LONG_WAIT = 120;

/** The wait may take a minute, when the finisher has died, or as long as Step Functions is out. */
function tellOfWait(cli: Cli, jobId: string): () => void {
  let looks = 0;
  return () => {
    looks++;
    if (looks === 1)
      cli.tell(
        `Job ${jobId} is being answered already: waiting for its end; after a minute without a sign of life this command answers it`,
      );
    if (looks === LONG_WAIT)
      cli.tell(
        `Job ${jobId} is still being answered: its finisher lives, and something keeps it from the end. The log of the coordinators says ` +
          'what (settle_failure_total counts it). Ctrl-C is safe: the job ends without this command',
      );
  };
}
