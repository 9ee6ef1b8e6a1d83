import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { nodeVersionProblem } from '../../../src/platform/node-version.js';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('the Node that runs the service', () => {
  it.each([['24.0.0'], ['24.21.0'], ['25.1.0'], ['100.0.0']])('may be %s', (version) =>
    expect(nodeVersionProblem(version)).toBeUndefined(),
  );

  it.each([['20.20.2'], ['22.22.0'], ['23.11.1']])('is refused as %s by name, with the one that is needed', (version) => {
    expect(nodeVersionProblem(version)).toContain(`This is Node ${version}, and the export worker needs Node 24 or newer`);
  });

  // What is imported statically is linked before anything runs: an old Node that lacks a name of it ends with a SyntaxError.
  it.each([
    ['src/main.ts', './platform/node-version.js'],
    ['src/cli/main.ts', '../platform/node-version.js'],
    ['src/platform/node-version.ts', undefined],
  ])('is asked for in %s before anything else is loaded', (file, only) => {
    const imports = [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^import [^'\n]*'([^'\n]+)'/gm)].map(([, from]) => from);
    expect(imports).toEqual(only === undefined ? [] : [only]);
  });
});
