import type { Mutation } from '../mutation.js';

/** What a person on call reads, and what wakes one. */
export const LOG_LINE_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'are one line every 10 s and kind',
    fault: 'each retry of an outage is a line',
    file: 'src/platform/equal-lines.ts',
    find: 'now < known.nextAt',
    replace: 'now < 0',
    specs: ['unit/platform/pino-logger.spec.ts'],
  },
  {
    rule: 'A copy only where nobody hears',
    fault: "a user's bad request is a dead letter",
    file: 'src/intake/application/reject-message.use-case.ts',
    find: "if (callback !== 'none' && callback !== 'gone') return;",
    replace: '',
    specs: ['unit/intake/application/reject-message.use-case.spec.ts'],
  },
  {
    rule: 'Host and cause of a failed request',
    fault: 'a name that does not exist is not named',
    file: 'src/worker-pool/threads/request-errors.ts',
    find: 'there is no host ${host}',
    replace: 'there is no such host',
    specs: ['unit/worker-pool/request-errors.spec.ts'],
  },
  {
    rule: 'says for how long, once for each time',
    fault: 'a process that stood still for minutes says nothing',
    file: 'src/platform/standstill-watch.ts',
    find: 'lateMs >= LEAST_MS',
    replace: 'lateMs >= LEAST_MS * 100',
    specs: ['unit/platform/standstill-watch.spec.ts'],
  },
  {
    rule: 'no name of ours may begin with `States.`',
    fault: 'an error of Step Functions is raised again under its own name',
    file: 'infra/state-machine/export.asl.json',
    find: '"Default": "NameFailure"',
    replace: '"Default": "ExportFailed"',
    specs: ['unit/infra/state-machine.spec.ts'],
  },
];
