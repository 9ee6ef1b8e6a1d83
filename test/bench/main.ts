import { endOnSignal } from '../chaos/end-on-signal.js';
import { benchCounting } from './counting/index.js';
import { parseOptions, USAGE, UsageError, type BenchOptions } from './options.js';
import { BenchError } from './report/bench-error.js';
import { benchCeiling } from './scenarios/ceiling.js';
import { benchLoop } from './scenarios/loop.js';
import { benchMemory } from './scenarios/memory.js';
import { benchTransfer } from './scenarios/transfer.js';

const PART_BYTES = 8 * 1024 * 1024;

/** Exit codes: 0 measured, 1 could not measure or over a limit, 2 wrong usage. */
async function run(options: BenchOptions): Promise<boolean> {
  const { name, json, threads, filesPerThread, partsPerFile } = options;
  const limits = { threads, filesPerThread, partsPerFile, partBytes: PART_BYTES };
  switch (name) {
    case 'counting':
      return withinOr('Counting costs more than its limit.', await benchCounting(options.tasks, json));
    case 'small':
    case 'large':
    case 'mixed':
      await benchTransfer(name, { ...options, limits });
      return true;
    case 'ceiling':
      await benchCeiling({ ...options, limits });
      return true;
    case 'memory':
      return withinOr('The service needs more memory than its limit.', await benchMemory(options));
    case 'loop':
      return withinOr('The main loop or the heartbeats are later than their limit.', await benchLoop(options));
    default:
      return name satisfies never;
  }
}

function withinOr(words: string, isWithin: boolean): boolean {
  if (!isWithin) process.stderr.write(`${words}\n`);
  return isWithin;
}

endOnSignal();
try {
  const argv = process.argv.slice(2);
  if (argv.includes('--help')) process.stdout.write(USAGE);
  else if (!(await run(parseOptions(argv)))) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof UsageError) && !(error instanceof BenchError)) throw error;
  process.stderr.write(error instanceof UsageError ? `${error.message}\n${USAGE}` : `${error.message}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
