import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allowedSources } from '../../../infra/local-aws/allowed-sources.js';
import { claimLocalFiles } from '../../../infra/local-aws/local-files.js';

describe('the files of a running local', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'local-files-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const textOf = (file: string) => readFileSync(file, 'utf8');

  it('are its own: a second one has others, and takes nothing of the first when it stops', () => {
    const first = claimLocalFiles(folder, process.pid);
    first.writeEnvironment({ AWS_REGION: 'first' });
    const second = claimLocalFiles(folder, process.ppid);
    second.writeEnvironment({ AWS_REGION: 'second' });
    expect([first.environmentFile, second.environmentFile]).toEqual([join(folder, 'env'), join(folder, 'env-2')]);
    expect(second.logFolder).not.toBe(first.logFolder);
    second.remove();
    expect(existsSync(second.environmentFile)).toBe(false);
    expect(textOf(first.environmentFile)).toContain("export AWS_REGION='first'");
    first.remove();
    expect(existsSync(first.environmentFile)).toBe(false);
    expect(existsSync(first.logFolder)).toBe(true);
  });

  it('are taken over from one that was killed', () => {
    // No process has this pid: it is above the highest that a kernel gives.
    writeFileSync(join(folder, 'env'), '# local 99999999\nexport AWS_REGION=old\n');
    expect(claimLocalFiles(folder).environmentFile).toBe(join(folder, 'env'));
  });

  it('are left when another has taken them since', () => {
    const files = claimLocalFiles(folder);
    writeFileSync(files.environmentFile, '# local 1\n');
    files.remove();
    expect(textOf(files.environmentFile)).toBe('# local 1\n');
  });
});

describe('the sources that services on the embedded AWS may read', () => {
  it('are those of this machine, and what the environment allows', () => {
    expect(allowedSources({})).toEqual({ ALLOWED_SOURCE_CIDRS: '127.0.0.0/8,::1/128' });
    const given = { ALLOWED_SOURCE_CIDRS: '10.0.0.0/8, 127.0.0.0/8', ALLOWED_SOURCE_HOSTS: 'files.internal', LOG_LEVEL: 'debug' };
    expect(allowedSources(given)).toEqual({
      ALLOWED_SOURCE_CIDRS: '127.0.0.0/8,::1/128,10.0.0.0/8',
      ALLOWED_SOURCE_HOSTS: 'files.internal',
    });
  });
});
