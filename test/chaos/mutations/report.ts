import type { Verdict } from './jest-report.js';
import type { Mutation } from './mutation.js';

export interface Tried {
  mutation: Mutation;
  verdict: Verdict;
  seconds: number;
}

/** One mutation as three lines of the table: rule and fault, mutated file, who caught it. */
export function row({ mutation: { rule, fault, file }, verdict, seconds }: Tried): string {
  const mark = verdict.kind === 'caught' ? 'ok  ' : 'FAIL';
  const indent = ' '.repeat(13);
  return `${mark} ${seconds.toFixed(1).padStart(4)} s  ${rule}: ${fault}\n${indent}${file}\n${indent}${saying(verdict)}`;
}

function saying(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'caught':
      return `caught by: ${verdict.by}`;
    case 'unnamed':
      return `caught only by tests that do not name the rule: ${verdict.by}`;
    case 'survived':
      return 'SURVIVED: its specs stay green';
    case 'hung':
      return 'its specs do not come to an end: take the rule out in another way';
    case 'not-run':
      return `its specs did not run: ${verdict.why}`;
  }
}

/** What follows the table: who was not caught, and why something was not even tried. */
export function shortfall(tried: readonly Tried[], untried: readonly Mutation[], reason: string): string {
  const bad = tried.filter(({ verdict }) => verdict.kind !== 'caught');
  return [
    ...(bad.length === 0 ? [] : ['', 'Not caught:', ...bad.map(row)]),
    ...(untried.length === 0 ? [] : ['', `Not tried, because ${reason}:`, ...untried.map(({ rule, fault }) => `  ${rule}: ${fault}`)]),
  ].join('\n');
}

export function toJson(tried: readonly Tried[], counts: { passed: number; failed: number }): string {
  const rows = tried.map(({ mutation: { rule, fault, file }, verdict, seconds }) => ({ rule, fault, file, ...verdict, seconds }));
  return JSON.stringify({ ...counts, tried: rows }, null, 2);
}
