import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import type { ProgressOutput } from '../../src/cli/index.js';
import { DemoError } from './demo-error.js';
import { FAULTS, type Fault } from './faults.js';
import { runDemo } from './run-demo.js';
import { jsonSummary, summaryText } from './summary.js';

const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;

interface DemoFlags {
  json?: true;
  fault?: Fault;
}

/** Answers the exit code; the service's log stays when something went wrong, for it tells what. */
async function demo(list: string | undefined, { json, fault }: DemoFlags): Promise<number> {
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupt.abort());
  const output = outputTo(json ? process.stderr : process.stdout);
  const folder = await mkdtemp(join(tmpdir(), 'export-worker-demo-'));
  const serviceLog = join(folder, 'service.log');
  const startedAt = performance.now();
  try {
    const options = { serviceLog, ...(list === undefined ? {} : { list }), ...(fault === undefined ? {} : { fault }) };
    const report = await runDemo(options, output, interrupt.signal);
    const durationMs = performance.now() - startedAt;
    output.write(summaryText(report, durationMs));
    if (json) process.stdout.write(`${JSON.stringify(jsonSummary(report, durationMs))}\n`);
    if (report.checks.some(({ problems }) => problems.length > 0)) throw new DemoError('The demo failed');
  } catch (error) {
    if (!interrupt.signal.aborted) {
      output.write(
        `${error instanceof DemoError ? error.message : `The demo failed: ${String(error)}`}\nThe log of the service: ${serviceLog}\n`,
      );
      return EXIT_FAILED;
    }
    output.write('\nInterrupted; everything is stopped.\n');
    await rm(folder, { recursive: true });
    return EXIT_INTERRUPTED;
  }
  await rm(folder, { recursive: true });
  return 0;
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
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .action(async (list: string | undefined, flags: DemoFlags) => {
    process.exitCode = await demo(list, flags);
  })
  .parseAsync();
