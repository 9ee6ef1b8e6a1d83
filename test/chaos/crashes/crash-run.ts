import { isDeepStrictEqual } from 'node:util';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keepFacts, newFolder } from '../report.js';
import { queuesAreEmpty } from '../run.js';
import { crashProblems } from './crash-checks.js';
import type { CrashJob } from './crash-job.js';
import type { JobRows, Lane } from './lane.js';
import type { Act, Scenario } from './scenarios.js';

/** Messages that died with their receiver come back once more, and must change nothing. */
const QUIET_WITHIN_MS = 20_000;

export interface CrashResult {
  /** What was written, up to the stop. */
  writes: readonly string[];
  /** The write that the victim was killed at; none: it wrote fewer. */
  stoppedAt?: string;
  /** From the victim's death to the job's end. */
  recoveryMs: number;
  problems: string[];
  /** Where everything about a failed run is kept. */
  keptIn?: string;
}

/** One job, and its victim killed at one write, or at none. */
export async function performCrash(lane: Lane, scenario: Scenario, write: number | undefined): Promise<CrashResult> {
  await lane.ensureStarted();
  const startedAt = performance.now();
  let act: Act | undefined;
  try {
    act = await scenario.act(lane, write);
    const { job, watch } = act;
    await watch.end();
    const { writes, stoppedAt } = watch;
    const left = stoppedAt !== undefined && (await lane.hasEnded(job)) ? await lane.rowsOf(job) : undefined;
    const ended = lane.ended(job).then(() => performance.now());
    const [endedAt] = await Promise.all([ended, lane.ensureStarted()]);
    const recoveryMs = endedAt - (stoppedAt?.atMs ?? startedAt);
    await lane.until(() => queuesAreEmpty(lane.world), QUIET_WITHIN_MS);
    await lane.until(() => lane.world.origin.openRequests === 0, QUIET_WITHIN_MS);
    const problems = [...(await crashProblems(lane, scenario, job)), ...(await changeProblems(lane, job, left))];
    const result = { writes, recoveryMs, problems, ...(stoppedAt === undefined ? {} : { stoppedAt: stoppedAt.write }) };
    return problems.length === 0 ? result : { ...result, keptIn: await keep(lane, scenario, write, result, job) };
  } catch (error) {
    const problems = [`the run itself failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
    const { writes = [], stoppedAt } = act?.watch ?? {};
    const recoveryMs = performance.now() - startedAt;
    const result = { writes, recoveryMs, problems, ...(stoppedAt === undefined ? {} : { stoppedAt: stoppedAt.write }) };
    return { ...result, keptIn: await keep(lane, scenario, write, result, act?.job) };
  }
}

/** A job that had ended when its victim died gives nobody anything to do, but to count an end that a command wrote. */
async function changeProblems(lane: Lane, job: CrashJob, left: JobRows | undefined): Promise<string[]> {
  if (left === undefined || isDeepStrictEqual(counted(await lane.rowsOf(job)), counted(left))) return [];
  return ['the job had ended, and its rows were changed after that'];
}

async function keep(
  lane: Lane,
  { name }: Scenario,
  write: number | undefined,
  { problems, stoppedAt, writes }: CrashResult,
  job: CrashJob | undefined,
): Promise<string> {
  const folder = await newFolder(`crash-${name}-${write ?? 'none'}`);
  const story = [...problems, '', `Killed at write ${write ?? '-'}: ${stoppedAt ?? 'not reached'}`, '', 'Written before:', ...writes];
  await writeFile(join(folder, 'problems.txt'), `${story.join('\n')}\n`);
  await keepFacts(folder, lane.world, job === undefined ? [] : [job]);
  return folder;
}

/** Without what the coordinator changes that counts the end. */
function counted({ job, batches }: JobRows): JobRows {
  if (job === undefined) return { job, batches };
  const { uncounted: _flag, updatedAt: _at, ...rest } = job;
  return { job: rest, batches };
}
