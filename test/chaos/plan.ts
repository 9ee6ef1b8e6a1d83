import type { ProxyFault } from './fault-proxy.js';
import { SeededRandom } from './random.js';

export const COORDINATORS = 3;

/**
 * How a source serves a file. `busy` (503), `patience` (429, Retry-After: 1) and `cut` pass after so many tries, whoever makes them; `missing` never
 * does. `silent` is a source that says nothing for so long, and then serves.
 */
export type SourceBehaviour =
  { kind: 'plain' | 'chunked' | 'missing' } | { kind: 'busy' | 'cut' | 'patience'; times: number } | { kind: 'silent'; forMs: number };

export interface PlannedFile {
  sizeBytes: number;
  latencyMs: number;
  behaviour: SourceBehaviour;
  /** The request says size and checksum. */
  stated: boolean;
}

export interface PlannedJob {
  startsAtMs: number;
  files: PlannedFile[];
  /** Its missing files are within the tolerance. */
  tolerant: boolean;
  /** Its list lies at the source, which sends it line by line; else it is in the message. */
  listDrips: boolean;
}

/**
 * `at` in milliseconds since the first job was started; coordinators by their number.
 * - `kill`: -9, started again later
 * - `stop-at-write`: -9 right after its `write`th write from then on was carried out, before the answer
 * - `replace`: SIGTERM while a new process starts, as a deploy does
 * - `freeze`: SIGSTOP, later SIGCONT
 * - `jump`: its wall clock moves
 * - `cut-off`: nothing of DynamoDB, SQS and Step Functions reaches it
 * - `repeat-batches`: messages of known batches again, out of order
 * - `repeat-job`: the job's own message again
 * - `lose-batches`: batch messages that are waiting are gone
 * - `stop-execution`: an operator stops one; its token is dead
 */
export type PlannedEvent = { atMs: number } & (
  | { kind: 'kill'; who: number[]; backAfterMs: number }
  | { kind: 'stop-at-write'; who: number; write: number; backAfterMs: number }
  | { kind: 'replace'; who: number }
  | { kind: 'freeze'; who: number; forMs: number }
  | { kind: 'jump'; who: number; byMs: number }
  | { kind: 'cut-off'; who: number; forMs: number }
  | { kind: 'repeat-batches'; messages: number }
  | { kind: 'repeat-job' | 'stop-execution' }
  | { kind: 'lose-batches'; messages: number }
);

export type EventKind = PlannedEvent['kind'];

/** Share of the requests that each befalls; `swallow` only of deletes, `hold-back` only of writes. */
export type FaultRates = Record<ProxyFault['kind'], number>;

/** Everything that a run decides itself; the rest is the machine's timing. */
export interface RunPlan {
  seed: number;
  batchSize: number;
  jobs: PlannedJob[];
  /** HeartbeatSeconds: a short one makes tokens die with the fleet, and Step Functions try again with the next. */
  tokenLivesS: number;
  /** Whoever is started in a coordinator's place has its id, as on a host with a name of its own; else an id of its own, as a task of ECS. */
  fixedIds: boolean;
  /** Of each coordinator's wall clock from its start. */
  clockOffsetsMs: number[];
  rates: FaultRates;
  /** How many requests a second the source answers, over all coordinators; the others get a 429. Absent: as many as come. */
  requestsPerSecond?: number;
  events: PlannedEvent[];
}

const MIB = 1_048_576;
/** Two parts of a multipart upload. */
const LARGE_BYTES = 8 * MIB + 1_000;
const JUMP_MS = 200_000;
/** Longer than the TTL of a batch. */
const FREEZE_MS = { from: 2_500, to: 4_500 };
const LAST_EVENT_AT_MS = 8_000;

const EVENT_WEIGHTS: Record<EventKind, number> = {
  kill: 0.2,
  'stop-at-write': 0.24,
  replace: 0.1,
  freeze: 0.12,
  jump: 0.06,
  'cut-off': 0.08,
  'repeat-batches': 0.08,
  'repeat-job': 0.04,
  'lose-batches': 0.06,
  'stop-execution': 0.02,
};

export const EVENT_KINDS = Object.keys(EVENT_WEIGHTS) as EventKind[];

/** A run with no noise on the network shows whether an exact crash point alone is survived. */
export const QUIET: FaultRates = { delay: 0, 'drop-reply': 0, throttle: 0, cut: 0, 'hold-back': 0, swallow: 0 };
const NOISY: FaultRates = { delay: 0.04, 'drop-reply': 0.02, throttle: 0.02, cut: 0.02, 'hold-back': 0.02, swallow: 0.15 };
const STORM: FaultRates = { delay: 0.08, 'drop-reply': 0.05, throttle: 0.04, cut: 0.05, 'hold-back': 0.05, swallow: 0.3 };

/** @param without events that are left out; everything else of the plan stays as it is */
export function planRun(seed: number, without: readonly EventKind[] = []): RunPlan {
  const random = new SeededRandom(seed, 'plan');
  const size = random.weighted({ huge: 0.2 }) ?? 'usual';
  const second =
    size === 'huge' || random.chance(0.5) ? [planJob(random, random.integer(300, 3_000), size === 'huge' ? 'small' : 'usual')] : [];
  return {
    seed,
    batchSize: random.integer(10, 20),
    jobs: [planJob(random, 0, size), ...second],
    tokenLivesS: random.pick([5, 30]),
    fixedIds: random.chance(0.3),
    clockOffsetsMs: Array.from({ length: COORDINATORS }, () => (random.chance(0.3) ? random.pick([-JUMP_MS, JUMP_MS]) : 0)),
    rates: random.pick([QUIET, NOISY, NOISY, STORM]),
    ...(random.chance(0.2) ? { requestsPerSecond: random.integer(20, 60) } : {}),
    events: planEvents(random).filter(({ kind }) => !without.includes(kind)),
  };
}

/** A huge job has several times as many batches as may be out; a small one beside it must not wait for it. */
const FILES = { small: { from: 1, to: 5 }, usual: { from: 60, to: 150 }, huge: { from: 250, to: 350 } };

function planJob(random: SeededRandom, startsAtMs: number, size: keyof typeof FILES): PlannedJob {
  const { from, to } = FILES[size];
  const files = Array.from({ length: random.integer(from, to) }, () => planFile(random));
  const [first] = files;
  if (first !== undefined && random.chance(0.4)) Object.assign(first, { sizeBytes: LARGE_BYTES, behaviour: { kind: 'plain' } });
  return { startsAtMs, files: random.shuffled(files), tolerant: random.chance(0.7), listDrips: random.chance(0.2) };
}

function planFile(random: SeededRandom): PlannedFile {
  const kind = random.weighted({ busy: 0.06, patience: 0.02, cut: 0.06, silent: 0.02, chunked: 0.05, missing: 0.02 }) ?? 'plain';
  return {
    sizeBytes: random.integer(64, 20_000),
    latencyMs: random.chance(0.03) ? random.integer(2_000, 4_000) : random.integer(20, 900),
    behaviour: planBehaviour(kind, random),
    stated: random.chance(0.5),
  };
}

function planBehaviour(kind: SourceBehaviour['kind'], random: SeededRandom): SourceBehaviour {
  if (kind === 'busy' || kind === 'cut' || kind === 'patience') return { kind, times: random.integer(1, 2) };
  // Longer than a source may be silent and keep its place.
  return kind === 'silent' ? { kind, forMs: random.integer(3_000, 6_000) } : { kind };
}

function planEvents(random: SeededRandom): PlannedEvent[] {
  const events = Array.from({ length: random.integer(2, 5) }, () => planEvent(random));
  return events.sort((a, b) => a.atMs - b.atMs);
}

function planEvent(random: SeededRandom): PlannedEvent {
  const atMs = random.integer(200, LAST_EVENT_AT_MS);
  const who = random.integer(0, COORDINATORS - 1);
  const backAfterMs = random.integer(0, 2_500);
  const forMs = random.integer(FREEZE_MS.from, FREEZE_MS.to);
  const kind = random.weighted(EVENT_WEIGHTS) ?? 'kill';
  switch (kind) {
    case 'kill': {
      const all = random.shuffled(Array.from({ length: COORDINATORS }, (_, number) => number));
      return { atMs, kind, who: all.slice(0, random.pick([1, 1, 1, 2, 3])), backAfterMs };
    }
    case 'stop-at-write':
      return { atMs, kind, who, write: random.integer(1, 40), backAfterMs };
    case 'replace':
      return { atMs, kind, who };
    case 'freeze':
    case 'cut-off':
      return { atMs, kind, who, forMs };
    case 'jump':
      return { atMs, kind, who, byMs: random.pick([-JUMP_MS, JUMP_MS]) };
    case 'repeat-batches':
      return { atMs, kind, messages: random.integer(5, 20) };
    case 'repeat-job':
    case 'stop-execution':
      return { atMs, kind };
    case 'lose-batches':
      return { atMs, kind, messages: random.integer(1, 3) };
  }
}

/** One event in words; coordinators are A, B and C. */
export function describeEvent(event: PlannedEvent): string {
  return `${seconds(event.atMs)} ${event.kind}${detail(event)}`;
}

function detail(event: PlannedEvent): string {
  switch (event.kind) {
    case 'kill':
      return ` ${event.who.map(letter).join('+')}, back after ${seconds(event.backAfterMs)}`;
    case 'stop-at-write':
      return ` ${event.write} of ${letter(event.who)}, back after ${seconds(event.backAfterMs)}`;
    case 'replace':
      return ` ${letter(event.who)}`;
    case 'freeze':
    case 'cut-off':
      return ` ${letter(event.who)} for ${seconds(event.forMs)}`;
    case 'jump':
      return ` ${letter(event.who)} by ${seconds(event.byMs)}`;
    case 'repeat-batches':
    case 'lose-batches':
      return ` ${event.messages}`;
    case 'repeat-job':
    case 'stop-execution':
      return '';
  }
}

export function letter(who: number): string {
  return String.fromCodePoint('A'.codePointAt(0)! + who);
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
