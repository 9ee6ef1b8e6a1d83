import type { Mutation } from '../mutation.js';

const ON_JOBS = ['unit/cli/jobs.spec.ts'];
const ON_SUBMIT = ['unit/cli/submit.spec.ts'];
const ON_LOCAL = ['unit/infra/local-files.spec.ts'];

/** What people's commands must not do to them. */
export const COMMAND_MUTATIONS: readonly Mutation[] = [
  {
    rule: 'when several begin so',
    fault: 'the beginning of an id means the first job that is found, so that cancel ends another one',
    file: 'src/cli/find-job.ts',
    find: 'if (ids.length <= 1)',
    replace: 'if (ids.length >= 0)',
    specs: ON_JOBS,
  },
  {
    rule: 'neither batches nor failures of the former run',
    fault: 'files that run again are told as failed',
    file: 'src/cli/job-failures.ts',
    find: 'run !== job.run || ',
    replace: '',
    specs: ON_JOBS,
  },
  {
    rule: 'before anything is sent',
    fault: 'an option that the service refuses leaves an uploaded list and a failed execution',
    file: 'src/cli/commands/submit.ts',
    find: "if (problems.length > 0) throw new UsageError(problems.join('\\n'));",
    replace: '',
    specs: ON_SUBMIT,
  },
  {
    rule: 'a second one has others',
    fault: 'a second local takes the files of the first',
    file: 'infra/local-aws/local-files.ts',
    find: 'if (owner > 0 && isRunning(owner)) return false;',
    replace: '',
    specs: ON_LOCAL,
  },
];
