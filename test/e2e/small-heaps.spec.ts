import { expect, it } from '@jest/globals';
import { CommandProcess } from './command-process.js';

/** Two semi-spaces of 1 MiB, and pages that a collection in progress may hold; left alone it has over 30 MiB by then. */
const SMALL_BYTES = 4 * 1024 * 1024;
/** At its end a process tells what its young generation has of the machine. */
const TELL_AT_EXIT = `
  import { getHeapSpaceStatistics } from 'node:v8';
  const size = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').physical_space_size;
  process.once('exit', () => process.stdout.write('young generation: ' + size() + '\\n'));`;
const PRELOAD = `--import data:text/javascript,${encodeURIComponent(TELL_AT_EXIT)}`;

it.each([
  ['the service', 'src/main.js', []],
  ['the command serve', 'src/cli/main.js', ['serve']],
])('When %s has loaded its modules, its young generation has not grown', async (_, script, args) => {
  // Without any settings it ends once it has loaded all that it consists of.
  const { code, stdout } = await CommandProcess.start(script, args, { NODE_OPTIONS: PRELOAD }).ended;
  expect(code).toBe(78);
  expect(Number(/young generation: (\d+)/.exec(stdout)?.[1])).toBeLessThanOrEqual(SMALL_BYTES);
});
