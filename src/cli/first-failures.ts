import type { S3Client } from '@aws-sdk/client-s3';
import { parseFailedLine, type BatchSummary, type ExportJobEntity, type FailedLine } from '../export-jobs/index.js';
import { readLines } from '../platform/s3/index.js';
import { explainError } from './cli-error.js';
import type { Cli } from './cli.js';
import { failureLines } from './presentation/index.js';

const MOST = 10;

/** The first failed files of the job, from the result files of its ended batches; says so when they cannot be read. */
export async function firstFailures(cli: Cli, s3: S3Client, job: ExportJobEntity, batches: readonly BatchSummary[]): Promise<FailedLine[]> {
  const found: FailedLine[] = [];
  try {
    for (const { failed, resultKeys } of batches) {
      if (failed === 0 || resultKeys === undefined) continue;
      for await (const line of readLines(s3, { bucket: job.destination.bucket, key: resultKeys.failed.key })) {
        found.push(parseFailedLine(line));
        if (found.length === MOST) return found;
      }
    }
  } catch (error) {
    cli.tell(`The failed files cannot be listed: ${explainError(error)}`);
  }
  return found;
}

/** Empty when there is none to name. */
export function describeFailures(failures: readonly FailedLine[], job: ExportJobEntity): string {
  if (failures.length === 0) return '';
  return ['Failed files:', ...failureLines(failures, job.failedTasks), ''].join('\n');
}
