import type { Contender, Limits } from '../contenders/contender.js';
import { naive } from '../contenders/naive/naive.js';
import { ours } from '../contenders/ours/ours.js';
import { rclone } from '../contenders/rclone/rclone.js';
import { asJsonLine } from '../report/json.js';
import { asLine, circumstances } from '../report/machine.js';
import { progress } from '../report/progress.js';
import { Ends } from '../transfers/ends.js';
import { planFiles } from '../transfers/transfer-plan.js';
import { race } from './race.js';
import { mixOf, type TransferScenario, type TransferSizes } from './transfer-mixes.js';
import { ratioOf, summaryOf, transferTable } from './transfer-result.js';

export const RIVALS = ['rclone', 'naive'] as const;
export type Rival = (typeof RIVALS)[number];

export interface TransferOptions extends TransferSizes {
  pairs: number;
  latencyMs: number;
  limits: Limits;
  rivals: readonly Rival[];
  json: boolean;
}

/** Races ours against rclone and the naive pool, and prints how much longer each takes. */
export async function benchTransfer(scenario: TransferScenario, options: TransferOptions): Promise<void> {
  const contenders = await contendersOf(options.rivals);
  const ends = await Ends.start(options.latencyMs);
  try {
    progress(`${scenario}: hashing what the origin has …`);
    const files = planFiles(mixOf(scenario, options), ends.originUrl);
    const bulk = { files: files.length, bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
    progress(`${scenario}: ${bulk.files} files, ${(bulk.bytes / 1024 ** 2).toFixed(0)} MiB, ${options.pairs} rounds`);
    const { limits, pairs: rounds, latencyMs } = options;
    const laps = await race({ contenders, files, ends, limits, rounds });
    const summaries = contenders.map(({ name }) => summaryOf(name, laps, bulk));
    const ratios = new Map(
      RIVALS.flatMap((rival) => {
        const ratio = ratioOf(laps, rival);
        return ratio === undefined ? [] : [[rival, ratio] as const];
      }),
    );
    const versions = Object.fromEntries(contenders.map(({ name, version }) => [name, version]));
    const where = circumstances();
    process.stdout.write(`${scenario}; ${limits.threads} threads × ${limits.filesPerThread} files, origin answers after ${latencyMs} ms\n`);
    process.stdout.write(asLine(where) + transferTable(summaries, ratios));
    if (!options.json) return;
    const ratio = { ratioVsRclone: ratios.get('rclone'), ratioVsNaive: ratios.get('naive') };
    const result = {
      bench: scenario,
      ...ratio,
      ...bulk,
      latencyMs,
      limits,
      pairs: rounds,
      contenders: summaries,
      laps,
      versions,
      ...where,
    };
    process.stdout.write(asJsonLine(result));
  } finally {
    await ends.stop();
  }
}

async function contendersOf(rivals: readonly Rival[]): Promise<Contender[]> {
  const built = rivals.includes('rclone') ? await rclone() : undefined;
  return [ours(), ...(built === undefined ? [] : [built]), ...(rivals.includes('naive') ? [naive()] : [])];
}
