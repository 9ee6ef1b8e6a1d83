import { z } from 'zod';

/** What a run of some specs on a mutated copy says about the mutation. */
export type Verdict =
  /** By a test that is named after the rule. */
  | { kind: 'caught'; by: string }
  /** Something turned red, but no test that is about the rule. */
  | { kind: 'unnamed'; by: string }
  | { kind: 'survived' }
  /** No test failed, but the specs did not run: the mutation does not compile, or a spec is not there. */
  | { kind: 'not-run'; why: string }
  | { kind: 'hung' };

const reportSchema = z.object({
  numTotalTests: z.number(),
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

export function parseReport(json: string): JestReport {
  return reportSchema.parse(JSON.parse(json));
}

export function failedTests(report: JestReport): string[] {
  return report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
  );
}

/** Why specs are red that have no failing test, or `undefined` if there are none. */
export function whyNotRun(report: JestReport): string | undefined {
  if (report.numTotalTests === 0 && report.testResults.length === 0) return 'no tests found';
  const broken = report.testResults.find(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return broken === undefined ? undefined : `${broken.name}: ${broken.message.trim()}`;
}

export function judge(report: JestReport, rule: string): Verdict {
  const why = whyNotRun(report);
  if (why !== undefined) return { kind: 'not-run', why };
  const failed = failedTests(report);
  const named = failed.find((test) => test.includes(rule));
  if (named !== undefined) return { kind: 'caught', by: named };
  return failed[0] === undefined ? { kind: 'survived' } : { kind: 'unnamed', by: failed[0] };
}
