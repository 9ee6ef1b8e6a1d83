import type { Mutation } from '../mutation.js';

const CREDENTIALS = 'src/platform/aws/shared-credentials.ts';
const CHECKS = 'src/platform/health/dependency-checks.ts';
const START = 'src/platform/health/start-check.ts';
const ON_CREDENTIALS = ['unit/platform/aws/shared-credentials.spec.ts'];
const ON_CHECKS = ['unit/platform/health/dependency-checks.spec.ts'];
const ON_START = ['unit/platform/health/start-check.spec.ts'];

export const DEPENDENCY_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'Refused credentials are replaced once',
    fault: 'each caller that was refused fetches for itself',
    file: CREDENTIALS,
    find: 'if (this.fetching !== undefined) return this.fetching;',
    replace: '',
    specs: ON_CREDENTIALS,
  },
  {
    rule: 'Refused credentials are replaced once',
    fault: 'one who comes late has those fetched anew that are here',
    file: CREDENTIALS,
    find: 'if (!isRefused(this.known)) return true;',
    replace: '',
    specs: ON_CREDENTIALS,
  },
  {
    rule: 'Refused credentials that come again',
    fault: 'each refused call fetches what its source has already said',
    file: CREDENTIALS,
    find: 'return this.clock.monotonicMs() < this.nextFetchAt;',
    replace: 'return false;',
    specs: ON_CREDENTIALS,
  },
  {
    rule: 'A silent source of credentials',
    fault: 'whoever needs credentials waits for it for ever',
    file: CREDENTIALS,
    find: 'await Promise.race([fetched, late]);',
    replace: 'await fetched;',
    specs: ON_CREDENTIALS,
  },
  {
    rule: 'Readiness answers within its limit',
    fault: 'it waits for whoever is silent',
    file: CHECKS,
    find: 'await Promise.race([called, late]);',
    replace: 'await called;',
    specs: ON_CHECKS,
  },
  {
    rule: 'A start ends when something is missing',
    fault: 'the service starts, and its jobs wait for ever',
    file: START,
    find: 'if (lasting.length === 0) return;',
    replace: 'return;',
    specs: ON_START,
  },
  {
    rule: 'A start without credentials ends after half a minute',
    fault: 'it neither starts nor ends',
    file: START,
    find: 'if (now >= endsAt) throw noCredentials(error);',
    replace: '',
    specs: ON_START,
  },
  {
    rule: 'maxReceiveCount is the queue’s own',
    fault: 'its consumer counts to another number',
    file: 'src/intake/adapters/export-job.consumer.ts',
    find: 'this.maxReceiveCount = maxReceiveCount;',
    replace: '',
    specs: ['unit/intake/adapters/export-job.consumer.spec.ts'],
  },
];
