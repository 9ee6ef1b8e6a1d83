import type { Command } from 'commander';
import { runFromCheckout } from '../checkout.js';
import type { Cli } from '../cli.js';

export function addDemoCommand(program: Command, cli: Cli): void {
  program
    .command('demo')
    .description('export sample files, or a list of your own, on an embedded AWS and check the result (from a checkout)')
    .usage('[list] [--json]')
    .argument('[arguments...]')
    .helpOption(false)
    .passThroughOptions()
    .allowUnknownOption()
    .action(async (args: string[]) => {
      cli.exitCode = await runFromCheckout('demo', args);
    });
}
