import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { GetObjectCommand, paginateListObjectsV2, type S3Client } from '@aws-sdk/client-s3';
import type { DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import { z } from 'zod';
import { readLines } from '../../src/platform/s3/index.js';
import type { LocalAws } from '../local-aws/local-aws.js';
import type { RequestRecord } from '../local-aws/request-log.js';
import type { TokenRecord } from '../local-aws/step-functions/index.js';
import type { DemoClients } from './demo-clients.js';
import type { ExportRun, JobRow } from './export-run.js';

const HASHED_AT_ONCE = 8;

const totals = z.object({ totalTasks: z.number(), completedTasks: z.number(), failedTasks: z.number(), bytesProcessed: z.number() });
export type Totals = z.infer<typeof totals>;

const listed = z.array(z.object({ Key: z.string(), Size: z.number() }));
const manifestSchema = totals.extend({
  ResultFiles: z.object({ SUCCEEDED: listed, FAILED: listed }),
  failedManifest: z.object({ key: z.string() }),
});
const succeededLine = z.object({ index: z.number(), url: z.string(), key: z.string(), size: z.number(), sha256: z.string().nullable() });
const failedLine = z.object({ index: z.number(), url: z.string(), key: z.string(), code: z.string(), message: z.string().nullable() });
const manifestLine = z.object({ url: z.string(), key: z.string() });

export interface StoredObject {
  size: number;
  /** Of the bytes as they were read back. */
  sha256: string;
}

/** What `manifest.json` of the run says and points to. */
export interface Results {
  totals: Totals;
  files: z.infer<typeof listed>;
  succeeded: z.infer<typeof succeededLine>[];
  failed: z.infer<typeof failedLine>[];
  /** Lines of `failed.jsonl`. */
  failedManifest: z.infer<typeof manifestLine>[];
}

/** Everything that can be seen of an ended export from outside the service. */
export interface Evidence {
  execution: { status: string; error?: string; cause?: string; output?: Totals };
  job: JobRow | undefined;
  /** Under the job's prefix by whole key, without `_export/`. */
  objects: ReadonlyMap<string, StoredObject>;
  /** Sizes under `_export/` by whole key. */
  exportFolder: ReadonlyMap<string, number>;
  /** Absent when the job ended without any. */
  results: Results | undefined;
  tokens: readonly TokenRecord[];
  /** Requests that answered a token, as the endpoint logged them. */
  answers: readonly RequestRecord[];
  openUploads: readonly { key: string }[];
}

export async function gatherEvidence(
  aws: LocalAws,
  clients: DemoClients,
  run: ExportRun,
  execution: DescribeExecutionOutput,
  signal: AbortSignal,
): Promise<Evidence> {
  const { bucket } = aws.resources;
  const job = await run.finalRow(signal);
  const { objects, exportFolder } = await readBack(clients.s3, bucket, run.prefix, signal);
  return {
    execution: {
      status: execution.status ?? 'unknown',
      ...(execution.error === undefined ? {} : { error: execution.error }),
      ...(execution.cause === undefined ? {} : { cause: execution.cause }),
      ...(execution.output === undefined ? {} : { output: totals.parse(JSON.parse(execution.output)) }),
    },
    job,
    objects,
    exportFolder,
    results: job?.resultKey === undefined ? undefined : await readResults(clients.s3, bucket, job.resultKey),
    tokens: aws.stepFunctions.tokens(),
    answers: aws.log.of('states').filter(({ operation }) => operation === 'SendTaskSuccess' || operation === 'SendTaskFailure'),
    openUploads: aws.s3.openUploads(bucket),
  };
}

/** Every object under the prefix: the job's files hashed, what lies under `_export/` by its size. */
export async function readBack(s3: S3Client, bucket: string, prefix: string, signal: AbortSignal) {
  const objects = new Map<string, StoredObject>();
  const exportFolder = new Map<string, number>();
  const toHash: string[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix: prefix }))
    for (const { Key = '', Size = 0 } of Contents) {
      if (Key.startsWith(`${prefix}_export/`)) exportFolder.set(Key, Size);
      else toHash.push(Key);
    }
  const hashNext = async (): Promise<void> => {
    for (let key = toHash.pop(); key !== undefined; key = toHash.pop()) objects.set(key, await hashObject(s3, bucket, key, signal));
  };
  await Promise.all(Array.from({ length: HASHED_AT_ONCE }, hashNext));
  return { objects, exportFolder };
}

async function hashObject(s3: S3Client, bucket: string, key: string, signal: AbortSignal): Promise<StoredObject> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }), { abortSignal: signal });
  if (!(Body instanceof Readable)) throw new Error(`s3://${bucket}/${key} has no body`);
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of Body as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.byteLength;
  }
  return { size, sha256: hash.digest('hex') };
}

export async function readResults(s3: S3Client, bucket: string, key: string): Promise<Results> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
  const manifest = manifestSchema.parse(JSON.parse((await Body?.transformToString()) ?? ''));
  const { SUCCEEDED, FAILED } = manifest.ResultFiles;
  const lines = async <T>(keys: string[], schema: z.ZodType<T>): Promise<T[]> => {
    const parsed: T[] = [];
    for (const file of keys) for await (const line of readLines(s3, { bucket, key: file })) parsed.push(schema.parse(JSON.parse(line)));
    return parsed;
  };
  return {
    totals: totals.parse(manifest),
    files: [...SUCCEEDED, ...FAILED],
    succeeded: await lines(
      SUCCEEDED.map(({ Key }) => Key),
      succeededLine,
    ),
    failed: await lines(
      FAILED.map(({ Key }) => Key),
      failedLine,
    ),
    failedManifest: await lines([manifest.failedManifest.key], manifestLine),
  };
}
