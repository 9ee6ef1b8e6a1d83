import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { DescribeExecutionCommand, type DescribeExecutionOutput } from '@aws-sdk/client-sfn';
import { objectProblems, resultProblems } from '../../infra/demo/checks.js';
import { readBack, readResults, type Evidence, type Results, type StoredObject } from '../../infra/demo/evidence.js';
import type { TokenRecord } from '../../infra/local-aws/step-functions/index.js';
import type { LogEvent } from '../support/export-service.js';
import { brokenRules } from '../support/standing-rules.js';
import type { ChaosJob } from './chaos-job.js';
import type { World } from './world.js';

export type Row = Record<string, unknown>;

/** What a job is judged by. */
export type JudgedJob = Pick<ChaosJob, 'jobId' | 'executionArn' | 'prefix' | 'expected' | 'expectedTotals' | 'expectedStatus'>;

/** A busy machine may keep a healthy process from its beats for a while; a rule that reads the clocks of other hosts takes from it all the time. */
const MAX_RECLAIMS_OF_HEALTHY = 6;
const READ_TIMEOUT_MS = 30_000;
const ANSWER = /^SendTask(Success|Failure)/;
const MULTIPART = /MultipartUpload|UploadPart/;

/** What is wrong with one job, seen from outside once no coordinator runs any more. */
export async function jobProblems(world: World, job: JudgedJob): Promise<string[]> {
  const { clients, aws } = world;
  const [row] = await rowsOf(world, aws.resources.jobsTable, job.jobId);
  const batches = await rowsOf(world, aws.resources.batchesTable, job.jobId);
  const { bucket } = aws.resources;
  const { objects, exportFolder } = await readBack(clients.s3, bucket, job.prefix, AbortSignal.timeout(READ_TIMEOUT_MS));
  const results = typeof row?.resultKey === 'string' ? await readResults(clients.s3, bucket, row.resultKey) : undefined;
  const tokens = aws.stepFunctions.tokens().filter(({ executionArn }) => executionArn === job.executionArn);
  const execution = await clients.states.send(new DescribeExecutionCommand({ executionArn: job.executionArn }));
  const problems =
    execution.status === 'ABORTED'
      ? stoppedProblems(job, row, batches, objects, tokens)
      : [
          ...rowProblems(job, row),
          ...batchProblems(job, row, batches),
          ...(results === undefined ? ['there is no manifest'] : manifestProblems(job, { results, objects, exportFolder })),
          ...tokenProblems(tokens, 1),
          ...executionProblems(job, execution),
        ];
  return problems.map((problem) => `${job.jobId}: ${problem}`);
}

/** What is wrong with the run as a whole. */
export function worldProblems(world: World, jobs: readonly ChaosJob[]): string[] {
  return [
    ...world.coordinators.flatMap(({ problems }) => problems),
    ...brokenRules(world.aws, world.processes),
    ...jobs.flatMap((job) => uploadProblems(world, job)),
    ...secondCallProblems(world),
    ...reclaimProblems(reclaims(world)),
  ];
}

/**
 * Batches taken from someone, and those of them taken from processes that nothing was done to and that had not let go themselves, as one
 * does whose beats a busy machine keeps back.
 */
export function reclaims({ coordinators, processes }: World): { all: number; ofHealthy: number } {
  const disturbed = new Set(coordinators.flatMap((coordinator) => [...coordinator.disturbed].map(({ coordinatorId }) => coordinatorId)));
  const healthy = new Set(processes.map(({ coordinatorId }) => coordinatorId).filter((id) => !disturbed.has(id)));
  const events = processes.flatMap((service) => service.events());
  const leaseOf = (holder: unknown, { jobId, batchNo }: LogEvent) => JSON.stringify([holder, jobId, batchNo]);
  const letGo = events.filter(({ msg }) => msg.startsWith('Batch let go: its lease')).map((event) => leaseOf(event.coordinatorId, event));
  const taken = events.filter(({ msg }) => msg.startsWith('Batch reclaimed'));
  const kept = taken.filter((event) => healthy.has(event.lockedBy) && !letGo.includes(leaseOf(event.lockedBy, event)));
  return { all: taken.length, ofHealthy: kept.length };
}

function reclaimProblems({ ofHealthy }: { ofHealthy: number }): string[] {
  return ofHealthy <= MAX_RECLAIMS_OF_HEALTHY ? [] : [`${ofHealthy} batches were taken from coordinators that were well`];
}

export async function rowsOf({ clients }: World, TableName: string, jobId: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (let start: Row | undefined, first = true; first || start !== undefined; first = false) {
    const page = await clients.documents.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'jobId = :jobId',
        ExpressionAttributeValues: { ':jobId': jobId },
        ConsistentRead: true,
        ...(start === undefined ? {} : { ExclusiveStartKey: start }),
      }),
    );
    rows.push(...(page.Items ?? []));
    start = page.LastEvaluatedKey;
  }
  return rows;
}

function rowProblems(job: JudgedJob, row: Row | undefined): string[] {
  if (row === undefined) return ['there is no row'];
  return [
    ...(row.status === job.expectedStatus ? [] : [`the job is ${String(row.status)}, not ${job.expectedStatus}`]),
    ...totalsProblems('the job row', row, job),
    ...(['taskToken', 'statusShard'] as const).filter((field) => row[field] !== undefined).map((field) => `the job row kept its ${field}`),
    ...(JSON.stringify(row.batchProgress) === '{}' ? [] : [`batches are still in progress: ${JSON.stringify(row.batchProgress)}`]),
  ];
}

/** Its execution was stopped: nobody listens, so nothing more may happen, and what has happened must be right. */
function stoppedProblems(
  job: JudgedJob,
  row: Row | undefined,
  batches: readonly Row[],
  objects: ReadonlyMap<string, StoredObject>,
  tokens: readonly TokenRecord[],
): string[] {
  const expected = new Map(job.expected.map((file) => [job.prefix + file.key, file]));
  const wrong = [...objects].filter(([key, { sha256 }]) => {
    const file = expected.get(key);
    return file === undefined || !('sha256' in file) || file.sha256 !== sha256;
  });
  const open = batches.filter(({ status }) => status === 'queued' || status === 'running');
  return [
    // It may have been about to answer.
    ...(row === undefined || ['CANCELLED', job.expectedStatus].includes(String(row.status))
      ? []
      : [`the stopped job is ${String(row.status)}`]),
    ...(Number(row?.completedTasks ?? 0) <= objects.size
      ? []
      : [`${String(row?.completedTasks)} tasks are counted for ${objects.size} objects`]),
    ...open.map(({ batchNo, status }) => `batch ${String(batchNo)} of the stopped job is ${String(status)}`),
    ...wrong.map(([key]) => `${key} has other bytes than its source`),
    ...tokenProblems(tokens, 0),
  ];
}

function manifestProblems(job: JudgedJob, found: Pick<Evidence, 'objects' | 'exportFolder'> & { results: Results }): string[] {
  return [
    ...totalsProblems('the manifest', found.results.totals, job),
    ...resultProblems(found),
    ...objectProblems(found),
    ...fileProblems(job, found.results, found.objects),
  ];
}

function totalsProblems(name: string, found: Row, { expectedTotals }: JudgedJob): string[] {
  return Object.entries(expectedTotals)
    .filter(([field, expected]) => found[field] !== expected)
    .map(([field, expected]) => `${field} in ${name} is ${String(found[field])}, not ${expected}`);
}

function batchProblems(job: JudgedJob, row: Row | undefined, batches: readonly Row[]): string[] {
  const unfinished = batches.filter((batch) => batch.status !== 'succeeded' || batch.run !== row?.run);
  const tasks = batches.reduce((sum, batch) => sum + Number(batch.totalTasks), 0);
  return [
    ...unfinished.map((batch) => `batch ${String(batch.batchNo)} of run ${String(batch.run)} is ${String(batch.status)}`),
    ...(tasks === job.expected.length ? [] : [`the batches have ${tasks} tasks, not ${job.expected.length}`]),
  ];
}

/** Each file of the request against its line and its bytes. */
function fileProblems(job: JudgedJob, results: Results, objects: ReadonlyMap<string, StoredObject>): string[] {
  const succeeded = new Map(results.succeeded.map((line) => [line.index, line]));
  const failed = new Map(results.failed.map((line) => [line.index, line]));
  return job.expected.flatMap((file, index) => {
    const key = job.prefix + file.key;
    if ('code' in file) {
      const line = failed.get(index);
      return line?.key === key && line.code === file.code
        ? []
        : [`file ${index} must have failed with ${file.code}: ${JSON.stringify(line)}`];
    }
    const line = succeeded.get(index);
    const object = objects.get(key);
    if (line?.key !== key) return [`file ${index} must have succeeded: ${JSON.stringify(line ?? failed.get(index))}`];
    return object?.sha256 === file.sha256 && object.size === file.sizeBytes ? [] : [`${key} has other bytes than its source`];
  });
}

/** `last`: how many accepted answers the last token must have; those before it were given up by Step Functions itself, and took none. */
export function tokenProblems(tokens: readonly TokenRecord[], last = 1): string[] {
  const accepted = tokens.map(({ answers }) => answers.filter((answer) => answer.accepted).length);
  const expected = tokens.map((_, index) => (index === tokens.length - 1 ? last : 0));
  if (tokens.length > 0 && accepted.join() === expected.join()) return [];
  const closed = tokens.map((token) => token.closed ?? 'open');
  return [`the tokens (${closed.join(', ')}) took ${accepted.join(', ') || 'no'} answers, not ${expected.join(', ') || 'one'}`];
}

/**
 * An answer beside another one's is refused by Step Functions, and should not have been sent: where no process was killed or frozen and no
 * fault struck an answer, exactly one call per answered token has reached it, however wrong the clocks of the hosts are.
 */
function secondCallProblems({ aws, coordinators }: World): string[] {
  const excused = coordinators.some(({ disturbed, proxy }) => disturbed.size > 0 || proxy.struck.some(({ name }) => ANSWER.test(name)));
  if (excused) return [];
  const answered = aws.stepFunctions.tokens().filter(({ answers }) => answers.some(({ accepted }) => accepted));
  return answered
    .filter(({ answers }) => answers.length > 1)
    .map(({ executionArn, answers }) => `the token of ${executionArn} was answered by ${answers.length} calls`);
}

function executionProblems(job: JudgedJob, { status, error }: DescribeExecutionOutput): string[] {
  const as = job.expectedStatus === 'COMPLETED' ? 'SUCCEEDED ' : 'FAILED JobCompletedWithFailures';
  return `${status} ${error ?? ''}` === as ? [] : [`the execution is ${status} ${error ?? ''}`];
}

/**
 * A process that is killed, or cut off while it says so, leaves its multipart uploads to the bucket's lifecycle rule. So there must be
 * none where nobody was killed and no fault struck one of their calls.
 */
function uploadProblems({ aws, coordinators }: World, job: ChaosJob): string[] {
  const excused = coordinators.some(({ killed, proxy }) => killed > 0 || proxy.struck.some(({ name }) => MULTIPART.test(name)));
  if (excused) return [];
  const open = aws.s3.openUploads(aws.resources.bucket).filter(({ key }) => key.startsWith(job.prefix));
  return open.map(({ key }) => `a multipart upload of ${key} was left open`);
}
