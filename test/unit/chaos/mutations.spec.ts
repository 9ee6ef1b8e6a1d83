import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { judge, readReport, type JestReport } from '../../chaos/mutations/jest-report.js';
import { mutate, type Mutation } from '../../chaos/mutations/mutation.js';
import { MUTATIONS } from '../../chaos/mutations/mutations.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const RULE = 'Count on the old value';

describe('the declared mutations', () => {
  it.each(MUTATIONS.map((mutation): [string, string, Mutation] => [mutation.rule, mutation.fault, mutation]))(
    '%s: %s: stands in its source once, and its specs are there',
    (_rule, _fault, mutation) => {
      const source = readFileSync(join(ROOT, mutation.file), 'utf8');
      expect(mutate(source, mutation)).not.toBe(source);
      expect(mutation.specs.filter((spec) => !existsSync(join(ROOT, 'test', spec)))).toEqual([]);
      expect(mutation.specs).not.toEqual([]);
    },
  );

  it('tell their faults apart', () => {
    const names = MUTATIONS.map(({ rule, fault }) => `${rule}: ${fault}`);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('mutate', () => {
  const mutation: Mutation = { rule: RULE, fault: 'none', file: 'a.ts', find: 'old', replace: 'new $&', specs: [] };

  it('replaces the text as it stands there', () => {
    expect(mutate('an old line', mutation)).toBe('an new $& line');
  });

  it.each([
    ['is not there', 'a line', 0],
    ['is there twice', 'old, old', 2],
  ])('refuses a text that %s: the code was changed and its mutation was not', (_case, source, times) => {
    expect(() => mutate(source, mutation)).toThrow(`a.ts must hold this text once, and holds it ${times} times`);
  });
});

describe('the verdict on a mutation', () => {
  const spec = (...tests: [fullName: string, status: string][]): JestReport['testResults'][number] => ({
    name: 'a.spec.ts',
    status: tests.some(([, status]) => status === 'failed') ? 'failed' : 'passed',
    message: '',
    assertionResults: tests.map(([fullName, status]) => ({ fullName, status })),
  });
  const broken = { ...spec(), status: 'failed', message: 'SyntaxError' };
  const named = `rows ${RULE}: the same count twice is counted once`;

  it.each<[string, JestReport['testResults'], object]>([
    ['caught by the test that names the rule', [spec(['another', 'failed'], [named, 'failed'])], { kind: 'caught', by: named }],
    ['not enough: only others fail', [spec(['another', 'failed'], [named, 'passed'])], { kind: 'unnamed', by: 'another' }],
    ['survived: all are green', [spec(['another', 'passed'], [named, 'passed'])], { kind: 'survived' }],
    [
      'not run: a spec cannot be loaded, whatever fails in another',
      [spec([named, 'failed']), broken],
      { kind: 'not-run', why: 'a.spec.ts: SyntaxError' },
    ],
    ['not run: there are no tests', [], { kind: 'not-run', why: 'no tests found' }],
  ])('is %s', (_case, testResults, verdict) => {
    expect(judge(readReport({ testResults }), RULE)).toEqual(verdict);
  });
});
