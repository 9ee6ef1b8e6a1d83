import type { Contender } from '../contender.js';
import { runNodeContender } from '../node-contender.js';

/** What one would write first: threads that each bring one file at a time, with fetch and the SDK. */
export function naive(): Contender {
  return {
    name: 'naive',
    version: `Node ${process.version}`,
    run: (files, ends, limits) => runNodeContender('naive', new URL('./main.js', import.meta.url), files, ends, limits),
  };
}
