import { z } from 'zod';

/** Of what jest says about a spec that cannot be loaded: the rest is a stack. */
const LINES_OF_A_FAILURE = 8;

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

/** The part of jest's `--json` that tells what happened. */
export type JestReport = z.infer<typeof reportSchema>;

/** How a run of specs ended. */
export type SpecsRun =
  { kind: 'green' } | { kind: 'red'; failed: readonly [string, ...string[]] } | { kind: 'not-run'; why: string } | { kind: 'hung' };

/** What the run of a mutation's specs says about it. */
export type Verdict =
  /** By a test that is named after the rule. */
  | { kind: 'caught'; by: string }
  /** Something turned red, but no test that is about the rule. */
  | { kind: 'unnamed'; by: string }
  | { kind: 'survived' }
  /** No test failed, but a spec did not run: the mutated code cannot be loaded, say. */
  | { kind: 'not-run'; why: string }
  | { kind: 'hung' };

export function parseReport(json: string): JestReport {
  return reportSchema.parse(JSON.parse(json));
}

/** A spec that is red without a failed test has not run; what the others say does not make up for it. */
export function readReport({ testResults }: JestReport): SpecsRun {
  const failedOf = ({ assertionResults }: JestReport['testResults'][number]) =>
    assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  const broken = testResults.find((spec) => spec.status === 'failed' && failedOf(spec).length === 0);
  if (broken !== undefined) {
    const message = broken.message.trim().split('\n').slice(0, LINES_OF_A_FAILURE).join('\n');
    return { kind: 'not-run', why: `${broken.name}: ${message}` };
  }
  if (!testResults.some(({ assertionResults }) => assertionResults.length > 0)) return { kind: 'not-run', why: 'no tests found' };
  const [first, ...others] = testResults.flatMap(failedOf);
  return first === undefined ? { kind: 'green' } : { kind: 'red', failed: [first, ...others] };
}

export function judge(run: SpecsRun, rule: string): Verdict {
  if (run.kind === 'green') return { kind: 'survived' };
  if (run.kind !== 'red') return run;
  const named = run.failed.find((test) => test.includes(rule));
  return named === undefined ? { kind: 'unnamed', by: run.failed[0] } : { kind: 'caught', by: named };
}
