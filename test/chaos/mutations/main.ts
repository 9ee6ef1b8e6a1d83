import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { failedTests, whyNotRun, type Verdict } from './jest-report.js';
import { Lane } from './lane.js';
import type { Mutation } from './mutation.js';
import { MUTATIONS } from './mutations.js';

/*
 * Puts one known fault after the other into a copy of the sources and demands that the specs named for it turn red, so that a rule of
 * the protocol cannot be lost without a test that says which. First the specs must be green on the copy as it is.
 */

const REPOSITORY = resolve(import.meta.dirname, '../../..');
const LANES = 2;
const TIME_LIMIT_MS = 480_000;
const USAGE = `Usage: npm run test:mutations -- [--only <part of a rule, a fault or a file>] [--list] [--json]`;

interface Tried {
  mutation: Mutation;
  verdict: Verdict;
  seconds: number;
}

async function main(): Promise<number> {
  const { only, list, json } = options();
  const mutations = MUTATIONS.filter(({ rule, fault, file }) => `${rule}\n${fault}\n${file}`.toLowerCase().includes(only.toLowerCase()));
  if (mutations.length === 0) {
    console.error(`No mutation has '${only}' in its rule, fault or file.\n${USAGE}`);
    return 2;
  }
  if (list) {
    for (const { rule, fault, file } of mutations) console.log(`${rule}\n    ${fault} (${file})`);
    return 0;
  }
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort(new Error(`ended by ${signal}`)));
  const limit = setTimeout(() => stop.abort(new Error(`the time limit of ${TIME_LIMIT_MS / 1_000} s is over`)), TIME_LIMIT_MS);
  const folder = await mkdtemp(join(tmpdir(), 'export-worker-mutations-'));
  try {
    const lanes = await Promise.all(Array.from({ length: LANES }, (_, lane) => Lane.create(REPOSITORY, join(folder, String(lane)))));
    return await tryAll(lanes, mutations, { json, signal: stop.signal });
  } finally {
    clearTimeout(limit);
    await rm(folder, { recursive: true, force: true });
  }
}

function options(): { only: string; list: boolean; json: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: 'string', default: '' },
        list: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
      },
    });
    return values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

async function tryAll(
  lanes: readonly Lane[],
  mutations: readonly Mutation[],
  run: { json: boolean; signal: AbortSignal },
): Promise<number> {
  const say = run.json ? console.error : console.log;
  const red = await redWithoutMutation(lanes, mutations, run.signal);
  if (red.length > 0) say(['Red without any mutation, so nothing can be learned:', ...red].join('\n  '));
  const left = red.length > 0 ? [] : [...mutations];
  const tried: Tried[] = [];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let mutation = left.shift(); mutation !== undefined && !run.signal.aborted; mutation = left.shift()) {
        const startedAt = performance.now();
        const verdict = await lane.try(mutation, run.signal);
        const result = { mutation, verdict, seconds: Math.round((performance.now() - startedAt) / 100) / 10 };
        tried.push(result);
        say(row(result));
      }
    }),
  );
  return report(mutations, tried, run.json);
}

/** The specs of all mutations, shared out over the lanes; what of them is red on the copy as it is. */
async function redWithoutMutation(lanes: readonly Lane[], mutations: readonly Mutation[], signal: AbortSignal): Promise<string[]> {
  const specs = [...new Set(mutations.flatMap(({ specs }) => specs))];
  const reports = await Promise.all(
    lanes.map((lane, number) => {
      const mine = specs.filter((_, index) => index % lanes.length === number);
      return mine.length === 0 ? undefined : lane.run(mine, signal);
    }),
  );
  return reports.flatMap((report) => {
    if (report === undefined) return [];
    if (report === 'hung') return ['the specs hang'];
    return [...failedTests(report), ...[whyNotRun(report) ?? []].flat()];
  });
}

function row({ mutation: { rule, fault, file }, verdict, seconds }: Tried): string {
  return `${verdict.kind === 'caught' ? 'ok  ' : 'FAIL'} ${seconds.toFixed(1).padStart(4)} s  ${rule}: ${fault}\n             ${file}\n             ${saying(verdict)}`;
}

function saying(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'caught':
      return `caught by: ${verdict.by}`;
    case 'unnamed':
      return `caught only by tests that do not name the rule: ${verdict.by}`;
    case 'survived':
      return 'SURVIVED: its specs stay green';
    case 'hung':
      return 'its specs do not come to an end: choose another way to take the rule out';
    case 'not-run':
      return `its specs did not run: ${verdict.why}`;
  }
}

function report(mutations: readonly Mutation[], tried: readonly Tried[], json: boolean): number {
  const passed = tried.filter(({ verdict }) => verdict.kind === 'caught').length;
  const failed = mutations.length - passed;
  const untried = mutations.filter((mutation) => !tried.some((one) => one.mutation === mutation));
  const say = json ? console.error : console.log;
  const bad = tried.filter(({ verdict }) => verdict.kind !== 'caught');
  if (bad.length > 0) say(['', 'Not caught:', ...bad.map(row)].join('\n'));
  if (untried.length > 0) say(['', 'Not tried:', ...untried.map(({ rule, fault }) => `  ${rule}: ${fault}`)].join('\n'));
  if (json)
    console.log(
      JSON.stringify(
        {
          passed,
          failed,
          tried: tried.map(({ mutation: { rule, fault, file }, verdict, seconds }) => ({ rule, fault, file, ...verdict, seconds })),
        },
        null,
        2,
      ),
    );
  say(`\n${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

process.exitCode = await main();
