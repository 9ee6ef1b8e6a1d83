import type { Mutation } from '../mutation.js';

export const CLOCK_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'A sleep never ends early',
    fault: 'it ends when its first timer fires, up to 1 ms before its time',
    file: 'src/shared/clock.ts',
    find: 'if (performance.now() < at) timer = wait();\n        else done();',
    replace: 'done();',
    specs: ['conformance/clock.spec.ts'],
  },
];
