import { setTimeout as sleep } from 'node:timers/promises';
import { manifestPathOf } from '../origin/manifest.js';
import { pathOf } from '../origin/content.js';
import { forgetPeak, residentMib } from '../processes/memory.js';
import { asJsonLine } from '../report/json.js';
import { asLine, circumstances } from '../report/machine.js';
import { progress } from '../report/progress.js';
import { sumOf } from '../report/prometheus.js';
import { asTable } from '../report/table.js';
import { ServiceWorld } from '../service/service-world.js';
import { SMALL_BYTES } from './transfer-mixes.js';

/** Design: idle, and what any work may add. */
const IDLE_LIMIT_MIB = 220;
const GROWTH_LIMIT_MIB = 150;
/** After its start, until the service counts as idle. */
const SETTLE_MS = 10_000;

export interface MemoryOptions {
  manifestTasks: number;
  fileBytes: number;
  /** How long the downloads of the large manifest's job are watched: their memory does not depend on how many are still to come. */
  watchS: number;
  latencyMs: number;
  json: boolean;
}

interface Phase {
  what: string;
  idleMib: number;
  peakMib: number;
  growthMib: number;
}

/** Resident memory of the whole service: idle, and at its peak with a large manifest and with a large file. Answers whether it keeps its limits. */
export async function benchMemory(options: MemoryOptions): Promise<boolean> {
  const { manifestTasks, fileBytes, watchS, latencyMs, json } = options;
  const manifest = await inFreshWorld(latencyMs, async (world, peak) => {
    progress(`memory: a manifest of ${manifestTasks.toLocaleString('en')} tasks is expanded …`);
    const url = `${world.ends.originUrl}${manifestPathOf({ tasks: manifestTasks, sizeBytes: SMALL_BYTES })}`;
    const job = await world.startJob({ manifest: url });
    await world.until(async () => sumOf(await world.samples(), 'tasks_total') > 0 || !(await world.isRunning(job)));
    const expansion = peak(`expanding ${manifestTasks} tasks`);
    progress(`memory: … and its downloads are watched for ${watchS} s`);
    const end = performance.now() + watchS * 1_000;
    await world.until(async () => performance.now() > end || !(await world.isRunning(job)));
    return [expansion, peak(`downloading them, ${watchS} s`)];
  });
  const file = await inFreshWorld(latencyMs, async (world, peak) => {
    progress(`memory: a file of ${(fileBytes / 1024 ** 3).toFixed(2)} GiB …`);
    const job = await world.startJob({
      files: [{ url: `${world.ends.originUrl}${pathOf({ sizeBytes: fileBytes, variant: 0 })}`, key: 'large.bin' }],
    });
    await world.until(async () => !(await world.isRunning(job)));
    return [peak(`a file of ${fileBytes} bytes`)];
  });
  const phases = [...manifest, ...file];
  const where = circumstances();
  process.stdout.write(`${asLine(where)}${memoryTable(phases)}`);
  if (json) {
    const limits = { idleLimitMib: IDLE_LIMIT_MIB, growthLimitMib: GROWTH_LIMIT_MIB };
    process.stdout.write(asJsonLine({ bench: 'memory', phases, ...limits, ...where }));
  }
  return phases.every(({ idleMib, growthMib }) => idleMib <= IDLE_LIMIT_MIB && growthMib <= GROWTH_LIMIT_MIB);
}

/** A service that has done nothing yet; `peak` tells the highest since the last one, beside what it was when idle. */
async function inFreshWorld(
  latencyMs: number,
  work: (world: ServiceWorld, peak: (what: string) => Phase) => Promise<Phase[]>,
): Promise<Phase[]> {
  const world = await ServiceWorld.start(latencyMs);
  try {
    const pid = await world.startService();
    await sleep(SETTLE_MS);
    const idleMib = residentMib(pid).now;
    forgetPeak(pid);
    return await work(world, (what) => {
      const { peak: peakMib } = residentMib(pid);
      forgetPeak(pid);
      progress(`  ${what}: ${peakMib.toFixed(0)} MiB at its peak, ${idleMib.toFixed(0)} MiB idle`);
      return { what, idleMib, peakMib, growthMib: peakMib - idleMib };
    });
  } finally {
    await world.stop();
  }
}

function memoryTable(phases: readonly Phase[]): string {
  const rows = phases.map(({ what, idleMib, peakMib, growthMib }) => [what, idleMib.toFixed(0), peakMib.toFixed(0), growthMib.toFixed(0)]);
  return asTable(['', `idle MiB (≤ ${IDLE_LIMIT_MIB})`, 'peak MiB', `growth MiB (≤ ${GROWTH_LIMIT_MIB})`], rows);
}
