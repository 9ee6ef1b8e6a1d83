import { InvalidArgumentError, type Command } from 'commander';
import { ACTIVE_STATUSES, isTerminal, TERMINAL_STATUSES, type ExportJobEntity, type JobStatus } from '../../export-jobs/index.js';
import { counted } from '../../shared/index.js';
import type { Cli } from '../cli.js';
import { COMMAND } from '../command-name.js';
import { fleetLine } from '../fleet-line.js';
import { viewOf } from '../job-view.js';
import { positiveNumber } from '../positive-number.js';
import { formatBytes, formatShortDuration, table, type Column } from '../presentation/index.js';
import type { Services } from '../services.js';
import { FLEET, JOBS } from '../settings.js';

const STATUSES: readonly JobStatus[] = [...ACTIVE_STATUSES, ...TERMINAL_STATUSES];
const UNITS_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export function addJobsCommand(program: Command, cli: Cli): void {
  program
    .command('jobs')
    .description('list the active jobs, newest first; with --all the ended ones, too')
    .option('--all', 'ended jobs, too: reads the whole table of jobs')
    .option('--status <status>', `only these: ${STATUSES.join(', ')}`, jobStatus)
    .option('--since <time>', 'only those accepted since: 30m, 12h, 7d, or a date like 2026-11-29', instant)
    .option('--limit <n>', 'at most so many', positiveNumber, 100)
    .option('--wide', 'ids whole, every column')
    .option('--json', 'one JSON array')
    .action((options: JobsOptions) => listJobs(cli, options));
}

interface JobsOptions {
  all?: true;
  status?: JobStatus;
  since?: string;
  limit: number;
  wide?: true;
  json?: true;
}

async function listJobs(cli: Cli, options: JobsOptions): Promise<void> {
  await cli.use([...JOBS, ...FLEET], async (services) => {
    const { limit, wide, json } = options;
    const { found, more } = await look(services.jobs, options);
    if (json) return cli.printJson(found.map(viewOf));
    if (found.length > 0) cli.print(jobTable(found, cli.width(wide)));
    const kind = tableOf(options) ? '' : 'active ';
    const count = found.length === 0 ? `No ${kind}jobs` : counted(found.length, `${kind}job`);
    const left = more ? `, the newest; --limit ${limit * 10} shows more` : '';
    const ended = tableOf(options) ? '' : ` Ended jobs: ${COMMAND} jobs --all.`;
    cli.tell(`${count}${left}.${ended} ${await fleetLine(services)}`);
  });
}

/** Ended jobs are in no index: only the table itself has them. */
function tableOf({ all, status }: JobsOptions): boolean {
  return all === true || (status !== undefined && isTerminal(status));
}

async function look(jobs: Services['jobs'], options: JobsOptions): Promise<{ found: ExportJobEntity[]; more: boolean }> {
  const { status, since, limit } = options;
  if (!tableOf(options)) {
    const active = await jobs.list(
      ACTIVE_STATUSES.filter((each) => status === undefined || each === status),
      limit + 1,
    );
    return newest(
      active.filter(({ createdAt }) => since === undefined || createdAt >= since),
      limit,
    );
  }
  let found: ExportJobEntity[] = [];
  let more = false;
  const statuses = status === undefined ? undefined : [status];
  for await (const page of jobs.scan({ statuses, createdSince: since })) {
    const kept = newest([...found, ...page], limit);
    found = kept.found;
    more ||= kept.more;
  }
  return { found, more };
}

function newest(jobs: ExportJobEntity[], limit: number): { found: ExportJobEntity[]; more: boolean } {
  const sorted = jobs.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  return { found: sorted.slice(0, limit), more: sorted.length > limit };
}

function jobTable(jobs: readonly ExportJobEntity[], width: number): string {
  const columns: Column[] = [
    { title: 'JOB', shorten: 'end' },
    { title: 'STATUS' },
    ...['DONE', 'TOTAL', 'FAILED', 'BYTES', 'AGE'].map((title) => ({ title, align: 'right' as const })),
    { title: 'EXPORT', wideOnly: true },
    { title: 'USER', wideOnly: true },
  ];
  const rows = jobs.map((job) => [
    job.jobId,
    job.status,
    String(job.completedTasks),
    String(job.plan?.totalTasks ?? '?'),
    String(job.failedTasks),
    formatBytes(job.bytesProcessed),
    formatShortDuration(Date.now() - Date.parse(job.createdAt)),
    job.exportId,
    job.userId,
  ]);
  return table(columns, rows, width);
}

function jobStatus(text: string): JobStatus {
  const status = STATUSES.find((each) => each === text.toUpperCase());
  if (status === undefined) throw new InvalidArgumentError(`It must be one of ${STATUSES.join(', ')}.`);
  return status;
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})(?=T|$)/;

/** ISO-8601 of `12h` ago, or of a date. */
function instant(text: string): string {
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const ms = amount === undefined ? Date.parse(text) : Date.now() - Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS];
  if (Number.isNaN(ms) || (amount === undefined && !isDay(text)))
    throw new InvalidArgumentError('It must be like 30m, 12h or 7d, or a day that there is, like 2026-11-29.');
  return new Date(ms).toISOString();
}

/** Whether it begins with a day that there is: JavaScript takes February 31st for March 3rd. */
function isDay(text: string): boolean {
  const [day, year, month, date] = DATE.exec(text) ?? [];
  return day !== undefined && new Date(Date.UTC(Number(year), Number(month) - 1, Number(date))).toISOString().startsWith(day);
}
