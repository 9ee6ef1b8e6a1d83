import { setTimeout as sleep } from 'node:timers/promises';
import { manifestPathOf } from '../origin/manifest.js';
import { BenchError } from '../report/bench-error.js';
import { asJsonLine } from '../report/json.js';
import { asLine, circumstances } from '../report/machine.js';
import { progress } from '../report/progress.js';
import { observedBetween, sumOf, type Samples } from '../report/prometheus.js';
import { spreadOf, type Spread } from '../report/statistics.js';
import { asTable } from '../report/table.js';
import { startLiveTokens } from '../service/live-tokens.js';
import { ServiceWorld } from '../service/service-world.js';
import { SMALL_BYTES } from './transfer-mixes.js';

/** Design. */
const LOOP_LIMIT_MS = 50;
const LATENESS_LIMIT_S = 0.25;
/** More than two cores bring: the threads shall have work until the end. */
/** Until the tokens are beaten at their slots, generously. */
const BEFORE_S = 240;
const TASKS_PER_SECOND = 1_000;
/** The default of 100 is for 3,000 tokens: each is beaten every 30 s. */
const BEATS_PER_SECOND = 300;
const SETTINGS = {
  STEP_FUNCTIONS_MAX_BEATS_PER_SECOND: String(BEATS_PER_SECOND),
  // The jobs behind the tokens do not move: nobody shall look after them meanwhile.
  JOB_REPAIR_AFTER_MS: '86400000',
  JOB_STALL_TIMEOUT_MS: '259200000',
};

export interface LoopOptions {
  tokens: number;
  seconds: number;
  latencyMs: number;
  json: boolean;
}

interface LoopResult {
  tokens: number;
  seconds: number;
  /** Of each second watched, because the service tells it from one collection to the next. */
  loopDelayP99Ms: Spread;
  beats: number;
  failedBeats: number;
  /** At most, in seconds: the bound of the bucket it falls into. */
  latenessP99S: number;
  /** Transfers running, of all places there are. */
  busy: Spread;
  filesPerS: number;
}

/** The whole service with all threads saturated and many live tokens: is its main loop free, are its heartbeats in time? */
export async function benchLoop(options: LoopOptions): Promise<boolean> {
  const world = await ServiceWorld.start(options.latencyMs);
  try {
    progress(`loop: ${options.tokens} tokens are brought to life …`);
    await startLiveTokens(world, options.tokens);
    await world.startService(SETTINGS);
    const tasks = (options.seconds + BEFORE_S) * TASKS_PER_SECOND;
    const job = await world.startJob({ manifest: `${world.ends.originUrl}${manifestPathOf({ tasks, sizeBytes: SMALL_BYTES })}` });
    progress('loop: waiting until the threads are busy and every token is beaten at its slot …');
    await world.until(async () => {
      if (!(await world.isRunning(job)))
        throw new BenchError('The job ended before every token was beaten at its slot: nothing is measured.');
      return isUnderWay(await world.samples(), options.tokens);
    });
    const result = await watch(world, options);
    const where = circumstances();
    process.stdout.write(`${asLine(where)}${loopTable(result)}`);
    const limits = { loopLimitMs: LOOP_LIMIT_MS, latenessLimitS: LATENESS_LIMIT_S };
    if (options.json) process.stdout.write(asJsonLine({ bench: 'loop', ...result, ...limits, ...where }));
    return result.loopDelayP99Ms.median <= LOOP_LIMIT_MS && result.latenessP99S <= LATENESS_LIMIT_S;
  } finally {
    await world.stop();
  }
}

/**
 * A coordinator that starts beats every job at once, as its former owner may be long gone, and a second time at its slot. With so many
 * that is more than the rate allows in a turn: it takes the next four to work off what it is behind.
 */
function isUnderWay(samples: Samples, tokens: number): boolean {
  return sumOf(samples, 'tasks_total') > 0 && sumOf(samples, 'heartbeat_sent_total') >= 6 * tokens;
}

async function watch(world: ServiceWorld, { tokens, seconds }: LoopOptions): Promise<LoopResult> {
  progress(`loop: watching for ${seconds} s …`);
  const before = await world.samples();
  const busy: number[] = [];
  const delaysMs: number[] = [];
  for (let second = 0; second < seconds; second++) {
    await sleep(1_000);
    const samples = await world.samples();
    busy.push(sumOf(samples, 'worker_pool_busy'));
    delaysMs.push((samples.get('event_loop_lag_seconds{quantile="0.99"}') ?? NaN) * 1_000);
  }
  const after = await world.samples();
  const counted = (name: string) => sumOf(after, name) - sumOf(before, name);
  const alive = sumOf(after, 'jobs_active_with_token');
  if (alive < tokens) throw new BenchError(`Only ${alive} of ${tokens} tokens were alive to the end: nothing is measured.`);
  const lateness = observedBetween(before, after, 'heartbeat_lateness_seconds');
  return {
    tokens,
    seconds,
    loopDelayP99Ms: spreadOf(delaysMs),
    beats: lateness.count,
    failedBeats: counted('heartbeat_failure_total'),
    latenessP99S: lateness.p99,
    busy: spreadOf(busy),
    filesPerS: counted('tasks_total') / seconds,
  };
}

function loopTable(result: LoopResult): string {
  const { tokens, seconds, loopDelayP99Ms, beats, failedBeats, latenessP99S, busy, filesPerS } = result;
  return asTable(
    [`${tokens} tokens, ${seconds} s`, ''],
    [
      [
        `main-loop delay p99 of a second, min / median (≤ ${LOOP_LIMIT_MS} ms) / max`,
        [loopDelayP99Ms.min, loopDelayP99Ms.median, loopDelayP99Ms.max].map((ms) => `${ms.toFixed(1)} ms`).join(' / '),
      ],
      [`heartbeats late, p99 (≤ ${LATENESS_LIMIT_S * 1_000} ms)`, `≤ ${latenessP99S * 1_000} ms`],
      ['heartbeats, failed', `${beats}, ${failedBeats}`],
      ['transfers running, min / median / max', `${busy.min} / ${busy.median} / ${busy.max}`],
      ['files/s', filesPerS.toFixed(0)],
    ],
  );
}
