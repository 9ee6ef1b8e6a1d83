import { afterEach, beforeEach, describe, it } from '@jest/globals';
import { ExportFixture } from '../e2e/export-fixture.js';
import { expectDeploysToCostNothing, type Deployment } from '../e2e/repeated-deploys.js';

const DEPLOYS = 20;
const BY_SIGTERM = { signalled: 'process', signal: 'SIGTERM' } as const;
const BY_CTRL_C = { signalled: 'npm-group', signal: 'SIGINT' } as const;

describe('twenty deploys in a row over a held job message and a running job', () => {
  let fixture: ExportFixture;
  beforeEach(async () => {
    fixture = await ExportFixture.start();
  });
  afterEach(() => fixture.close());

  it.each<[string, Deployment]>([
    ['by SIGTERM, alone', { ...BY_SIGTERM, coordinators: 1 }],
    ['by SIGTERM, with a second coordinator', { ...BY_SIGTERM, coordinators: 2 }],
    ['by Ctrl-C in a process group, alone', { ...BY_CTRL_C, coordinators: 1 }],
    ['by Ctrl-C in a process group, with a second coordinator', { ...BY_CTRL_C, coordinators: 2 }],
  ])('%s, cost the message one receive each, and nothing else', (_how, deployment) =>
    expectDeploysToCostNothing(fixture, deployment, DEPLOYS),
  );
});
