import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { fleetLine } from '../fleet-line.js';
import { heldBatchTable } from '../held-batches.js';
import { positiveNumber } from '../positive-number.js';
import { BATCHES, FLEET } from '../settings.js';

export function addStaleCommand(program: Command, cli: Cli): void {
  program
    .command('stale')
    .description('show the running batches, their holders and the age of their signs of life; nearest to their TTL first')
    .option('--limit <n>', 'at most so many', positiveNumber, 100)
    .option('--wide', 'ids and names whole, every column')
    .option('--json', 'one JSON object')
    .action((options: StaleOptions) => showStale(cli, options));
}

interface StaleOptions {
  limit: number;
  wide?: true;
  json?: true;
}

async function showStale(cli: Cli, { limit, wide, json }: StaleOptions): Promise<void> {
  await cli.use([...BATCHES, ...FLEET], async (services) => {
    const monitor = await services.staleMonitor.list(limit);
    if (json) return cli.printJson(monitor);
    const { counts, batches } = monitor;
    const running = counts.healthy + counts.late + counts.stale;
    if (running === 0) return cli.tell(`No running batches. ${await fleetLine(services)}`);
    cli.print(heldBatchTable(batches, cli.width(wide)));
    const shown = batches.length < running ? ` (the first ${batches.length} are shown)` : '';
    cli.tell(
      `${running} running: ${counts.healthy} healthy, ${counts.late} late, ${counts.stale} stale${shown}. ${await fleetLine(services)}`,
    );
  });
}
