import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Lane } from './lane.js';
import { mutate, type Mutation } from './mutation.js';
import { MUTATIONS } from './mutations.js';
import { row, shortfall, toJson, type Tried } from './report.js';

/*
 * Puts one known fault after the other into a copy of the sources and demands that the specs named for it turn red, with a test that is
 * named after the rule: so no rule of the protocol can be lost without a test that says which. First the specs must be green on the
 * copy as it is.
 */

/** npm starts scripts at the root of the repository. */
const REPOSITORY = process.cwd();
/** Copies, and runs at the same time. */
const LANES = 2;
const TIME_LIMIT_MS = 1_500_000;
const USAGE = 'Usage: npm run test:mutations -- [--only <part of a rule, a fault or a file>] [--list] [--json]';

interface Options {
  only: string;
  list: boolean;
  json: boolean;
}

async function main({ only, list, json }: Options): Promise<number> {
  const isMeant = ({ rule, fault, file }: Mutation) => `${rule}\n${fault}\n${file}`.toLowerCase().includes(only.toLowerCase());
  const mutations = MUTATIONS.filter(isMeant);
  if (mutations.length === 0) return refuse(`No mutation has '${only}' in its rule, its fault or its file.`);
  if (list) {
    for (const { rule, fault, file } of mutations) console.log(`${rule}\n    ${fault} (${file})`);
    return 0;
  }
  for (const mutation of mutations) mutate(await readFile(join(REPOSITORY, mutation.file), 'utf8'), mutation);

  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort(new Error(`${signal} came`)));
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

async function tryAll(
  lanes: readonly Lane[],
  mutations: readonly Mutation[],
  run: { json: boolean; signal: AbortSignal },
): Promise<number> {
  const say = run.json ? console.error : console.log;
  const { signal } = run;
  const tried: Tried[] = [];
  const left = [...mutations];
  const tryOn = async (lane: Lane): Promise<void> => {
    for (let mutation = left.shift(); mutation !== undefined; mutation = left.shift()) {
      const startedAt = performance.now();
      const verdict = await lane.try(mutation, signal);
      const one = { mutation, verdict, seconds: (performance.now() - startedAt) / 1_000 };
      tried.push(one);
      say(row(one));
    }
  };
  try {
    if (await areGreen(lanes, mutations, signal, say)) await all(lanes.map(tryOn));
  } catch (error) {
    if (!signal.aborted) throw error;
  }

  const passed = tried.filter(({ verdict }) => verdict.kind === 'caught').length;
  const failed = mutations.length - passed;
  const untried = mutations.filter((mutation) => !tried.some((one) => one.mutation === mutation));
  const reason = signal.aborted ? (signal.reason as Error).message : 'the specs are not green on the copy as it is';
  if (failed > 0) say(shortfall(tried, untried, reason));
  if (run.json) console.log(toJson(tried, { passed, failed }));
  say(`\n${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Whether the specs of all mutations, shared out over the lanes, are green without any. */
async function areGreen(
  lanes: readonly Lane[],
  mutations: readonly Mutation[],
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<boolean> {
  const specs = [...new Set(mutations.flatMap((mutation) => mutation.specs))];
  const shares = lanes.map((lane, number) => ({ lane, specs: specs.filter((_, index) => index % lanes.length === number) }));
  const runs = await all(
    shares.filter((share) => share.specs.length > 0).map((share) => share.lane.run(share.specs, signal, TIME_LIMIT_MS)),
  );
  for (const run of runs) {
    if (run.kind === 'red') say(['Red without any mutation:', ...run.failed].join('\n  '));
    if (run.kind === 'not-run') say(`Did not run without any mutation: ${run.why}`);
    if (run.kind === 'hung') say('The specs hang without any mutation');
  }
  return runs.every(({ kind }) => kind === 'green');
}

/** As `Promise.all`, but nothing goes on when it rejects: the copies are removed then. */
async function all<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

function options(): Options | undefined {
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({ options: { only: { type: 'string', default: '' }, list: flag, json: flag } }).values;
  } catch {
    return undefined;
  }
}

function refuse(message: string): number {
  console.error(`${message}\n${USAGE}`);
  return 2;
}

const given = options();
process.exitCode = given === undefined ? refuse('These options are not known.') : await main(given);
