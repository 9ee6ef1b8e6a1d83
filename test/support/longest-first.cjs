const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * Suites of processes take the longest: begun last, they would run on alone while the other workers
 * have nothing to do.
 */
const ORDER = ['long', 'e2e', 'integration', 'conformance', 'unit'];

const placeOf = ({ context }) => ORDER.indexOf(context.config.displayName?.name ?? '');

/**
 * By project; within one as jest has it: what failed first, then what took longest, or is the
 * largest file.
 */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
};
