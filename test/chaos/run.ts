import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { ChaosJob } from './chaos-job.js';
import { jobProblems, reclaims, rowsOf, worldProblems } from './checks.js';
import { Mischief } from './mischief.js';
import type { RunPlan } from './plan.js';
import { keepRun } from './report.js';
import { World } from './world.js';

/** From the last fault on. A finisher that died is replaced only after 60 s, on a quiet machine; this is to find jobs that hang, not slow machines. */
const END_WITHIN_MS = 300_000;
/** Repeated and delayed messages still come after the jobs' end, and must change nothing; nobody waits for those that never end. */
const QUIET_WITHIN_MS = 6_000;
const LOOK_EVERY_MS = 100;
const TERMINAL = ['COMPLETED', 'FAILED', 'CANCELLED'];

export interface RunResult {
  problems: string[];
  tookMs: number;
  /** From the start of the first job to the end of the last. */
  jobsMs: number;
  tasks: number;
  /** Of the networks. */
  faults: number;
  reclaims: { all: number; ofHealthy: number };
  /** Where everything about the run is kept; absent when it is not. */
  keptIn?: string;
}

/** One run from nothing to nothing. `keep`: also when it passes. */
export async function performRun(plan: RunPlan, { keep, signal }: { keep: boolean; signal: AbortSignal }): Promise<RunResult> {
  const startedAt = performance.now();
  const world = await World.create(plan);
  const abandon = () => world.abandon();
  signal.addEventListener('abort', abandon);
  try {
    await Promise.all(world.coordinators.map((coordinator) => coordinator.start()));
    const jobs: ChaosJob[] = [];
    const mischief = new Mischief(world, jobs, plan.seed);
    const outcome = await outcomeOf(world, plan, jobs, mischief);
    const result = {
      ...outcome,
      tookMs: performance.now() - startedAt,
      tasks: tasksOf(plan),
      faults: faultsOf(world),
      reclaims: reclaims(world),
    };
    if (outcome.problems.length === 0 && !keep) return result;
    return { ...result, keptIn: await keepRun({ plan, world, jobs, problems: outcome.problems, diary: mischief.diary }) };
  } finally {
    signal.removeEventListener('abort', abandon);
    await world.close();
  }
}

async function outcomeOf(
  world: World,
  plan: RunPlan,
  jobs: ChaosJob[],
  mischief: Mischief,
): Promise<Pick<RunResult, 'problems' | 'jobsMs'>> {
  const startedAt = performance.now();
  let jobsMs = NaN;
  try {
    await Promise.all([startJobs(world, plan, jobs), mischief.perform(plan.events)]);
    world.calm();
    await Promise.all(world.coordinators.map((coordinator) => coordinator.ensureStarted()));
    const ended = await waitUntil(END_WITHIN_MS, () => allEnded(world, jobs));
    jobsMs = performance.now() - startedAt;
    if (ended) await waitUntil(QUIET_WITHIN_MS, () => queuesAreEmpty(world));
    await Promise.all(world.coordinators.map((coordinator) => coordinator.shutDownAll()));
    await Promise.all(world.coordinators.map(({ proxy }) => proxy.settled()));
    const found = await Promise.all(jobs.map((job) => jobProblems(world, job)));
    const late = ended ? [] : [`not ended within ${END_WITHIN_MS / 1_000} s`];
    return { jobsMs, problems: [...late, ...found.flat(), ...worldProblems(world, jobs)] };
  } catch (error) {
    const problem = `the run itself failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    return { jobsMs, problems: [problem] };
  }
}

async function startJobs(world: World, plan: RunPlan, jobs: ChaosJob[]): Promise<void> {
  await Promise.all(
    plan.jobs.map(async (job) => {
      await sleep(job.startsAtMs);
      jobs.push(await ChaosJob.start(world, job));
    }),
  );
}

/** A job whose token timed out is over for a moment, until its state is tried again with the next token. */
async function allEnded(world: World, jobs: readonly ChaosJob[]): Promise<boolean> {
  const executions = await Promise.all(
    jobs.map(({ executionArn }) => world.clients.states.send(new DescribeExecutionCommand({ executionArn }))),
  );
  if (executions.some(({ status }) => status === 'RUNNING')) return false;
  const rows = await Promise.all(jobs.map(({ jobId }) => rowsOf(world, world.aws.resources.jobsTable, jobId)));
  const open = world.aws.stepFunctions.tokens().some(({ closed }) => closed === undefined);
  return !open && rows.every(([row]) => TERMINAL.includes(String(row?.status)));
}

export async function queuesAreEmpty({ clients, aws }: World): Promise<boolean> {
  const counts = await Promise.all(
    [aws.resources.jobsQueueUrl, aws.resources.batchesQueueUrl].map(async (QueueUrl) => {
      const { Attributes = {} } = await clients.sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }));
      const names = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible', 'ApproximateNumberOfMessagesDelayed'] as const;
      return names.reduce((sum, name) => sum + Number(Attributes[name] ?? 0), 0);
    }),
  );
  return counts.every((count) => count === 0);
}

async function waitUntil(withinMs: number, isSo: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await sleep(LOOK_EVERY_MS))
    if (await isSo()) return true;
  return false;
}

function tasksOf(plan: RunPlan): number {
  return plan.jobs.reduce((sum, { files }) => sum + files.length, 0);
}

function faultsOf(world: World): number {
  return world.coordinators.reduce((sum, { proxy }) => sum + proxy.struck.length, 0);
}
