import { benchCounting } from './counting/index.js';
import { parseOptions, USAGE, UsageError, type BenchOptions } from './options.js';
import { BenchError } from './report/bench-error.js';
import { benchTransfer } from './scenarios/transfer.js';

const PART_BYTES = 8 * 1024 * 1024;

/** Exit codes: 0 measured, 1 could not measure or over a limit, 2 wrong usage. */
async function run(options: BenchOptions): Promise<boolean> {
  const { name, json, threads, filesPerThread, partsPerFile } = options;
  const limits = { threads, filesPerThread, partsPerFile, partBytes: PART_BYTES };
  switch (name) {
    case 'counting': {
      const isWithin = await benchCounting(options.tasks, json);
      if (!isWithin) process.stderr.write('Counting costs more than its limit.\n');
      return isWithin;
    }
    case 'small':
    case 'large':
    case 'mixed':
      await benchTransfer(name, { ...options, limits });
      return true;
    default:
      throw new BenchError('not yet');
  }
}

try {
  if (!(await run(parseOptions(process.argv.slice(2))))) process.exitCode = 1;
} catch (error) {
  if (!(error instanceof UsageError) && !(error instanceof BenchError)) throw error;
  process.stderr.write(error instanceof UsageError ? `${error.message}\n${USAGE}` : `${error.message}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
