import type { Command } from 'commander';
import type { ReclaimRecord } from '../../batches/index.js';
import type { Cli } from '../cli.js';
import { mayBeBeginning } from '../find-job.js';
import { LONGER_ID, SHORTEST_BEGINNING } from '../job-view.js';
import { positiveNumber } from '../positive-number.js';
import { reclaimTable } from '../reclaim-table.js';
import type { Services } from '../services.js';
import { RECLAIMS } from '../settings.js';

const SEARCHED = 1_000;

export function addHistoryCommand(program: Command, cli: Cli): void {
  program
    .command('history')
    .description('list the reclaims of one job, or of all, newest first')
    .argument('[jobId]', 'only those of this job')
    .option('--limit <n>', 'at most so many', positiveNumber, 100)
    .option('--wide', 'ids and names whole, every column')
    .option('--json', 'one JSON array')
    .action((jobId: string | undefined, options: HistoryOptions) => showHistory(cli, jobId, options));
}

interface HistoryOptions {
  limit: number;
  wide?: true;
  json?: true;
}

async function showHistory(cli: Cli, jobId: string | undefined, { limit, wide, json }: HistoryOptions): Promise<void> {
  await cli.use(RECLAIMS, async ({ reclaims }) => {
    const found = await (jobId === undefined ? reclaims.recent(limit) : ofJob(reclaims, jobId, limit));
    if (json) return cli.printJson(found);
    if (found.length === 0) return cli.tell(jobId === undefined ? 'No reclaims' : noReclaims(jobId));
    cli.print(reclaimTable(found, cli.width(wide)));
  });
}

function noReclaims(jobId: string): string {
  const more = jobId.length < SHORTEST_BEGINNING ? `: ${LONGER_ID}` : '';
  return `No reclaims of job ${jobId}${more}`;
}

/** Reclaims outlive the rows of their jobs: the beginning of an id is looked for among the last of them. */
async function ofJob(reclaims: Services['reclaims'], jobId: string, limit: number): Promise<ReclaimRecord[]> {
  const found = await reclaims.ofJob(jobId, limit);
  if (found.length > 0 || !mayBeBeginning(jobId)) return found;
  return (await reclaims.recent(SEARCHED)).filter((reclaim) => reclaim.jobId.startsWith(jobId)).slice(0, limit);
}
