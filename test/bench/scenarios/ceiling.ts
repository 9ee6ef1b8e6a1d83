import type { Contender, Limits } from '../contenders/contender.js';
import { getDriver, putDriver } from '../contenders/driver/driver.js';
import { asJsonLine } from '../report/json.js';
import { asLine, circumstances } from '../report/machine.js';
import { progress } from '../report/progress.js';
import { asTable } from '../report/table.js';
import { Ends } from '../transfers/ends.js';
import { judgeStored } from '../transfers/stored-objects.js';
import { planFiles, type PlannedFile } from '../transfers/transfer-plan.js';
import { mixOf, type TransferSizes } from './transfer-mixes.js';

export interface CeilingOptions extends TransferSizes {
  latencyMs: number;
  limits: Limits;
  json: boolean;
}

export interface Ceiling {
  files: string;
  driver: string;
  wallS: number;
  driverCpuS: number;
  endCpuS: number;
  filesPerS: number;
  mibPerS: number;
  /** What the origin or the sink could do with one core to itself. */
  filesPerCoreS: number;
  mibPerCoreS: number;
}

/** What the origin and the sink can do, asked by a plain driver: undici without hashes, retries or signatures, in one thread. */
export async function benchCeiling(options: CeilingOptions): Promise<void> {
  const ends = await Ends.start(options.latencyMs);
  try {
    const ceilings: Ceiling[] = [];
    for (const scenario of ['small', 'large'] as const) {
      progress(`ceiling, ${scenario}: hashing what the origin has …`);
      const files = planFiles(mixOf(scenario, options), ends.originUrl);
      for (const driver of [getDriver, putDriver]) ceilings.push(await measure(scenario, driver, files, ends, options.limits));
    }
    const where = circumstances();
    process.stdout.write(`${asLine(where)}${ceilingTable(ceilings)}`);
    if (options.json) process.stdout.write(asJsonLine({ bench: 'ceiling', ceilings, limits: options.limits, ...where }));
  } finally {
    await ends.stop();
  }
}

async function measure(scenario: string, driver: Contender, files: readonly PlannedFile[], ends: Ends, limits: Limits): Promise<Ceiling> {
  await ends.clear();
  const before = ends.cpuSeconds();
  const { wallS, cpuS } = await driver.run(files, ends, limits);
  const after = ends.cpuSeconds();
  if (driver === putDriver) judgeStored(driver.name, files, await ends.stored());
  const endCpuS = driver === putDriver ? after.sink - before.sink : after.origin - before.origin;
  const mib = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) / 1024 ** 2;
  progress(`  ${scenario}, ${driver.name}: ${wallS.toFixed(2)} s`);
  return {
    files: scenario,
    driver: driver.name,
    wallS,
    driverCpuS: cpuS,
    endCpuS,
    filesPerS: files.length / wallS,
    mibPerS: mib / wallS,
    filesPerCoreS: files.length / endCpuS,
    mibPerCoreS: mib / endCpuS,
  };
}

function ceilingTable(ceilings: readonly Ceiling[]): string {
  const rows = ceilings.map((ceiling) => [
    `${ceiling.files}, ${ceiling.driver}`,
    ceiling.wallS.toFixed(2),
    ceiling.driverCpuS.toFixed(2),
    ceiling.endCpuS.toFixed(2),
    ceiling.filesPerS.toFixed(1),
    ceiling.mibPerS.toFixed(0),
    ceiling.filesPerCoreS.toFixed(1),
    ceiling.mibPerCoreS.toFixed(0),
  ]);
  const titles = ['', 'wall s', 'driver CPU s', 'origin/sink CPU s', 'files/s', 'MiB/s', 'files/s of a core', 'MiB/s of a core'];
  return asTable(titles, rows);
}
