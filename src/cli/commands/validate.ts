import type { Command } from 'commander';
import type { HeldBatch } from '../../batches/index.js';
import { ACTIVE_STATUSES, type ExportJobEntity } from '../../export-jobs/index.js';
import type { FleetCount } from '../../fleet/index.js';
import { counted } from '../../shared/index.js';
import type { Cli } from '../cli.js';
import { COMMAND } from '../command-name.js';
import { EXIT_FAILED } from '../exit-codes.js';
import { tellFleet } from '../fleet-line.js';
import { heldBatchTable } from '../held-batches.js';
import type { Services } from '../services.js';
import { BATCHES, FLEET, JOBS } from '../settings.js';

/** More are not counted: one is enough for somebody to run. */
const MAX_COUNTED = 1_000;

export function addValidateCommand(program: Command, cli: Cli): void {
  program
    .command('validate')
    .description(
      'look for what must not be: active jobs while no coordinator lives, batches silent for more than their TTL and a minute, ' +
        'jobs that stay FINALIZING; what looks so is watched for up to a minute; exit code 1 when there is any',
    )
    .option('--wide', 'ids and names whole, every column')
    .option('--json', 'one JSON object')
    .action((options: ValidateOptions) => validate(cli, options));
}

interface ValidateOptions {
  wide?: true;
  json?: true;
}

interface Findings {
  activeJobs: number;
  coordinators: FleetCount;
  overdue: HeldBatch[];
  finalizing: ExportJobEntity[];
}

async function validate(cli: Cli, { wide, json }: ValidateOptions): Promise<void> {
  await cli.use([...JOBS, ...BATCHES, ...FLEET], async (services) => {
    const found = await look(services);
    const problems = problemsOf(found);
    if (problems.length > 0) cli.exitCode = EXIT_FAILED;
    const { activeJobs, coordinators, overdue, finalizing } = found;
    if (json) return cli.printJson({ problems, activeJobs, coordinators, overdue, finalizing: finalizing.map(({ jobId }) => jobId) });
    if (overdue.length > 0) cli.print(heldBatchTable(overdue, cli.width(wide)));
    for (const problem of problems) cli.tell(problem);
    if (problems.length === 0)
      cli.tell(`${counted(activeJobs, 'active job')}, no batch silent for too long, no answer overdue. ${tellFleet(coordinators)}`);
  });
}

/** Side by side, because each may watch its suspects for a while. */
async function look({ jobs, fleet, validateLeases, stuckFinishes }: Services): Promise<Findings> {
  const active = await jobs.list(ACTIVE_STATUSES, MAX_COUNTED);
  const [coordinators, overdue, finalizing] = await Promise.all([
    active.length === 0 ? fleet.look() : fleet.watch(),
    validateLeases.list(),
    stuckFinishes.list(),
  ]);
  return { activeJobs: active.length, coordinators, overdue, finalizing };
}

/** Each with its mend. */
function problemsOf({ activeJobs, coordinators, overdue, finalizing }: Findings): string[] {
  const problems: string[] = [];
  if (activeJobs > 0 && coordinators.live.length === 0) {
    const silent = coordinators.silent.length === 0 ? 'none is registered' : `silent: ${coordinators.silent.join(', ')}`;
    problems.push(
      `No coordinator lives (${silent}), and ${counted(activeJobs, 'active job')} ${activeJobs === 1 ? 'waits' : 'wait'}: start the service, ` +
        'or their tokens time out',
    );
  }
  if (overdue.length > 0)
    problems.push(
      `${counted(overdue.length, 'batch', 'batches')} should have been reclaimed: is RECLAIM_ENABLED, and do services run? ` +
        `${COMMAND} reclaim takes what stays silent`,
    );
  if (finalizing.length > 0)
    problems.push(
      `${counted(finalizing.length, 'job')} ${finalizing.length === 1 ? 'stays' : 'stay'} FINALIZING for minutes (${finalizing.map(({ jobId }) => jobId).join(', ')}): ` +
        'the error lines of these jobs name what keeps their answers back',
    );
  return problems;
}
