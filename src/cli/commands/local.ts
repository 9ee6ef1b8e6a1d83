import type { Command } from 'commander';
import { runFromCheckout } from '../checkout.js';
import type { Cli } from '../cli.js';

export function addLocalCommand(program: Command, cli: Cli): void {
  program
    .command('local')
    .description('keep an embedded AWS and the service running (from a checkout)')
    .usage('[--json] [--coordinators <n>] [--data-dir <dir>] [--request-log <file>]')
    .argument('[arguments...]')
    .helpOption(false)
    .passThroughOptions()
    .allowUnknownOption()
    .action(async (args: string[]) => {
      cli.exitCode = await runFromCheckout('local-aws', args);
    });
}
