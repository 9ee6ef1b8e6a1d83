import type { S3Client } from '@aws-sdk/client-s3';
import { parseFailedLine, type BatchSummary, type ExportJobEntity, type FailedLine } from '../export-jobs/index.js';
import { readLines } from '../platform/s3/index.js';
import { explainError } from './cli-error.js';
import type { Cli } from './cli.js';
import { failureLines, groupFailures, type FailureGroup } from './presentation/index.js';

const MOST_NAMED = 10;
/** Of a job with more failures, the first are counted: a command answers within seconds. */
const MOST_COUNTED = 10_000;

/** What failed in the present run of a job. */
export interface Failures {
  /** The first of them. */
  first: FailedLine[];
  groups: FailureGroup[];
}

/** The failed files of the job's present run, from the result files of its ended batches; says so when they cannot be read. */
export async function failuresOf(cli: Cli, s3: S3Client, job: ExportJobEntity, batches: readonly BatchSummary[]): Promise<Failures> {
  const found: FailedLine[] = [];
  try {
    for await (const line of failedLines(s3, job, batches)) {
      found.push(line);
      if (found.length === MOST_COUNTED) break;
    }
  } catch (error) {
    cli.tell(`The failed files cannot be listed: ${explainError(error)}`);
  }
  return { first: found.slice(0, MOST_NAMED), groups: await groupFailures(found) };
}

async function* failedLines(s3: S3Client, job: ExportJobEntity, batches: readonly BatchSummary[]): AsyncGenerator<FailedLine> {
  for (const { run, failed, resultKeys } of batches) {
    // What failed in a former run runs again.
    if (run !== job.run || failed === 0 || resultKeys === undefined) continue;
    for await (const line of readLines(s3, { bucket: job.destination.bucket, key: resultKeys.failed.key })) yield parseFailedLine(line);
  }
}

/** Empty when there is none to name. Keys are told without the destination's prefix. */
export function describeFailures({ groups }: Failures, { failedTasks, destination }: ExportJobEntity, width: number): string {
  if (groups.length === 0) return '';
  return ['Failed files:', ...failureLines(groups, { total: failedTasks, prefix: destination.prefix, width }), ''].join('\n');
}

/** How many of each reason, for programs. */
export function failureCounts({ groups }: Failures): Record<string, number> {
  return Object.fromEntries(groups.map(({ code, count }) => [code, count]));
}
