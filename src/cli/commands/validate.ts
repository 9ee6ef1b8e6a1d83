import type { Command } from 'commander';
import type { Cli } from '../cli.js';
import { COMMAND } from '../command-name.js';
import { EXIT_FAILED } from '../exit-codes.js';
import { heldBatchTable } from '../held-batches.js';

export function addValidateCommand(program: Command, cli: Cli): void {
  program
    .command('validate')
    .description('look for batches that run for more than twice their TTL without a heartbeat; exit code 1 when there are any')
    .option('--json', 'one JSON array')
    .action(({ json }: { json?: true }) => validate(cli, json === true));
}

async function validate(cli: Cli, json: boolean): Promise<void> {
  await cli.use(async ({ validateLeases }) => {
    const overdue = await validateLeases.list();
    if (overdue.length > 0) cli.exitCode = EXIT_FAILED;
    if (json) return cli.printJson(overdue);
    if (overdue.length === 0) return cli.tell('No batch runs for more than twice its TTL without a heartbeat');
    cli.terminal.out(heldBatchTable(overdue));
    cli.tell(
      `${overdue.length} ${overdue.length === 1 ? 'batch' : 'batches'} should have been reclaimed: is RECLAIM_ENABLED, and do services run? ` +
        `${COMMAND} reclaim takes what stays silent`,
    );
  });
}
