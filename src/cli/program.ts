import { Command, CommanderError } from 'commander';
import { ConfigurationError, packageVersion } from '../config/index.js';
import { explainError, UsageError } from './cli-error.js';
import { Cli, type Terminal } from './cli.js';
import { addCancelCommand } from './commands/cancel.js';
import { addDemoCommand } from './commands/demo.js';
import { addHistoryCommand } from './commands/history.js';
import { addJobCommand } from './commands/job.js';
import { addJobsCommand } from './commands/jobs.js';
import { addLocalCommand } from './commands/local.js';
import { addReclaimCommand } from './commands/reclaim.js';
import { addRetryCommand } from './commands/retry.js';
import { addServeCommand } from './commands/serve.js';
import { addStaleCommand } from './commands/stale.js';
import { addSubmitCommand } from './commands/submit.js';
import { addValidateCommand } from './commands/validate.js';
import { addWatchCommand } from './commands/watch.js';
import { EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './exit-codes.js';
import { sentence } from './presentation/index.js';
import { openServices } from './services.js';

/** Runs one command line (without node and script); answers the exit code. Never throws. */
export async function runCli(args: readonly string[], terminal: Terminal, open = openServices): Promise<number> {
  const cli = new Cli(terminal, open);
  try {
    await createProgram(cli).parseAsync(args, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE;
    cli.tell(explainError(error));
    if (error instanceof ConfigurationError)
      cli.tell('With `npm run local`: source .local/env first. Otherwise .env.example says what each is.');
    if (error instanceof UsageError) return EXIT_USAGE;
    return error instanceof ConfigurationError ? EXIT_CONFIGURATION : EXIT_FAILED;
  }
}

function createProgram(cli: Cli): Command {
  const program = new Command('export-worker')
    .description('Exports of Step Functions: run the service, hand jobs in, look after them.')
    .version(packageVersion())
    .showHelpAfterError('(--help shows how)')
    .configureOutput({ writeOut: (text) => cli.print(text), writeErr: (text) => cli.terminal.err.write(sentence(text, cli.terminal.err)) })
    .enablePositionalOptions()
    .exitOverride()
    .addHelpText(
      'after',
      '\nConfigured by the environment of the service (.env.example); each command\n' +
        'needs what it reads. An id may be given by at least 4 of its first characters.\n' +
        'Exit codes: 0 ok, 1 failed, 2 usage, 78 configuration, 130 detached.',
    );
  addServeCommand(program);
  addLocalCommand(program, cli);
  addDemoCommand(program, cli);
  addSubmitCommand(program, cli);
  addJobsCommand(program, cli);
  addJobCommand(program, cli);
  addWatchCommand(program, cli);
  addCancelCommand(program, cli);
  addRetryCommand(program, cli);
  addStaleCommand(program, cli);
  addValidateCommand(program, cli);
  addHistoryCommand(program, cli);
  addReclaimCommand(program, cli);
  return program;
}
