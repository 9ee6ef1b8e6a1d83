import type { S3Client } from '@aws-sdk/client-s3';
import { readLines, readText, writeLines, writeText } from '../../../platform/s3/index.js';
import type { BatchSummary, ResultFile } from '../../application/job-batches.port.js';
import { JobResultsPort } from '../../application/job-results.port.js';
import { summarize, type FailedTask } from '../../domain/answer.js';
import type { ExportJobEntity } from '../../domain/export-job.entity.js';
import { failedManifestKey, manifestKey } from '../../domain/export-layout.js';
import { parseFailedLine, type FailedLine } from './result-line.schema.js';
import { parseSegmentHeader, parseSegmentTask } from './segment.schema.js';

/** More could not be shown in a `cause` of 32,768 bytes. */
const FIRST_FAILURES = 100;

export class S3JobResultsAdapter extends JobResultsPort {
  constructor(private readonly client: S3Client) {
    super();
  }

  async saveRequest(job: ExportJobEntity, requestJson: string): Promise<void> {
    await writeText(this.client, { bucket: job.destination.bucket, key: job.requestKey }, requestJson, 'application/json');
  }

  loadRequest(job: ExportJobEntity): Promise<string> {
    return readText(this.client, { bucket: job.destination.bucket, key: job.requestKey });
  }

  async writeManifest(job: ExportJobEntity, batches: readonly BatchSummary[]): Promise<{ resultKey: string; firstFailures: FailedTask[] }> {
    const { bucket } = job.destination;
    const firstFailures: FailedTask[] = [];
    const failedKey = failedManifestKey(job.destination, job.jobId, job.run);
    await writeLines(this.client, { bucket, key: failedKey }, this.failedTasks(bucket, batches, firstFailures));

    const resultKey = manifestKey(job.destination, job.jobId, job.run);
    const manifest = {
      DestinationBucket: bucket,
      ResultFiles: {
        SUCCEEDED: batches.flatMap((batch) => listed(batch.resultKeys?.succeeded)),
        FAILED: batches.flatMap((batch) => listed(batch.resultKeys?.failed)),
        PENDING: [],
      },
      ...summarize(job, resultKey),
      failedManifest: { bucket, key: failedKey },
    };
    await writeText(this.client, { bucket, key: resultKey }, JSON.stringify(manifest, null, 2), 'application/json');
    return { resultKey, firstFailures };
  }

  /** The lines of `failed.jsonl`, a manifest of what failed with whole URLs; the first few are collected on the way. */
  private async *failedTasks(bucket: string, batches: readonly BatchSummary[], first: FailedTask[]): AsyncIterable<string> {
    for (const batch of batches) {
      if (batch.failed === 0 || batch.resultKeys === undefined) continue;
      const failures = new Map<number, FailedLine>();
      for await (const line of readLines(this.client, { bucket, key: batch.resultKeys.failed.key })) {
        const failure = parseFailedLine(line);
        failures.set(failure.index, failure);
        if (first.length < FIRST_FAILURES) first.push(failure);
      }
      yield* this.segmentLines(bucket, batch.segmentKey, failures);
    }
  }

  private async *segmentLines(bucket: string, segmentKey: string, failures: ReadonlyMap<number, FailedLine>): AsyncIterable<string> {
    let index: number | undefined;
    for await (const line of readLines(this.client, { bucket, key: segmentKey })) {
      if (index === undefined) {
        index = parseSegmentHeader(line).firstIndex;
        continue;
      }
      if (failures.has(index)) yield JSON.stringify(parseSegmentTask(line));
      index++;
    }
  }
}

function listed(file: ResultFile | undefined): { Key: string; Size: number }[] {
  return file === undefined || file.size === 0 ? [] : [{ Key: file.key, Size: file.size }];
}
