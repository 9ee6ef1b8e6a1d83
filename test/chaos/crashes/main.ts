import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Semaphore } from '../../../src/shared/index.js';
import { endOnSignal } from '../end-on-signal.js';
import { performCrash, type CrashResult } from './crash-run.js';
import { Lane } from './lane.js';
import { lineOf, missedOf, tableOf, type DoneRun } from './progress.js';
import { SCENARIOS, type Scenario } from './scenarios.js';
import { usageOr } from '../usage-or.js';

interface Arguments {
  scenarios: Scenario[];
  write: number | undefined;
  lanes: number;
}

/** One run: a scenario whose victim dies at this write; at none in the first, which counts them. */
interface PlannedRun {
  scenario: Scenario;
  write: number | undefined;
  /** Writes of the scenario's unharmed run. */
  of: number | undefined;
}

/** Most of a run is waiting: for a TTL, for a message to come back, for a minute when a finisher died. */
const LANES = 10;
const USAGE = `npm run test:crashes -- [--only <scenario>,…] [--write <n>] [--lanes <n>]
  --only   scenarios: ${SCENARIOS.map(({ name }) => name).join(', ')}
  --write  only the runs whose victim dies at its n-th write
  --lanes  runs at the same time (${LANES})`;

function readArguments(): Arguments {
  const { values } = parseArgs({ options: { only: { type: 'string' }, write: { type: 'string' }, lanes: { type: 'string' } } });
  const names = values.only?.split(',') ?? SCENARIOS.map(({ name }) => name);
  const scenarios = SCENARIOS.filter(({ name }) => names.includes(name));
  const write = values.write === undefined ? undefined : Number(values.write);
  const lanes = Number(values.lanes ?? LANES);
  const numbers = [write ?? 1, lanes];
  if (scenarios.length < names.length || !numbers.every((number) => Number.isInteger(number) && number > 0)) throw new Error('unusable');
  return { scenarios, write, lanes };
}

/** Performs all of them, so many at a time; none twice. */
async function performAll(planned: readonly PlannedRun[], lanes: number): Promise<DoneRun[]> {
  const waiting = [...planned];
  const done: DoneRun[] = [];
  const work = async () => {
    let lane: Lane | undefined;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      lane ??= idle.pop() ?? (await Lane.open(starts, ending));
      const result = await performCrash(lane, next.scenario, next.write);
      const run = { scenario: next.scenario.name, write: next.write, of: next.of, result };
      done.push(run);
      report(run);
      if (result.problems.length === 0) continue;
      // What went wrong must not go on into the next run.
      await lane.close();
      lane = undefined;
    }
    if (lane !== undefined) idle.push(lane);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, planned.length) }, work));
  return done;
}

function report(run: DoneRun): void {
  console.log(lineOf(run));
  for (const problem of run.result.problems.slice(0, 20)) console.log(`    ${problem}`);
  if (run.result.keptIn !== undefined) console.log(`    everything about it: ${run.result.keptIn}`);
}

/** The last writes of each scenario first: those whose victim is a finisher are waited for a minute. */
function crashesOf(unharmed: readonly DoneRun[], write: number | undefined): PlannedRun[] {
  const planned = unharmed.flatMap(({ scenario: name, result }) => {
    const scenario = SCENARIOS.find((one) => one.name === name);
    if (scenario === undefined || result.problems.length > 0) return [];
    const of = result.writes.length;
    const writes = write === undefined ? Array.from({ length: of }, (_, index) => index + 1) : [write];
    return writes.map((at) => ({ scenario, write: at, of }));
  });
  return planned.sort((a, b) => a.of - a.write - (b.of - b.write));
}

function isPassed({ result }: { result: CrashResult }): boolean {
  return result.problems.length === 0;
}

const { scenarios, write, lanes } = usageOr(USAGE, readArguments);
const ending = endOnSignal();
const starts = new Semaphore(availableParallelism());
const idle: Lane[] = [];
const startedAt = performance.now();
const unharmed = await performAll(
  scenarios.map((scenario) => ({ scenario, write: undefined, of: undefined })),
  lanes,
);
const crashed = await performAll(crashesOf(unharmed, write), lanes);
await Promise.all(idle.map((lane) => lane.close()));
const all = [...unharmed, ...crashed];
const passed = all.filter(isPassed).length;
console.log(`\n${tableOf(scenarios, unharmed, crashed)}`);
if (write === undefined) for (const line of missedOf(scenarios, unharmed, crashed)) console.log(line);
console.log(`${all.length} runs in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
console.log(`${passed} passed, ${all.length - passed} failed`);
process.exit(passed === all.length ? 0 : 1);
