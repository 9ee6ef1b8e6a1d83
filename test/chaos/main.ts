import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { counted } from '../../src/shared/index.js';
import { endOnSignal } from './end-on-signal.js';
import { describeEvent, EVENT_KINDS, planRun, seconds, type EventKind, type RunPlan } from './plan.js';
import { performRun, type RunResult } from './run.js';
import { usageOr } from './usage-or.js';

interface Arguments {
  runs: number;
  seed: number;
  without: EventKind[];
  keep: boolean;
}

const MAX_PROBLEMS_SHOWN = 20;
const USAGE = `npm run test:chaos -- [--runs <n>] [--seed <n>] [--without <kind>,…] [--keep]
  --runs     how many runs (1); run i has the seed of the first plus i
  --seed     of the first run; a random one by default. It decides all that a run decides itself.
  --without  events left out, the rest of the plan stays: ${EVENT_KINDS.join(', ')}
  --keep     keeps logs, rows and requests of runs that pass too`;

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: { runs: { type: 'string' }, seed: { type: 'string' }, without: { type: 'string' }, keep: { type: 'boolean', default: false } },
  });
  const runs = Number(values.runs ?? 1);
  const seed = Number(values.seed ?? randomInt(1_000_000));
  const without = (values.without ?? '').split(',').filter((kind) => kind !== '') as EventKind[];
  if (!(runs > 0) || !Number.isSafeInteger(seed) || without.some((kind) => !EVENT_KINDS.includes(kind))) throw new Error('unusable');
  return { runs, seed, without, keep: values.keep };
}

function lineOf(name: string, plan: RunPlan, { tasks, faults, reclaims, tookMs, jobsMs, problems }: RunResult): string {
  const work = `${counted(plan.jobs.length, 'job')}, ${tasks} tasks`;
  const events = plan.events.map(describeEvent).join('; ') || 'no events';
  const verdict = problems.length === 0 ? 'ok' : 'FAILED';
  const taken = `${reclaims.all} reclaims (${reclaims.ofHealthy} of healthy)`;
  return `${name}  seed ${plan.seed}  ${verdict}  ${seconds(tookMs)} (jobs ${seconds(jobsMs)})  ${work}, ${faults} network faults, ${taken}: ${events}`;
}

const { runs, seed, without, keep } = usageOr(USAGE, readArguments);
const ending = endOnSignal();
const startedAt = performance.now();
const failed: number[] = [];
for (let index = 0; index < runs; index++) {
  const plan = planRun(seed + index, without);
  const result = await performRun(plan, { keep, signal: ending });
  console.log(lineOf(`run ${index + 1}/${runs}`, plan, result));
  if (result.problems.length > 0) failed.push(plan.seed);
  for (const problem of result.problems.slice(0, MAX_PROBLEMS_SHOWN)) console.log(`    ${problem}`);
  if (result.keptIn !== undefined) console.log(`    everything about it: ${result.keptIn}`);
}
console.log(`\n${runs} runs in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s, seeds ${seed} to ${seed + runs - 1}`);
if (failed.length > 0) console.log(`Failed: seed ${failed.join(', ')}. Again: npm run test:chaos -- --seed ${failed[0]}`);
console.log(`${runs - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);
