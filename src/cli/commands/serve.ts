import type { Command } from 'commander';

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM')
    .option('--json', 'as always: what it writes are JSON lines')
    .action(async () => {
      // Only this command needs the whole service: the others start faster without.
      const { serve } = await import('../../serve.js');
      await serve();
    });
}
