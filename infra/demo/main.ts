import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { emptyList, isBlank, unreadableReason, type ProgressOutput } from '../../src/cli/index.js';
import { endProcess, RepeatedSignal, SystemClock } from '../../src/shared/index.js';
import { DemoError } from './demo-error.js';
import { FAULTS, type Fault } from './faults.js';
import { runDemo, type DemoOptions } from './run-demo.js';
import { jsonSummary, summaryText } from './summary.js';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

interface DemoFlags {
  json?: true;
  fault?: Fault;
}

async function demo(path: string | undefined, flags: DemoFlags): Promise<number> {
  const list = path === undefined ? undefined : await readList(path);
  const interrupt = interruptedBySignals();
  const output = outputTo(flags.json ? process.stderr : process.stdout);
  const folder = await mkdtemp(join(tmpdir(), 'export-worker-demo-'));
  const serviceLog = join(folder, 'service.log');
  let exitCode = EXIT_FAILED;
  try {
    exitCode = await runAndReport({ ...flags, ...(list === undefined ? {} : { list }), serviceLog }, output, interrupt.signal);
  } catch (error) {
    if (interrupt.signal.aborted) exitCode = EXIT_INTERRUPTED;
    else output.write(`${error instanceof DemoError ? error.message : `The demo failed: ${String(error)}`}\n`);
  }
  if (exitCode === EXIT_INTERRUPTED) output.write('Interrupted; everything is stopped.\n');
  // It tells what went wrong.
  if (exitCode === EXIT_FAILED) output.write(`The log of the service: ${serviceLog}\n`);
  else await rm(folder, { recursive: true });
  return exitCode;
}

/** The first signal ends the demo in order, a second one at once: what is to be killed hangs on the event `exit`. */
function interruptedBySignals(): AbortController {
  const interrupt = new AbortController();
  const repeated = new RepeatedSignal(new SystemClock());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      interrupt.abort();
      if (repeated.take() === 'second') process.exit(EXIT_INTERRUPTED);
    });
  return interrupt;
}

async function runAndReport(options: DemoOptions & DemoFlags, output: ProgressOutput, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now();
  const report = await runDemo(options, output, signal);
  const durationMs = performance.now() - startedAt;
  output.write(await summaryText(report, durationMs, output));
  if (options.json) process.stdout.write(`${JSON.stringify(jsonSummary(report, durationMs))}\n`);
  return report.checks.every(({ problems }) => problems.length === 0) ? 0 : EXIT_FAILED;
}

async function readList(path: string): Promise<Uint8Array> {
  try {
    const list = await readFile(path);
    if (!isBlank(list)) return list;
    process.stderr.write(`${emptyList(path)}\n`);
  } catch (error) {
    process.stderr.write(`The list ${path} cannot be read (${unreadableReason(error)}): give a file\n`);
  }
  return process.exit(EXIT_USAGE);
}

function outputTo(stream: NodeJS.WriteStream): ProgressOutput {
  return { write: (text) => void stream.write(text), isTty: stream.isTTY, columns: stream.columns ?? 80 };
}

await new Command('demo')
  .description('Export sample files, or a list of your own, on an embedded AWS, and check the result from outside.')
  .usage('[list] [--json]')
  .argument('[list]', 'file of one URL a line, or any manifest (JSONL, JSON, CSV)')
  .option('--json', 'progress to standard error; the last line of standard output is one JSON object')
  .addOption(new Option('--fault <fault>', 'what the checks must notice').choices(FAULTS).hideHelp())
  .showHelpAfterError('(--help shows how)')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE))
  .action(async (list: string | undefined, flags: DemoFlags) => {
    await endProcess(await demo(list, flags));
  })
  .parseAsync();
