import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const SCRIPT = resolve(import.meta.dirname, '../../../infra/build-if-changed.js');
const READ = ['package.json', 'package-lock.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json', 'src/a/b.ts', 'infra/c.ts'];

describe('npm run demo and npm run local', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'build-if-changed-'));
    for (const file of READ) write(file);
    for (const path of ['src', 'src/a', 'infra', ...READ]) touch(path, 1_000);
    // In place of npm, whose build takes a minute.
    write('bin/npm', '#!/bin/sh\necho "npm $*"\n', 0o755);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(file: string, text = '', mode = 0o644): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text, { mode });
  }

  const touch = (path: string, atS: number) => utimesSync(join(folder, path), atS, atS);

  function run() {
    const env = { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` };
    const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd: folder, env, encoding: 'utf8' });
    return { status, stdout, stderr };
  }

  it('build for the first time, and say so', () => {
    expect(run()).toEqual({ status: 0, stdout: 'npm run --silent build\n', stderr: 'Building; this takes a while …\n' });
  });

  it('do not build when nothing has changed', () => {
    write('dist/src/main.js');
    touch('dist/src/main.js', 2_000);
    expect(run()).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it.each([['src/a/b.ts'], ['infra/c.ts'], ['package-lock.json'], ['src/a']])('build when %s has changed', (path) => {
    write('dist/src/main.js');
    touch('dist/src/main.js', 2_000);
    touch(path, 3_000);
    expect(run()).toMatchObject({ stdout: 'npm run --silent build\n', stderr: 'Something changed: building …\n' });
  });

  it('end as the build does when it fails', () => {
    write('bin/npm', '#!/bin/sh\nexit 3\n', 0o755);
    expect(run().status).toBe(3);
  });
});
