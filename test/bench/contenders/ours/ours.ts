import { packageVersion } from '../../../../src/config/index.js';
import type { Contender } from '../contender.js';
import { runNodeContender } from '../node-contender.js';

/** The service's pool with its real threads, fed as the service feeds it: as many tasks as it has room for. */
export function ours(): Contender {
  return {
    name: 'ours',
    version: packageVersion(),
    run: (files, ends, limits) => runNodeContender('ours', new URL('./main.js', import.meta.url), files, ends, limits),
  };
}
