import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuSecondsOf, cpuSecondsOfEndedChildren } from '../processes/cpu.js';
import { TalkingProcess } from '../processes/talking-process.js';
import { BenchError } from '../report/bench-error.js';
import type { Ends } from '../transfers/ends.js';
import type { PlannedFile } from '../transfers/transfer-plan.js';
import type { Limits, RunFigures } from './contender.js';

/** What a contender's process is told: the place of it is its only argument. */
export interface NodeContenderOrders {
  files: readonly PlannedFile[];
  limits: Limits;
}

/** What it says when all is done. */
export interface NodeContenderResult {
  failures: string[];
}

export const BUCKET = 'bench';

/**
 * Runs a contender that is a Node process: it boots, says that it is ready, is told to go, and says what became of it. The time of one
 * run is from there to there; so is its CPU time, which includes its own end.
 */
export async function runNodeContender(
  name: string,
  entry: URL,
  files: readonly PlannedFile[],
  ends: Ends,
  limits: Limits,
): Promise<RunFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    const orders = join(folder, 'orders.json');
    await writeFile(orders, JSON.stringify({ files, limits } satisfies NodeContenderOrders));
    const before = cpuSecondsOfEndedChildren();
    const contender = TalkingProcess.start(name, entry, [orders], environmentFor(ends));
    await contender.hear();
    const bootCpuS = cpuSecondsOf(contender.pid);
    const start = performance.now();
    contender.say('go');
    const { failures } = await contender.hear<NodeContenderResult>();
    const wallS = (performance.now() - start) / 1_000;
    await contender.stop();
    if (failures.length > 0) throw new BenchError(`${name}: ${failures.length} files failed, the first with ${failures[0]}`);
    return { wallS, cpuS: cpuSecondsOfEndedChildren() - before - bootCpuS };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function environmentFor(ends: Ends): Record<string, string> {
  return {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_ENDPOINT_URL_S3: ends.sinkUrl,
    NODE_ENV: 'production',
  };
}
