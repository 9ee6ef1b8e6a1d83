import type { Mutation } from '../mutation.js';

const LOOP = 'src/platform/sqs/poll-loop.ts';
const HAND_BACK = 'src/platform/sqs/hand-back.ts';
const ON_LOOP = ['unit/platform/sqs/poll-loop.spec.ts'];

export const SHUTDOWN_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'The last poll ends by itself',
    fault: 'the poll under way is aborted, and takes at SQS what is handed back',
    file: LOOP,
    find: 'this.#run?.stop.abort();\n    this.wake();',
    replace: 'this.#run?.stop.abort();\n    this.#run?.cutOff.abort();\n    this.wake();',
    specs: ON_LOOP,
  },
  {
    rule: 'The last poll ends by itself',
    fault: 'a poll that failed a moment ago takes at SQS what is handed back',
    file: LOOP,
    find: 'this.#livesOnUntil = clock.monotonicMs() + waitSeconds * 1_000;',
    replace: '',
    specs: ON_LOOP,
  },
  {
    rule: 'The last poll ends by itself',
    fault: 'a job message is handed back while the last poll is under way',
    file: 'src/intake/adapters/export-job.consumer.ts',
    find: 'if (shuttingDown) await this.loop?.ended;',
    replace: '',
    specs: ['unit/intake/adapters/export-job.consumer.spec.ts'],
  },
  {
    rule: 'The last poll ends by itself',
    fault: 'batches are handed back while the last poll is under way',
    file: 'src/batches/adapters/batch.consumer.ts',
    find: 'await this.loop?.stop(deadlines.finishBy);',
    replace: '',
    specs: ['unit/batches/adapters/batch.consumer.spec.ts'],
  },
  {
    rule: 'A shutdown spends no last receive',
    fault: 'a message whose receives are spent is shown again, and dead-lettered',
    file: HAND_BACK,
    find: 'receiveCount >= maxReceiveCount;',
    replace: 'receiveCount > maxReceiveCount;',
    specs: ON_LOOP,
  },
  {
    rule: 'The same signal again is no second one',
    fault: 'Ctrl-C under npm skips the drain',
    file: 'src/platform/lifecycle.ts',
    find: "if (is === 'same') return;",
    replace: "if (is === 'same') return exit(1);",
    specs: ['unit/platform/lifecycle.spec.ts'],
  },
  {
    rule: 'The same signal again is no second one',
    fault: 'a repeat that waited in a blocked event loop skips the drain',
    file: 'src/shared/repeated-signal.ts',
    find: 'await new Promise((resolve) => setImmediate(resolve));',
    replace: '',
    specs: ['unit/shared/repeated-signal.spec.ts'],
  },
];
