export { EXIT_CONFIGURATION } from '../config/index.js';

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
/** As a shell reports a process that Ctrl-C ended: `submit --wait && next` must not go on when nobody waited to the end. */
export const EXIT_DETACHED = 130;
