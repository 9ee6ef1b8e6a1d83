import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import { readBack, readResults } from '../../../infra/demo/evidence.js';
import { brokenRules } from '../../support/standing-rules.js';
import { jobProblems, tokenProblems } from '../checks.js';
import type { World } from '../world.js';
import type { CrashJob } from './crash-job.js';
import type { Lane } from './lane.js';
import type { Scenario } from './scenarios.js';

const READ_TIMEOUT_MS = 30_000;

/** What is wrong once a job has ended and nothing is queued or asked for any more. */
export async function crashProblems(lane: Lane, { cancelled }: Scenario, job: CrashJob): Promise<string[]> {
  const { world } = lane;
  return [
    ...(cancelled ? await cancelProblems(lane, job) : await jobProblems(world, job)),
    ...job.executionArns.slice(0, -1).flatMap((arn) => tokenProblems(tokensOf(world, arn))),
    ...uploadProblems(lane, job),
    ...lane.coordinator.problems,
    ...brokenRules(world.aws, world.processes),
  ];
}

/** A cancelled job ends with what was done by then: nothing is exact but its answer, and what it lists. */
async function cancelProblems(lane: Lane, job: CrashJob): Promise<string[]> {
  const { world } = lane;
  const { clients } = world;
  const { job: row, batches } = await lane.rowsOf(job);
  const { status, error } = await clients.states.send(new DescribeExecutionCommand({ executionArn: job.executionArn }));
  const running = batches.filter((batch) => batch.status !== 'succeeded' && batch.status !== 'cancelled');
  return [
    ...(row?.status === 'CANCELLED' ? [] : [`the job is ${String(row?.status)}, not CANCELLED`]),
    ...(['taskToken', 'statusShard'] as const)
      .filter((field) => row?.[field] !== undefined)
      .map((field) => `the job row kept its ${field}`),
    ...running.map((batch) => `batch ${String(batch.batchNo)} is ${String(batch.status)}`),
    ...(`${status} ${error}` === 'FAILED ExportCancelled' ? [] : [`the execution is ${status} ${error ?? ''}`]),
    ...tokenProblems(tokensOf(world, job.executionArn)),
    ...(await listProblems(world, job, String(row?.resultKey))),
  ].map((problem) => `${job.jobId}: ${problem}`);
}

/** Whatever the manifest of a cancelled job lists is there with the bytes of its source. */
async function listProblems({ clients, aws }: World, job: CrashJob, resultKey: string): Promise<string[]> {
  const { bucket } = aws.resources;
  const { succeeded } = await readResults(clients.s3, bucket, resultKey);
  const { objects } = await readBack(clients.s3, bucket, job.prefix, AbortSignal.timeout(READ_TIMEOUT_MS));
  return succeeded.flatMap(({ index, key }) => {
    const file = job.expected[index];
    const isWhole = file !== undefined && 'sha256' in file && objects.get(key)?.sha256 === file.sha256;
    return isWhole ? [] : [`${key} is listed and has other bytes than its source`];
  });
}

function uploadProblems({ world, abandonedUploads }: Lane, { prefix }: CrashJob): string[] {
  return world.aws.s3
    .openUploads(world.aws.resources.bucket)
    .filter(({ key, uploadId }) => key.startsWith(prefix) && !abandonedUploads.has(uploadId))
    .map(({ key }) => `a multipart upload of ${key} was left open by a process that was not killed`);
}

function tokensOf({ aws }: World, executionArn: string) {
  return aws.stepFunctions.tokens().filter((token) => token.executionArn === executionArn);
}
