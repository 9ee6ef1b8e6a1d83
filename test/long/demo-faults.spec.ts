import { expect, it } from '@jest/globals';
import { CommandProcess } from '../e2e/command-process.js';

it.each([
  ['suppress-heartbeat', /FAILED execution: FAILED \(ExportTimedOut\)/, /FAILED heartbeats: /],
  [
    'second-answer',
    /FAILED token: not one accepted answer, but: success accepted, success refused/,
    /SendTaskSuccess 200, SendTaskSuccess 400/,
  ],
])('The demo exits with 1 and names the failed check after the fault %s', async (fault, ...problems) => {
  const { code, stdout } = await CommandProcess.start('infra/demo/main.js', ['--fault', fault]).ended;
  for (const problem of problems) expect(stdout).toMatch(problem);
  expect(code).toBe(1);
});
