import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { positiveNumber } from '../positive-number.js';
import { reclaimTable } from '../reclaim-table.js';

export function addHistoryCommand(program: Command, cli: Cli): void {
  program
    .command('history')
    .description('list the reclaims of one job, or of all, newest first')
    .argument('[jobId]', 'only those of this job')
    .option('--limit <n>', 'at most so many', positiveNumber, 100)
    .option('--json', 'one JSON array')
    .action((jobId: string | undefined, options: { limit: number; json?: true }) => showHistory(cli, jobId, options));
}

async function showHistory(cli: Cli, jobId: string | undefined, { limit, json }: { limit: number; json?: true }): Promise<void> {
  await cli.use(async ({ reclaims }) => {
    const found = await (jobId === undefined ? reclaims.recent(limit) : reclaims.ofJob(jobId, limit));
    if (json) return cli.printJson(found);
    if (found.length === 0) return cli.tell(jobId === undefined ? 'No reclaims' : `No reclaims of job ${jobId}`);
    cli.terminal.out(reclaimTable(found));
  });
}
