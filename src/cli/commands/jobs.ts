import { Option, type Command } from 'commander';
import { ACTIVE_STATUSES, type ActiveStatus } from '../../export-jobs/index.js';
import type { Cli } from '../cli.js';
import { COMMAND } from '../command-name.js';
import { fleetLine } from '../fleet-line.js';
import { durationMs, viewOf } from '../job-view.js';
import { positiveNumber } from '../positive-number.js';
import { formatBytes, formatDuration, table } from '../presentation/index.js';

export function addJobsCommand(program: Command, cli: Cli): void {
  program
    .command('jobs')
    .description('list the active jobs, newest first; ended ones are shown by job <id>')
    .addOption(new Option('--status <status>', 'only these').choices(ACTIVE_STATUSES))
    .option('--limit <n>', 'at most so many', positiveNumber, 100)
    .option('--json', 'one JSON array')
    .action((options: JobsOptions) => listJobs(cli, options));
}

interface JobsOptions {
  status?: ActiveStatus;
  limit: number;
  json?: true;
}

async function listJobs(cli: Cli, { status, limit, json }: JobsOptions): Promise<void> {
  await cli.use(async (services) => {
    const found = await services.jobs.list(status === undefined ? ACTIVE_STATUSES : [status], limit);
    if (json) return cli.printJson(found.map(viewOf));
    if (found.length > 0) {
      const columns = ['JOB', 'STATUS', 'DONE', 'TOTAL', 'FAILED', 'BYTES', 'AGE'].map((title, index) =>
        index < 2 ? { title } : { title, align: 'right' as const },
      );
      const rows = found.map((job) => [
        job.jobId,
        job.status,
        String(job.completedTasks),
        String(job.plan?.totalTasks ?? '?'),
        String(job.failedTasks),
        formatBytes(job.bytesProcessed),
        formatDuration(durationMs(job)),
      ]);
      cli.terminal.out(table(columns, rows));
    }
    const count = found.length === 0 ? 'No active jobs' : `${found.length} active ${found.length === 1 ? 'job' : 'jobs'}`;
    cli.tell(`${count}. Ended jobs are not listed: ${COMMAND} job <id> shows one. ${await fleetLine(services)}`);
  });
}
