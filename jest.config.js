import { availableParallelism } from 'node:os';

const transform = {
  '^.+\\.ts$': [
    '@swc/jest',
    {
      jsc: {
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        target: 'es2023',
        experimental: { keepImportAttributes: true },
      },
      module: { type: 'es6' },
      sourceMaps: 'inline',
    },
  ],
};

/**
 * No test is timed: this only ends one that hangs, also on a busy machine. What a test waits for
 * gives up before it, with the reason.
 */
const HANG_MS = 400_000;

/**
 * unit and conformance suites run on the sources; the other suites start the built service, so `npm
 * run build` comes first.
 */
const project = (displayName, options = {}) => ({
  displayName,
  testEnvironment: 'node',
  roots: [`<rootDir>/test/${displayName}`],
  testMatch: ['**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform,
  ...options,
});

export default {
  // Of all projects: jest takes no notice of it in one of them.
  testTimeout: HANG_MS,
  // More than there are cores (jest takes no percentage above 100): suites of real processes wait
  // half of their time.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  testSequencer: '<rootDir>/test/support/longest-first.cjs',
  projects: [project('unit'), project('conformance'), project('integration'), project('e2e'), project('long')],
};
