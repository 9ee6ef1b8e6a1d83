import type { Contender } from '../contender.js';
import { runNodeContender } from '../node-contender.js';

/** No contender: the least that a client can do, to see what the origin and the sink can. */
export const getDriver: Contender = {
  name: 'GET, discard',
  version: `Node ${process.version}`,
  run: (files, ends, limits) => runNodeContender('The driver', new URL('./get-main.js', import.meta.url), files, ends, limits),
};

export const putDriver: Contender = {
  name: 'PUT, from memory',
  version: `Node ${process.version}`,
  run: (files, ends, limits) => runNodeContender('The driver', new URL('./put-main.js', import.meta.url), files, ends, limits),
};
