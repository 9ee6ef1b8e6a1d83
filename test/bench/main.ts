import { parseArgs } from 'node:util';
import { benchCounting } from './counting/index.js';

const USAGE = 'Usage: npm run bench -- counting [--tasks 1000,1000000] [--json]\n';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, tasks: { type: 'string', default: '1000,1000000' } },
});
const sizes = values.tasks.split(',').map(Number);
if (positionals.join() !== 'counting' || !sizes.every((size) => Number.isInteger(size) && size > 0)) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else if (!(await benchCounting(sizes, values.json))) {
  process.stderr.write('Counting costs more than its limit.\n');
  process.exitCode = 1;
}
