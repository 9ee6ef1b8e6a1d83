import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { paginateListObjectsV2 } from '@aws-sdk/client-s3';
import type { ChaosJob } from './chaos-job.js';
import { rowsOf } from './checks.js';
import { describeEvent, type RunPlan } from './plan.js';
import type { World } from './world.js';

const KEPT_IN = resolve('.local/chaos');

type KnownJob = Pick<ChaosJob, 'jobId' | 'prefix' | 'expected'>;

export interface EndedRun {
  plan: RunPlan;
  world: World;
  jobs: readonly KnownJob[];
  problems: readonly string[];
  diary: readonly string[];
}

/** Everything that can be known of a run; answers the folder. Tokens are left out, logs hold none. */
export async function keepRun({ plan, world, jobs, problems, diary }: EndedRun): Promise<string> {
  const folder = await newFolder(`seed-${plan.seed}`);
  const story = [...problems, '', 'Planned:', ...plan.events.map(describeEvent), '', 'Done:', ...diary];
  await writeFile(join(folder, 'problems.txt'), `${story.join('\n')}\n`);
  await writeFile(join(folder, 'plan.json'), `${json(plan)}\n`);
  await keepFacts(folder, world, jobs);
  return folder;
}

export async function newFolder(name: string): Promise<string> {
  const folder = join(KEPT_IN, `${name}-${Date.now()}`);
  await mkdir(folder, { recursive: true });
  return folder;
}

/** Tokens, requests, faults, logs, rows and objects. */
export async function keepFacts(folder: string, world: World, jobs: readonly KnownJob[]): Promise<void> {
  const write = (name: string, text: string) => writeFile(join(folder, name), `${text}\n`);
  await write('tokens.json', json(world.aws.stepFunctions.tokens().map(({ token: _token, ...facts }) => facts)));
  await write('requests.jsonl', world.aws.log.records.map((record) => JSON.stringify(record)).join('\n'));
  for (const { name, processes, proxy } of world.coordinators) {
    await write(`network-${name}.jsonl`, proxy.struck.map((struck) => JSON.stringify(struck)).join('\n'));
    for (const [index, { lines, pid }] of processes.entries()) await write(`log-${name}${index + 1}-${pid}.jsonl`, lines.join('\n'));
  }
  for (const job of jobs) await write(`job-${job.jobId}.json`, json(await factsOf(world, job)));
}

async function factsOf(world: World, { jobId, prefix, expected }: KnownJob): Promise<object> {
  const { jobsTable, batchesTable, reclaimsTable, bucket } = world.aws.resources;
  const [job, batches, reclaims] = await Promise.all([jobsTable, batchesTable, reclaimsTable].map((table) => rowsOf(world, table, jobId)));
  const objects: string[] = [];
  for await (const { Contents = [] } of paginateListObjectsV2({ client: world.clients.s3 }, { Bucket: bucket, Prefix: prefix }))
    objects.push(...Contents.map(({ Key, Size }) => `${Key} ${Size}`));
  return { job: job?.[0], batches, reclaims, expected, objects, sourceHits: Object.fromEntries(world.origin.hits) };
}

/** Bitmaps as their bytes in hex. */
function json(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, inner: unknown) => (inner instanceof Uint8Array ? Buffer.from(inner).toString('hex') : setToList(inner)),
    1,
  );
}

function setToList(value: unknown): unknown {
  return value instanceof Set ? [...value] : value;
}
